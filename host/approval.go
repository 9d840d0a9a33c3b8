package host

import (
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
)

// Gate 5, approval: a read runs at once, a write waits for a person.
//
// No model-facing call ever goes past this gate with a write: it leaves as
// pending, whatever it says (I16). What the person agrees to is fixed here
// (approval_shown.go); approve.go is their side, and the only other place that
// makes an approved.

// The effects of tools.
const (
	effectRead  = "read"
	effectWrite = "write"
)

// approved is a call that may run now: a read, by checkApproval, or a write that
// a person has agreed to, by approve.go.
type approved struct{ bounded }

// Postponed says that a write waits for a person.
type Postponed struct {
	ID     string // of the approval; "": an explanation proposes nothing
	Reason string // for operators
	again  bool   // it waits already
}

func (e *Postponed) Error() string { return "pending: " + codeWaiting + ": " + e.Reason }

func (h *Host) checkApproval(b bounded, rec *Record) (approved, error) {
	if b.tool.Effect == effectRead {
		b.trail.none(GateApproval, "a read runs at once")
		return approved{bounded: b}, nil
	}
	if b.session.Subject == "" && !b.tool.Approve.Requester {
		return approved{}, b.notApprovable(codeNoSubject, "the session has no subject, so that nobody can tell whether who approves is who asks")
	}
	shown, err := b.show()
	if err != nil {
		return approved{}, b.noRow(err)
	}
	rec.Approval = &ApprovalRef{Digest: shown.digest}
	who := "a person of role " + b.tool.Approve.Role
	if rec.Explained {
		return approved{}, &Postponed{Reason: "would wait for " + who}
	}
	kept, again, err := h.propose(b, shown, rec.CallID)
	switch {
	case errors.Is(err, state.ErrTooMany):
		return approved{}, b.notApprovable(codeTooManyWaiting, fmt.Sprintf("%s of who asks wait already", count(h.config.Session.Waiting, "write")))
	case err != nil:
		return approved{}, b.notApprovable(codeUnavailable, err.Error())
	}
	rec.Approval.ID, rec.Approval.Digest, rec.Approval.Shows = kept.ID, kept.Digest, kept.Digest
	reason := fmt.Sprintf("waits for %s until %s: approval %s", who, kept.Expires.UTC().Format("2006-01-02 15:04:05 UTC"), kept.ID)
	if again {
		reason += ", which waits already"
	}
	return approved{}, &Postponed{ID: kept.ID, Reason: reason, again: again}
}

func (b *bounded) notApprovable(code, reason string) error {
	return &Refusal{Gate: GateApproval, Code: code, Place: b.tool.At("approve"), Reason: reason}
}

// noRow refuses a write whose row cannot be made. Where one argument is at fault
// the model hears which.
func (b *bounded) noRow(err error) error {
	r := &Refusal{Gate: GateApproval, Code: codeNoRow, Place: b.tool.At("approve"), Reason: err.Error()}
	var of *cellError
	if errors.As(err, &of) {
		r.Place = of.cell.Place
		if refs := of.cell.Is.Refs(); len(refs) == 1 && refs[0].Space == config.SpaceArgs {
			r.Field, r.words = refs[0].Name, "The value of "+refs[0].Name+" cannot be taken."
		}
	}
	return r
}

// propose keeps the proposal. It can be approved once it is recorded, too (end, I18).
func (h *Host) propose(b bounded, shown *shown, call string) (state.Approval, bool, error) {
	approvals, err := h.kept.approvals()
	if err != nil {
		return state.Approval{}, false, err
	}
	return approvals.Propose(state.Proposed{
		ID: newApprovalID(h.newID()), Tool: b.tool.Name, Session: shown.session(), What: shown.what(), Who: whoIsCounted(b.session),
		Digest: shown.digest, Content: shown.content, Loose: shown.loose, Call: call, Expires: b.tool.Approve.Expires, Most: h.config.Session.Waiting,
	})
}

// approvalIDChars of a new id: 80 bits, which nobody guesses, and which a person
// can read out.
const approvalIDChars = 16

func newApprovalID(random string) string { return random[:min(len(random), approvalIDChars)] }

// recorded lets a proposal wait that is in the record now. It gives what the
// call is refused with instead, where that cannot be kept: then nobody can
// approve it.
func (h *Host) recorded(err error) error {
	var p *Postponed
	if !errors.As(err, &p) || p.ID == "" || p.again {
		return nil
	}
	approvals, err := h.kept.approvals()
	if err == nil {
		err = approvals.Recorded(p.ID)
	}
	if err != nil {
		return &Refusal{Gate: GateApproval, Code: codeUnavailable, Reason: "approval " + p.ID + " cannot be kept: " + err.Error()}
	}
	return nil
}

// holdFor is how long a process may take from a person's yes to its end, before
// others take it for gone.
func (t *tool) holdFor() time.Duration { return t.Limits.Time + 30*time.Second }
