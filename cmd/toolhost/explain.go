package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (c *cli) explainCommand() *cobra.Command {
	var who sessionFlags
	var asJSON bool
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "explain (TOOL ARGS|- (--session FILE | --as k=v,...) | CALL_ID)",
		Short:                 "Show each gate's answer to a call, with the values that decided it; no guest code runs",
		Long: `Decides as call does and stops before the plugin: no guest code runs. With the
id of a call it shows what was decided then, from the audit log alone. The
explanation is for operators: it shows true reasons that a model never gets.

exit     what call would give: 0 ok, 3 refused; 1 host error, 2 usage or config;
         with CALL_ID 0, or 2 where the log has no such call`,
		Example: `  toolhost explain get_order '{"order_id":"LK-615204"}' --as role=customer,tenant=larkfield,customer=C-20417`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 && (len(args) != 1 || args[0] == "" || who.given()) {
				return usage("explain takes TOOL and ARGS (or - for stdin), or the id of a recorded call; see: toolhost explain --help")
			}
			return nil
		},
		ValidArgsFunction: c.completeTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.explainRecorded(args[0], asJSON)
			}
			return c.explain(cmd.Context(), who, args[0], args[1], asJSON)
		},
	}
	who.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: the outcome, its result null where the tool would run; of CALL_ID its entries")
	return cmd
}

func (c *cli) explain(ctx context.Context, who sessionFlags, tool, args string, asJSON bool) error {
	h, s, p, err := c.ready(ctx, who, tool, args)
	if err != nil {
		return err
	}
	defer h.Close()
	o, answers := h.Explain(ctx, s, p)
	if asJSON {
		_, _ = c.stdout.Write(append(o.AppendJSON(nil), '\n')) // the sink remembers an error
		return statusOf(o)
	}
	c.printProposal(h, p, s)
	c.printAnswers(answers, true)
	if len(o.Result) > 0 {
		c.printResult(o.Result)
	}
	return statusOf(o)
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
