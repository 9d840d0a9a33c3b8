package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/strictjson"
)

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
					return c.printJSON(a)
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
	if a.Gone || a.Broken != "" {
		return append(b, `null}`...)
	}
	return append(append(b, a.Content...), '}')
}
