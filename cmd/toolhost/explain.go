package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
)

func (c *cli) explainCommand() *cobra.Command {
	var who sessionFlags
	var asJSON, all bool
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "explain (TOOL ARGS|- (--session FILE | --as k=v,...) [--all] | CALL_ID)",
		Short:                 "Show each gate's answer to a call, with the values that decided it; no guest code runs",
		Long: `Decides as call does and stops before the plugin: no guest code runs and no bound of
the session is touched. Under each gate stand its clauses, with the values on both sides
and the line of the config; --all goes on past the first refusal. With the id of a call
it shows what was decided then, from the audit log alone. The explanation is for
operators: it shows true reasons that a model never gets, and what other rows hold.

exit     what call would give: 0 ok, 3 refused, 5 waits; 1 host error, 2 usage or config;
         with CALL_ID 0, or 2 where the log has no such call`,
		Example: `  toolhost explain get_order '{"order_id":"LK-615204"}' --as role=customer,tenant=larkfield,customer=C-20417`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 && (len(args) != 1 || args[0] == "" || who.given() || all) {
				return usage("explain takes TOOL and ARGS (or - for stdin), or the id of a recorded call; see: toolhost explain --help")
			}
			return nil
		},
		ValidArgsFunction: c.completeTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.explainRecorded(args[0], asJSON)
			}
			return c.explain(cmd.Context(), who, args[0], args[1], all, asJSON)
		},
	}
	who.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "ask the later gates too where an earlier one refuses")
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: the outcome with its gates, result null where the tool would run; of CALL_ID its entries")
	return cmd
}

func (c *cli) explain(ctx context.Context, who sessionFlags, tool, args string, all, asJSON bool) error {
	h, s, p, err := c.ready(ctx, who, tool, args)
	if err != nil {
		return err
	}
	defer h.Close()
	o, answers := h.Explain(ctx, s, p, all)
	if asJSON {
		_, _ = c.stdout.Write(append(cleanJSON(explanationJSON(o, answers)), '\n')) // the sink remembers an error
		return statusOf(o)
	}
	c.printProposal(h, p, s)
	c.printAnswers(answers, true, true)
	if len(o.Result) > 0 || o.State == host.Pending {
		if len(o.Result) > 0 {
			c.printResult(o.Result)
		}
		fmt.Fprintf(c.stdout, "  %s\n", c.paintStateOn(c.stdout, o.State, clean(o.Line())))
	} else {
		fmt.Fprintf(c.stdout, "  %s\n", c.paintStateOn(c.stdout, o.State, "ok: the plugin would run"))
	}
	return statusOf(o)
}

// explanationJSON is the outcome with one more member, gates: what each said.
func explanationJSON(o host.Outcome, answers []host.Answer) []byte {
	b := o.AppendJSON(nil)
	b = append(b[:len(b)-1], `,"gates":[`...)
	for i, a := range answers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendSaid(b, "gate", a.Gate.String(), a.Verdict, a.Text, a.Place), ',')
		b = append(appendDetails(b, a.Details), '}')
	}
	return append(b, `]}`...)
}

// appendDetails appends the member of an object that says what was looked at.
func appendDetails(b []byte, details []host.Detail) []byte {
	b = append(b, `"details":[`...)
	for i, d := range details {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendSaid(b, "", "", d.Verdict, d.Text, d.Place), `,"clauses":[`...)
		for j, clause := range d.Clauses {
			if j > 0 {
				b = append(b, ',')
			}
			b = strictjson.AppendString(append(b, `{"is":`...), clause.Is)
			b = append(strictjson.AppendString(append(b, `,"text":`...), clause.Text), '}')
		}
		b = append(b, `]}`...)
	}
	return append(b, ']')
}

// appendSaid appends an object that is not closed yet.
func appendSaid(b []byte, key, value string, v host.Verdict, text string, at config.Place) []byte {
	b = append(b, '{')
	if key != "" {
		b = append(strictjson.AppendString(b, key), ':')
		b = append(strictjson.AppendString(b, value), ',')
	}
	b = append(strictjson.AppendString(append(b, `"verdict":`...), string(v)), ',')
	b = append(strictjson.AppendString(append(b, `"text":`...), text), ',')
	return strictjson.AppendString(append(b, `"place":`...), at.Where())
}

// exactly is cobra.ExactArgs with words that say what to do.
func exactly(n int, words string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s", words)
		}
		return nil
	}
}
