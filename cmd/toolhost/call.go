package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/nearest"
)

func (c *cli) callCommand() *cobra.Command {
	var who sessionFlags
	var asJSON, lines bool
	cmd := &cobra.Command{
		Use:                   "call TOOL ARGS|- (--session FILE | --as k=v,...)",
		DisableFlagsInUseLine: true,
		Short:                 "Decide one proposed call and, if every gate agrees, run the tool",
		Long: `Decides one proposal: a tool's name and the argument text that a model wrote,
byte for byte ("-" reads it from stdin).

stdout   exactly what the model gets, one line of JSON
stderr   the outcome, e.g. "refused: other_customer (caller)", and at most one hint
exit     0 ok, 1 host error, 2 usage or config, 3 refused, 4 failed,
         5 it waits for a person; with --jsonl 0, or 2 when a line could not be read`,
		Example: `  toolhost call get_order '{"order_id":"LK-581106"}' --as role=customer,tenant=larkfield,customer=C-81265`,
		Args: func(_ *cobra.Command, args []string) error {
			if lines && len(args) != 0 {
				return usage("call --jsonl takes its tools and arguments from stdin")
			}
			if !lines && len(args) != 2 {
				return usage("call takes TOOL and ARGS (or - for stdin); see: toolhost call --help")
			}
			return nil
		},
		ValidArgsFunction: c.completeTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines {
				return c.callLines(cmd.Context(), who)
			}
			return c.callOne(cmd.Context(), who, args[0], args[1], asJSON)
		},
	}
	who.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: the whole outcome as one JSON object")
	cmd.Flags().BoolVar(&lines, "jsonl", false, "stdin: one {\"tool\",\"arguments\",\"session\"} a line; stdout: one outcome a line")
	return cmd
}

func (c *cli) callOne(ctx context.Context, who sessionFlags, tool, args string, asJSON bool) error {
	h, s, p, err := c.ready(ctx, who, tool, args)
	if err != nil {
		return err
	}
	defer h.Close()
	if c.terminal(c.stderr) {
		p.Progress = func(done, total float64) { fmt.Fprintf(c.stderr, "%g of %g\n", done, total) }
	}
	o := h.Call(ctx, s, p)
	line := o.Result
	if asJSON {
		line = o.AppendJSON(nil)
	}
	_, _ = c.stdout.Write(append(line, '\n')) // the sink remembers an error
	c.printOutcome(h, p, o)
	return statusOf(o)
}

// ready reads who asks and what, and then loads the config.
func (c *cli) ready(ctx context.Context, who sessionFlags, tool, args string) (*host.Host, host.Session, host.Proposal, error) {
	if err := c.noApprover(); err != nil {
		return nil, host.Session{}, host.Proposal{}, err
	}
	s, p, err := c.proposal(who, tool, args)
	if err != nil {
		return nil, s, p, err
	}
	h, err := c.open(ctx)
	if err == nil {
		c.warnOfAttributes(h, s)
	}
	return h, s, p, err
}

func (c *cli) proposal(who sessionFlags, tool, args string) (host.Session, host.Proposal, error) {
	s, err := who.read(c)
	if err != nil {
		return host.Session{}, host.Proposal{}, err
	}
	raw := []byte(args)
	if args == "-" {
		if raw, err = io.ReadAll(io.LimitReader(c.stdin, maxStdin)); err != nil {
			return host.Session{}, host.Proposal{}, &status{code: exitHost, err: fmt.Errorf("stdin: %w", err)}
		}
	}
	return s, host.Proposal{Tool: tool, Arguments: raw}, nil
}

// maxStdin is more than any limits.argument_chars lets through, so that a
// longer text is refused by the contract gate and not by us.
const maxStdin = 8 << 20

// printOutcome writes the outcome for a person: one line without a prefix, and
// where it was no, one hint with the true reason.
func (c *cli) printOutcome(h *host.Host, p host.Proposal, o host.Outcome) {
	fmt.Fprintln(c.stderr, c.paintState(o.State, clean(o.Line())))
	if o.State == host.OK {
		return
	}
	text := o.Reason
	switch {
	case o.Code == "unknown_tool":
		text += nearest.DidYouMean(o.Tool, h.ToolNames())
	case o.Code == "invalid_argument" && strings.HasSuffix(o.Reason, "(byte 1)") && strings.HasPrefix(string(p.Arguments), "{"):
		text += "; did the shell take the quotes? Write '" + `{"name":"value"}` + "'"
	case o.Gate == host.GatePlugin:
		text += "   (more: toolhost explain " + o.CallID + c.configFlag() + ")"
	}
	if where := o.Place.Where(); where != "" {
		text += "   " + where
	}
	fmt.Fprintln(c.stderr, "  "+clean(text))
}

func statusOf(o host.Outcome) error {
	switch o.State {
	case host.OK:
		return nil
	case host.Failed:
		return &status{code: exitFailed}
	case host.Pending:
		return &status{code: exitWaits}
	default:
		return &status{code: exitNo}
	}
}

// completeTool offers the tools of the config, without loading anything else.
func (c *cli) completeTool(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	conf, err := config.Load(c.configPath(), config.Options{Env: c.env})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, t := range conf.Tools {
		names = append(names, t.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
