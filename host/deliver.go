package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What was approved and written is delivered: at least once, by a worker that
// any process may be (toolhost deliver, toolhost serve).
//
//   - What leaves is read from the row, and must be what the approver was shown (I20).
//   - A webhook gets the approval's id as its key, so that it can tell a second
//     try from a second order. A mail has none: where nobody knows whether it
//     was taken, it is not sent again (unknown).
//   - What is not taken is tried again, each time later, and then is a dead letter,
//     which operators see and can send again. A no for good ends the approval.
//   - A try is recorded before it is made (I18).

// Delivered is what came of one try.
type Delivered struct {
	Approval string
	Tool     string
	End      capabilities.AttemptEnd
	State    state.DeliveryState
	Status   string
	Reason   string
	Tries    int
	Next     time.Time // of state.Due
}

const (
	deliverHold  = 5 * time.Minute // more than any try may take
	deliverWorks = 4               // side by side: a server that hangs holds up so many at most
	firstAgain   = 5 * time.Second
	lastAgain    = time.Hour

	notTriedAgain = time.Minute
)

// DeliverDue makes one try for each row that is due when it begins, and tells of each.
func (h *Host) DeliverDue(ctx context.Context, told func(Delivered)) error {
	approvals, err := h.kept.approvals()
	if err != nil {
		return err
	}
	h.settle(ctx)
	by := h.clock()
	var wait sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range deliverWorks {
		wait.Go(func() {
			for ctx.Err() == nil {
				d, ok, err := h.deliverOne(ctx, approvals, by)
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
				} else if ok && told != nil {
					told(d)
				}
				mu.Unlock()
				if !ok || err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// deliverPoll is how long a worker waits at most before it looks again: another
// process may have written a row.
const deliverPoll = 2 * time.Second

// Deliver delivers what is due until the context ends.
func (h *Host) Deliver(ctx context.Context, told func(Delivered)) {
	for ctx.Err() == nil {
		if err := h.DeliverDue(ctx, told); err != nil && ctx.Err() == nil {
			h.log.Error("rows cannot be delivered now", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(deliverPoll):
		}
	}
}

// DeliverAgain makes a row due that did not arrive: a person wants it, where and as
// the config says now. It gives what will leave, as JSON, and what was approved.
func (h *Host) DeliverAgain(ctx context.Context, id string) (now, then []byte, err error) {
	a, err := h.Approval(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	approvals, err := h.kept.approvals()
	if err != nil {
		return nil, nil, err
	}
	o := h.outboxOf(a.Tool)
	switch {
	case !a.Delivery.Ended():
		return nil, nil, state.ErrNotSo
	case o == nil || o.config.Deliver == nil:
		return nil, nil, fmt.Errorf("nothing delivers the rows of %s any more", a.Tool)
	case a.Gone || a.Broken != "":
		return nil, nil, errors.New("who asked is forgotten")
	}
	if now, err = o.preview(a.Shown.Session, columnsOf(a.Shown.Row)); err != nil {
		return nil, nil, err
	}
	rec := recordOf(h, a.Approval)
	rec.Reason = fmt.Sprintf("user %d", os.Getuid())
	if err := h.recorder.Decided(rec, wordAgain); err != nil {
		return nil, nil, err
	}
	return now, a.Shown.Delivery.AppendJSON(nil), approvals.Again(a.ID)
}

// columnsOf gives the columns of a row that was read.
func columnsOf(row strictjson.Value) rowValues {
	return func(column string) strictjson.Value { v, _ := row.Get(column); return v }
}

// ByPerson tells whether a word of a decided entry is of a person who has proved
// who they are. The others are the host's: of deliveries, and of what a crash left.
func ByPerson(word string) bool {
	ends := []string{wordAgain, wordSending, wordDead, wordSettled}
	for _, e := range []capabilities.AttemptEnd{capabilities.Delivered, capabilities.Refused, capabilities.Later, capabilities.Unknown, capabilities.NotTried, capabilities.Stopped} {
		ends = append(ends, e.String())
	}
	return !slices.Contains(ends, word)
}

// The words of deliveries in the audit log, beside those of capabilities.AttemptEnd.
const (
	wordAgain   = "sent_again" // a person wants it
	wordSending = "sending"
	wordDead    = "dead"
)

func recordOf(h *Host, a state.Approval) *Record {
	rec := &Record{CallID: a.Call, Began: h.clock(), Tool: a.Tool, Config: h.config.Digest, Approval: &ApprovalRef{ID: a.ID, Digest: a.Digest, Call: a.Call, Tries: a.Tries}}
	if view := viewOf(a); !view.Gone {
		rec.Session = view.Shown.Session
	}
	return rec
}

// deliverOne makes one try; false: nothing is due.
func (h *Host) deliverOne(ctx context.Context, approvals *state.Approvals, by time.Time) (Delivered, bool, error) {
	token := h.newID()
	a, ok, err := approvals.Claim(token, deliverHold, by)
	if err != nil || !ok {
		return Delivered{}, false, err
	}
	wasSending := a.Delivery == state.Sending // by somebody who is gone
	a.Tries++
	d := Delivered{Approval: a.ID, Tool: a.Tool, Tries: a.Tries}
	attempt := h.try(context.WithoutCancel(ctx), a, wasSending) // a worker that stops ends what it has begun: a mail that is cut is not known
	d.End, d.Status, d.Reason = attempt.End, attempt.Status, attempt.Reason
	sent := h.after(a, attempt)
	d.State, d.Next = sent.Delivery, sent.Next
	rec := recordOf(h, a)
	rec.Reason = attempt.Reason
	word := attempt.End.String()
	if sent.Delivery == state.Dead {
		word = wordDead
	}
	h.log.Info("delivery", "approval", a.ID, "tool", a.Tool, "end", word, "try", a.Tries)
	recorded := h.recorder.Decided(rec, word)
	return d, true, errors.Join(approvals.Sent(a.ID, token, sent), recorded)
}

// try sends one row, or says why it does not.
func (h *Host) try(ctx context.Context, a state.Approval, wasSending bool) capabilities.Attempt {
	no := func(end capabilities.AttemptEnd, reason string) capabilities.Attempt {
		return capabilities.Attempt{End: end, Reason: reason}
	}
	o, view := h.outboxOf(a.Tool), viewOf(a)
	switch {
	case o == nil || o.config.Deliver == nil:
		return no(capabilities.Stopped, "config: nothing delivers the rows of "+a.Tool+" any more")
	case view.Gone || view.Broken != "":
		return no(capabilities.Stopped, "forgotten: who asked is forgotten")
	case wasSending && o.config.Deliver.Mail != "":
		return no(capabilities.Unknown, "interrupted: whoever sent it was gone before they knew")
	}
	logged, err := h.inLog(a.ID)
	switch {
	case err != nil:
		return no(capabilities.NotTried, "audit: "+err.Error())
	case logged != nil && !logged.shown[a.Digest]:
		return no(capabilities.Stopped, "audit: the log has no proposal that shows this; somebody has changed the state database")
	}
	row, err := o.outbox.Read(ctx, a.ID)
	switch {
	case err != nil:
		return no(capabilities.NotTried, "row: "+err.Error())
	case row.Kind() == strictjson.Nothing:
		return no(capabilities.Stopped, "row: it is not in its table any more")
	}
	out, err := o.sending(columnsOf(row))
	if err != nil {
		return no(capabilities.Stopped, "row: "+err.Error())
	}
	if why := o.sameRow(a, view.Shown, row); why != "" {
		return no(capabilities.Stopped, why)
	}
	if !a.Again { // whoever sent it again has seen where it goes now
		if why := o.sameWay(view.Shown); why != "" {
			return no(capabilities.Stopped, why)
		}
	}
	rec := recordOf(h, a)
	rec.Reason = out.where()
	if err := h.recorder.Decided(rec, wordSending); err != nil {
		return no(capabilities.NotTried, "audit: "+err.Error())
	}
	if o.config.Deliver.Mail != "" {
		return o.smtp.Deliver(ctx, capabilities.Mail{ID: a.ID, From: out.from, To: out.to, Subject: out.subject, Text: out.text, Date: a.Decided})
	}
	return o.by.fetch.Deliver(ctx, o.by.secrets(view.Shown.Session), capabilities.Delivery{Method: out.method, URL: out.url, Body: out.body, Key: a.ID})
}

// sameRow says in what a row is not what was approved, or by whom; "": in nothing.
func (g *outboxGrant) sameRow(a state.Approval, then Shown, row strictjson.Value) string {
	for name, of := range then.Given.Members() {
		template, _ := of.Text()
		what := strings.TrimSuffix(strings.TrimPrefix(template, "{approval."), "}")
		if is, _ := row.Get(name); !sameText(is, strictjson.Text(given(a, what))) {
			return "row: " + name + " is not that of the approval; it must be proposed again"
		}
	}
	for name, was := range then.Row.Members() {
		is, _ := row.Get(name)
		if !g.sameStored(name, is, was) {
			return "row: " + name + " is not what was approved; it must be proposed again"
		}
	}
	return ""
}

// sameWay says in what it would leave otherwise than the approver was shown.
func (g *outboxGrant) sameWay(then Shown) string {
	now, err := g.preview(then.Session, columnsOf(then.Row))
	if err != nil {
		return "config: " + err.Error()
	}
	if string(now) != string(then.Delivery.AppendJSON(nil)) {
		return "config: it would go elsewhere, or otherwise, than was approved; send it again if that is meant"
	}
	return ""
}

// sameStored tells whether two values are stored alike: 12.5 and 12.50 of a column
// of cents.
func (g *outboxGrant) sameStored(column string, a, b strictjson.Value) bool {
	x, errX := g.outbox.Stored(column, a)
	y, errY := g.outbox.Stored(column, b)
	return errX == nil && errY == nil && x == y
}

// sameText tells whether two scalars are the same text.
func sameText(a, b strictjson.Value) bool {
	x, okX := a.Text()
	y, okY := b.Text()
	return okX && okY && x == y
}

// after is what a try leaves.
func (h *Host) after(a state.Approval, t capabilities.Attempt) state.Sent {
	s := state.Sent{Status: t.Status}
	if s.Status == "" {
		s.Status = t.Reason
	}
	tries := 1
	if o := h.outboxOf(a.Tool); o != nil && o.config.Deliver != nil {
		tries = o.config.Deliver.Tries
	}
	switch t.End {
	case capabilities.Delivered:
		s.Delivery = state.Delivered
	case capabilities.Refused:
		if t.Status == "" { // by this host: the other side has heard nothing
			s.Delivery = state.Dead
			break
		}
		s.Delivery, s.State, s.Code = state.Refused, state.Failed, codeDeliveryRefused
	case capabilities.Unknown:
		s.Delivery, s.State, s.Code = state.Doubtful, state.Unknown, codeDeliveryUnknown
	case capabilities.NotTried: // by nobody's fault there; it does not count
		s.Delivery, s.Next, s.NotTried = state.Due, h.clock().Add(notTriedAgain), true
	case capabilities.Later:
		if a.Tries >= tries {
			s.Delivery = state.Dead
			break
		}
		s.Delivery, s.Next = state.Due, h.clock().Add(max(backoff(a.Tries), t.After))
	default:
		s.Delivery = state.Dead
	}
	return s
}

// The codes of approvals that were written and did not arrive.
const (
	codeDeliveryRefused = "delivery_refused"
	codeDeliveryUnknown = "delivery_unknown"
)

// backoff is how long a row waits after so many tries.
func backoff(tries int) time.Duration {
	d := firstAgain
	for range tries - 1 {
		if d *= 2; d >= lastAgain {
			return lastAgain
		}
	}
	return d
}

// Delivers tells whether any tool's rows are delivered.
func (h *Host) Delivers() bool {
	return slices.ContainsFunc(h.config.Tools, func(t config.Tool) bool {
		o := h.outboxOf(t.Name)
		return o != nil && o.config.Deliver != nil
	})
}

// OutboxTables gives the tables that tools can write into, as they are shown.
func (h *Host) OutboxTables() []string {
	var out []string
	for _, t := range h.config.Tools {
		if table := h.OutboxTable(t.Name); table != "" {
			out = append(out, table)
		}
	}
	return out
}

// OutboxTable is the table that a tool writes into; "": none.
func (h *Host) OutboxTable(tool string) string {
	if o := h.outboxOf(tool); o != nil {
		return o.table
	}
	return ""
}
