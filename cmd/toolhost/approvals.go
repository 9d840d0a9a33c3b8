package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/strictjson"
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
	list, err := h.Approvals(ctx, states...)
	if err != nil {
		return &status{code: exitHost, err: err}
	}
	if asJSON {
		for _, a := range list {
			_, _ = c.stdout.Write(append(cleanJSON(approvalJSON(a)), '\n')) // the sink remembers an error
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintln(c.stderr, "nothing waits")
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tNEEDS\tTOOL\tWITH\tASKED BY")
	for _, a := range list {
		needs := ""
		if a.Waits() && a.Needs != nil {
			needs = a.Needs.Role
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", clean(a.ID), clean(c.standing(a)), clean(needs), clean(a.Tool), clean(brief(a)), clean(askedBy(a)))
	}
	return w.Flush()
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

func (c *cli) approvalsShowCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "show ID",
		Short:                 "All that one approval would do, and who asks for it",
		Long: `Shows everything that will happen, nothing cut: the row, where it is delivered, the facts
that the rules were told. What the model said and nobody checked stands apart. A
beginning of the ID is enough, of 4 characters.`,
		Example: `  toolhost approvals show 7Q2M`,
		Args:    exactly(1, "approvals show takes the ID of an approval; see: toolhost approvals list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withHost(cmd.Context(), func(h *host.Host) error {
				a, err := c.approval(cmd.Context(), h, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					_, _ = c.stdout.Write(append(cleanJSON(approvalJSON(a)), '\n')) // the sink remembers an error
					return nil
				}
				c.printApproval(a)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: one JSON object")
	return cmd
}

func (c *cli) approval(ctx context.Context, h *host.Host, id string) (host.Approval, error) {
	a, err := h.Approval(ctx, id)
	switch {
	case errors.Is(err, state.ErrNoApproval):
		return a, &status{code: exitNo, err: fmt.Errorf("there is no approval %q; see: toolhost approvals list --all", id)}
	case errors.Is(err, host.ErrSeveral), errors.Is(err, host.ErrShort):
		return a, usage("%q: %w", id, err)
	case err != nil:
		return a, &status{code: exitHost, err: err}
	}
	return a, nil
}

// printApproval shows all of it. Texts are quoted, and every character in them
// that could move the cursor or turn its direction is escaped.
func (c *cli) printApproval(a host.Approval) {
	fmt.Fprintf(c.stdout, "approval %s   %s   %s   asked by %s\n\n", clean(a.ID), clean(a.Tool), c.paint(c.stdout, amber, clean(c.standing(a))), clean(askedBy(a)))
	switch {
	case a.Gone:
		fmt.Fprintln(c.stdout, "  what it was is forgotten")
		return
	case a.Broken != "":
		fmt.Fprintf(c.stdout, "  %s\n", c.paint(c.stdout, red, clean("cannot be approved: "+a.Broken)))
		return
	}
	s := a.Shown
	fmt.Fprintf(c.stdout, "  %s %s\n", wouldWrite(a), clean(s.Table))
	for name, v := range s.Given.Members() {
		is, _ := v.Text()
		fmt.Fprintf(c.stdout, "    %-14s %s\n", clean(name), filledBy(a, is))
	}
	c.printMembers("    ", s.Row)
	if s.Delivery.Kind() == strictjson.Object {
		fmt.Fprintf(c.stdout, "  %s\n", wouldSend(a))
		c.printMembers("    ", s.Delivery)
		if _, webhook := s.Delivery.Get("method"); webhook {
			fmt.Fprintf(c.stdout, "    %-14s %s\n", "key", filledBy(a, "{approval.id}"))
		}
	}
	c.printPart("facts", s.Facts, nil)
	c.printPart("asked with", s.Arguments, func(name string) bool { return !slices.Contains(a.Said, name) })
	c.printPart("the model said (nobody has checked it)", s.Arguments, func(name string) bool { return slices.Contains(a.Said, name) })
	fmt.Fprintf(c.stdout, "  of %s\n", clean(sessionText(s.Session)))
	fmt.Fprintf(c.stdout, "  proposed by call %s, %s\n  digest %s\n", clean(a.Call), ofDay(a.Asked), clean(a.Digest))
	if a.Approver != "" {
		fmt.Fprintf(c.stdout, "  %s by %s, %s\n", map[bool]string{true: "denied", false: "approved"}[a.State == state.Denied], clean(a.Approver), ofDay(a.Decided))
	}
	if a.Run != "" {
		fmt.Fprintf(c.stdout, "  run by call %s\n", clean(a.Run))
	}
	c.printDelivery(a)
	if a.Waits() && a.Needs != nil {
		fmt.Fprintf(c.stdout, "  may agree: %s, until %s\n", clean(mayAgree(a)), ofDay(a.Expires))
	}
}

func ofDay(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// mayAgree says whose yes counts.
func mayAgree(a host.Approval) string {
	s := "role " + a.Needs.Role
	if tenant := a.Shown.Session.Tenant; tenant != "" {
		s += " of " + tenant
	}
	if !a.Needs.Requester {
		s += ", and not " + a.Shown.Session.Subject
	}
	return s
}

// wouldWrite says whether the row is there.
func wouldWrite(a host.Approval) string {
	switch {
	case a.State == state.Waiting, a.State == state.Approved, a.State == state.Running:
		return "will write to"
	case a.State == state.Done, a.Delivery != "":
		return "has written to"
	case a.State == state.Unknown:
		return "may have written to"
	}
	return "would have written to"
}

// wouldSend says whether it was sent.
func wouldSend(a host.Approval) string {
	switch a.Delivery {
	case state.Due, state.Sending:
		return "and is to send"
	case state.Delivered:
		return "and has sent"
	case state.Refused:
		return "and has sent, which was refused,"
	case state.Dead:
		return "and has not sent"
	case state.Doubtful:
		return "and may have sent"
	}
	if wouldWrite(a) == "will write to" {
		return "and then send"
	}
	return "and then sent"
}

func (c *cli) printDelivery(a host.Approval) {
	if a.Delivery == "" {
		return
	}
	text := deliveryWord(a.Delivery) + ", tried " + count(a.Tries, "time")
	if a.Status != "" {
		text += ", the last: " + a.Status
	}
	if a.Delivery == state.Due && !a.Next.IsZero() {
		text += ", the next at " + ofDay(a.Next)
	}
	fmt.Fprintf(c.stdout, "  delivery: %s\n", clean(text))
	if a.Delivery.Ended() {
		fmt.Fprintf(c.stdout, "  to send it again: toolhost deliver --again %s\n", clean(a.ID))
	}
}

// sessionText is who asks, whole.
func sessionText(s host.Session) string {
	text := "session"
	if s.ID != "" {
		text += " " + s.ID
	}
	return text + ": " + whoAsks(s) + ", subject " + s.Subject
}

func (c *cli) printPart(head string, of strictjson.Value, which func(name string) bool) {
	first := true
	for name, v := range of.Members() {
		if which != nil && !which(name) {
			continue
		}
		if first {
			fmt.Fprintf(c.stdout, "  %s\n", head)
		}
		first = false
		fmt.Fprintf(c.stdout, "    %-14s %s\n", clean(name), shownMember(v))
	}
}

func (c *cli) printMembers(indent string, of strictjson.Value) {
	for name, v := range of.Members() {
		fmt.Fprintf(c.stdout, "%s%-14s %s\n", indent, clean(name), shownMember(v))
	}
}

func shownMember(v strictjson.Value) string { return string(cleanJSON(v.AppendJSON(nil))) }

// filledBy says what the approval itself gives, or has given.
func filledBy(a host.Approval, template string) string {
	there := wouldWrite(a) == "has written to"
	switch {
	case template == "{approval.id}" && !there:
		return "(this approval's id)"
	case template == "{approval.approver}" && !there:
		return "(who approves)"
	case template == "{approval.time}" && !there:
		return "(when it is approved)"
	case template == "{approval.id}":
		return strconv.Quote(a.ID)
	case template == "{approval.approver}":
		return clean(strconv.Quote(a.Approver))
	}
	return strconv.Quote(a.Decided.UTC().Format(time.RFC3339))
}

// approvalJSON is one approval, whole, for another program.
func approvalJSON(a host.Approval) []byte {
	text := func(b []byte, key, s string) []byte {
		b = append(strictjson.AppendString(b, key), ':')
		return append(strictjson.AppendString(b, s), ',')
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	b := text([]byte(`{`), "id", a.ID)
	b = text(b, "state", string(a.State))
	b = text(b, "code", a.Code)
	b = text(b, "tool", a.Tool)
	b = text(b, "digest", a.Digest)
	b = text(b, "call", a.Call)
	b = text(b, "run", a.Run)
	b = text(b, "asked", at(a.Asked))
	b = text(b, "expires", at(a.Expires))
	b = text(b, "decided", at(a.Decided))
	b = text(b, "ended", at(a.Ended))
	b = text(b, "approver", a.Approver)
	b = text(b, "delivery", string(a.Delivery))
	b = text(b, "delivery_status", a.Status)
	b = fmt.Appendf(b, `"tries":%d,`, a.Tries)
	b = text(b, "broken", a.Broken)
	b = appendTexts(append(b, `"not_checked":`...), a.Said)
	b = append(b, `,"shown":`...)
	if a.Gone {
		return append(b, `null}`...)
	}
	return append(append(b, a.Content...), '}')
}
