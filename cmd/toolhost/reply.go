package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/server"
)

func (c *cli) replyCommand() *cobra.Command {
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "reply",
		Short:                 "Check final answers",
		Long:                  `A final answer is what a model's loop ends with; [replies] says what it must be.`,
		Example:               replyExample,
		Args:                  exactly(0, "reply takes a command; see: toolhost reply --help"),
		RunE:                  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.replyCheckCommand())
	return cmd
}

const replyExample = `  toolhost reply check answer.json --ticket ticket.txt --as id=loop-1,role=customer,tenant=larkfield,customer=C-81265`

func (c *cli) replyCheckCommand() *cobra.Command {
	var who sessionFlags
	var ticket string
	var asJSON bool
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "check --ticket FILE (--session FILE | --as k=v,...) [FILE|-]",
		Short:                 "Hold a final answer against its form, the ticket and what the loop's calls returned",
		Long: `Reads the text that a model ended its loop with (from stdin, or FILE) and holds it
against the form of the session's role: its schema, and its rules. What the loop's
calls returned is taken from the audit log, by the session's id; nothing that a model
or a recording says of them counts. Recorded.

stdout   "valid", or "rejected: order_not_in_ticket (reply)"
stderr   of a rejection the reason, with the values and the line of the config
exit     0 valid, 1 host error, 2 usage or config, 3 rejected`,
		Example: replyExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("reply check takes one FILE, or - for stdin; see: toolhost reply check --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.replyCheck(cmd.Context(), who, ticket, append(args, "-")[0], asJSON)
		},
	}
	who.add(cmd)
	cmd.Flags().StringVar(&ticket, "ticket", "", "`FILE` with the text that the loop is about, as the customer wrote it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: the whole outcome as one JSON object")
	return cmd
}

func (c *cli) replyCheck(ctx context.Context, who sessionFlags, ticketFile, file string, asJSON bool) error {
	if err := c.noApprover(); err != nil {
		return err
	}
	s, err := who.read(c)
	switch {
	case err != nil:
		return err
	case s.ID == "":
		return usage("say which loop it was: id=... in --as, or id in the session's file, as its calls had it")
	case ticketFile == "":
		return usage("say what the loop was about: --ticket FILE")
	}
	ticket, err := c.readTicket(ticketFile)
	if err != nil {
		return err
	}
	text, err := c.readMessage(file)
	if err != nil {
		return err
	}
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	c.warnOfAttributes(h, s)
	if !h.HasForm(s.Role) {
		return usage("no [replies] is for the role %q; nothing says what its answers must be", s.Role)
	}
	results, err := h.Returned(s)
	o := h.CheckReply(s, host.Reply{Text: text, Ticket: ticket, Results: results, Lost: err})
	if asJSON {
		_, _ = c.stdout.Write(append(cleanJSON(replyJSON(o)), '\n')) // the sink remembers an error
	} else {
		fmt.Fprintln(c.stdout, clean(o.Line()))
	}
	if o.Valid {
		return nil
	}
	c.printReplyOn(c.stderr, o)
	return &status{code: exitNo}
}

// readTicket reads a text that an application has; a longer one than any form
// takes is cut one byte past that, and refused.
func (c *cli) readTicket(file string) (string, error) {
	f, err := os.Open(c.path(file))
	if err != nil {
		return "", usageOf(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTicketFile+1))
	switch {
	case err != nil:
		return "", &status{code: exitHost, err: fmt.Errorf("%s: %w", file, err)}
	case len(text) > maxTicketFile:
		return "", usage("%s is longer than %d bytes", file, maxTicketFile)
	case !utf8.Valid(text):
		return "", usage("%s is no UTF-8", file)
	}
	return string(text), nil
}

const maxTicketFile = server.MaxTicket

// printReplyOn shows a check as a gate: its answer, and under it the schema and
// each rule with its clauses.
func (c *cli) printReplyOn(w io.Writer, o host.ReplyOutcome) {
	a := o.Answer()
	if o.Gate == host.GateAudit {
		a.Gate = host.GateAudit
	}
	c.printGateOn(w, a)
	if !o.Valid {
		fmt.Fprintf(w, "  the model   %s\n", clean(o.Words))
	}
}

// replyJSON is the outcome with one more member, details: what the schema and
// each rule said.
func replyJSON(o host.ReplyOutcome) []byte {
	b := o.AppendJSON(nil)
	return append(appendDetails(append(b[:len(b)-1], ','), o.Details), '}')
}

// printForm is what a reviewer reads of one form of final answers.
func (c *cli) printForm(r host.ReplyReport) {
	line := func(head, text string) { fmt.Fprintf(c.stdout, "  %-8s %s\n", head, text) }
	fmt.Fprintf(c.stdout, "reply %s  of %s\n", r.Name, cmp.Or(strings.Join(r.Roles, ", "), "nobody"))
	line("schema", fmt.Sprintf("%s, %s; at most %d characters", clean(r.Schema), r.Policy.Contract, r.ReplyChars))
	line("results", cmp.Or(strings.Join(r.Results, " "), "none"))
	c.printRules(r.Rules)
	var codes []string
	for _, rule := range r.Rules {
		codes = append(codes, rule.Name)
	}
	line("codes", strings.Join(codes, " "))
	fmt.Fprintln(c.stdout)
}
