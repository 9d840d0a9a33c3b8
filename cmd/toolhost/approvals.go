package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
)

// tokenVariable holds an approver's token. No command that a model's text comes
// to runs where it is set.
const tokenVariable = "TOOLHOST_APPROVER_TOKEN"

func (c *cli) approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "approvals",
		Short:                 "The writes that wait for a person: list, show, approve, deny",
		Long: `What a tool that writes proposes waits here until a person has agreed, or has not in
time. Who approves proves who they are with the token of [approvers], in the variable
` + tokenVariable + `, and must hold the role that the tool names.`,
		Example: `  toolhost approvals list`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("approvals: no command %q; see: toolhost approvals --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.approvalsListCommand(), c.approvalsShowCommand(), c.approvalsApproveCommand(), c.approvalsDenyCommand(), c.approvalsTokenCommand())
	return cmd
}

// noApprover keeps an approver's token away from where a model's text comes to.
func (c *cli) noApprover() error {
	if token, _ := c.env(tokenVariable); token != "" {
		return usage("%s is set: this command takes what a model wrote, and no process that does may hold an approver's token; unset it", tokenVariable)
	}
	return nil
}

func (c *cli) approvalsListCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "list",
		Short:                 "What waits, oldest first",
		Example:               `  toolhost approvals list --all`,
		Args:                  exactly(0, "approvals list takes no argument; see: toolhost approvals list --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withHost(cmd.Context(), func(h *host.Host) error { return c.listApprovals(cmd.Context(), h, all, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "what was decided, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: one JSON object a line")
	return cmd
}

// withHost loads the config whole for a command, and closes it again.
func (c *cli) withHost(ctx context.Context, do func(h *host.Host) error) error {
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	return do(h)
}

func (c *cli) listApprovals(ctx context.Context, h *host.Host, all, asJSON bool) error {
	var states []state.ApprovalState
	if !all {
		states = []state.ApprovalState{state.Waiting, state.Approved, state.Running, state.Unknown}
	}
	if asJSON {
		return hostError(h.EachApproval(ctx, c.printJSON, states...))
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	head := "ID\tSTATE\tNEEDS\tTOOL\tWITH\tASKED BY\n"
	err := h.EachApproval(ctx, func(a host.Approval) error {
		needs := ""
		if a.Waits() && a.Needs != nil {
			needs = a.Needs.Role
		}
		fmt.Fprintf(w, "%s", head)
		head = ""
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", clean(a.ID), clean(c.standing(a)), clean(needs), clean(a.Tool), clean(brief(a)), clean(askedBy(a)))
		return nil
	}, states...)
	if err != nil {
		return hostError(err)
	}
	if head != "" {
		fmt.Fprintln(c.stderr, "nothing waits")
	}
	return w.Flush()
}

// printJSON is one approval in a line, for another program.
func (c *cli) printJSON(a host.Approval) error {
	_, _ = c.stdout.Write(append(cleanJSON(approvalJSON(a)), '\n')) // the sink remembers an error
	return nil
}

// briefChars is how much of the arguments a list shows: show has all of them.
const briefChars = 60

// brief is what tells one proposal from another: the arguments that decide.
func brief(a host.Approval) string {
	if a.Gone {
		return ""
	}
	var parts []string
	for name, v := range a.Shown.Arguments.Members() {
		if !slices.Contains(a.Said, name) {
			parts = append(parts, name+"="+shownMember(v))
		}
	}
	text := strings.Join(parts, " ")
	if utf8.RuneCountInString(text) > briefChars {
		text = string([]rune(text)[:briefChars-1]) + "…"
	}
	return text
}

// standing is a state for a person: "waiting, 14m left".
func (c *cli) standing(a host.Approval) string {
	text := string(a.State)
	switch {
	case a.Waits():
		now := time.Now
		if c.clock != nil {
			now = c.clock
		}
		text += ", " + config.ShowDuration(a.Expires.Sub(now()).Round(time.Second)) + " left"
	case a.Code != "" && !a.Delivery.Ended():
		text += ": " + a.Code
	}
	if a.Delivery != "" {
		text += ", " + deliveryWord(a.Delivery)
	}
	return text
}

// deliveryWord says where a delivery stands.
func deliveryWord(d state.DeliveryState) string {
	switch d {
	case state.Due, state.Sending:
		return "on its way"
	case state.Dead:
		return "not delivered (dead)"
	case state.Refused:
		return "delivery refused"
	case state.Doubtful:
		return "delivery unknown"
	default:
		return string(d)
	}
}

func askedBy(a host.Approval) string {
	if a.Gone {
		return "(forgotten)"
	}
	s := a.Shown.Session
	text := s.Subject
	if text == "" {
		text = "(no subject)"
	}
	text += " (" + s.Role
	if s.Tenant != "" {
		text += ", " + s.Tenant
	}
	text += ")"
	if ticket := s.Attributes["ticket"]; ticket != "" {
		text += " for ticket " + ticket
	}
	return text
}
