package host

import (
	"context"
	"errors"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// What a crash left. An approval that somebody had claimed, and who is gone, is
// never run again (I17): whether its row is there decides what became of it. That is
// asked while nobody can write, so that a process that was only held up finds
// that the approval is not its own any more (Write asks before it inserts).

// settle ends what was left. It is called before approvals are looked at; what
// cannot be settled now is tried the next time.
func (h *Host) settle(ctx context.Context) {
	approvals, err := h.kept.approvals()
	if err != nil {
		return
	}
	h.forget(approvals)
	h.tellSettled(approvals)
	left, err := approvals.Left()
	if err != nil {
		h.log.Error("approvals that were left cannot be looked at", "error", err)
		return
	}
	for _, a := range left {
		if err := h.settleOne(ctx, approvals, a); err != nil && !errors.Is(err, state.ErrNotSo) {
			h.log.Error("an approval was left by a crash, and cannot be settled yet", "approval", a.ID, "error", err)
		}
	}
}

// forgetEvery is how often approvals are looked through for what is over.
const forgetEvery = time.Hour

// forget takes out what approvals say of people once it is as old as the values
// of the audit log may be.
func (h *Host) forget(approvals *state.Approvals) {
	now := h.clock()
	if last := h.forgot.Load(); last != 0 && now.UnixNano()-last < int64(forgetEvery) {
		return
	}
	h.forgot.Store(now.UnixNano())
	if err := approvals.ForgetBefore(now.AddDate(0, 0, -h.config.Audit.KeepDays)); err != nil {
		h.log.Error("approvals of long ago cannot be forgotten", "error", err)
	}
}

// ForgetPerson takes out what approvals that have ended say of a person, and
// tells how many still need it.
func ForgetPerson(approvals *state.Approvals, customer, subject string, tenant *string) (forgotten, left int, err error) {
	return approvals.Forget(func(one state.Approval) (asked, agreed bool) {
		agreed = subject != "" && one.Approver == subject
		s, err := readShown(one.Content)
		if err != nil { // nobody can tell whose it is, nor approve it
			return one.Content != nil, agreed
		}
		who := s.Session
		if tenant != nil && who.Tenant != *tenant {
			return false, false
		}
		return customer != "" && who.Attributes["customer"] == customer || subject != "" && who.Subject == subject, agreed
	})
}

// codeInterrupted is that of an approval whose process was gone before the row
// was written.
const codeInterrupted = "interrupted"

func (h *Host) settleOne(ctx context.Context, approvals *state.Approvals, a state.Approval) error {
	gone := state.Ended{State: state.Failed, Code: codeInterrupted}
	if a.State == state.Approved { // it never began
		return h.settled(approvals, a, gone)
	}
	o := h.outboxOf(a.Tool)
	if o == nil { // nobody can ask any more
		return h.settled(approvals, a, state.Ended{State: state.Unknown, Code: codeUnknownEnd})
	}
	return o.outbox.Settle(ctx, a.ID, func(there bool) error {
		switch {
		case there:
			return h.settled(approvals, a, state.Ended{State: state.Done, Delivery: firstDelivery(viewOf(a).Shown)})
		case o.place != a.Place: // it may be where it was to be written
			return h.settled(approvals, a, state.Ended{State: state.Unknown, Code: codeUnknownEnd})
		}
		return h.settled(approvals, a, gone)
	})
}

// settled keeps and records the end.
func (h *Host) settled(approvals *state.Approvals, a state.Approval, e state.Ended) error {
	if err := approvals.Settle(a.ID, e); err != nil {
		return err
	}
	h.log.Warn("an approval was left by a crash, and is settled", "approval", a.ID, "state", e.State)
	a.State = e.State
	h.tell(approvals, a)
	return nil
}

// tell records that an approval was settled, and as what. What cannot be recorded
// now is the next time.
func (h *Host) tell(approvals *state.Approvals, a state.Approval) {
	rec := recordOf(h, a)
	rec.Approval.State = string(a.State)
	err := h.recorder.Decided(rec, wordSettled)
	if err == nil {
		err = approvals.Told(a.ID)
	}
	if err != nil {
		h.log.Error("that an approval was settled cannot be recorded yet", "approval", a.ID, "error", err)
	}
}

// tellSettled records what was settled and could not be recorded then.
func (h *Host) tellSettled(approvals *state.Approvals) {
	untold, err := approvals.Untold()
	if err != nil {
		h.log.Error("approvals that were settled cannot be looked at", "error", err)
	}
	for _, a := range untold {
		h.tell(approvals, a)
	}
}

// outboxOf is the outbox of a tool that writes.
func (h *Host) outboxOf(name string) *outboxGrant {
	t, ok := h.tools[name]
	if !ok {
		return nil
	}
	for _, g := range t.grants {
		if g.outbox != nil {
			return g.outbox
		}
	}
	return nil
}
