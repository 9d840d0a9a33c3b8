package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// The approver's side of gate 5, which no model-facing command reaches: who may
// say yes, to what exactly, and what then happens in their process.
//
//   - They prove who they are by a token of which the config has a hash.
//   - They hold the role now, by the directory, in the tenant of who asked, and
//     are not who asked, unless the config says so.
//   - Gates 1 to 4 run again on fresh data. What was shown must come out, byte
//     for byte: else nothing runs (approval_shown.go, I16).
//   - Of many who approve at once one does; it runs once (host/state, I17).
//   - Nothing runs that is not recorded (I18), and what a crash leaves is never run
//     again (approve_settle.go, I17).

// A decision is one person's word on one approval, while it is carried out.
type decision struct {
	host   *Host
	writes *state.Approvals
	who    Approver
	kept   Approval
	digest string // of what they saw
	rec    *Record
	trail  *trail
	token  string
	run    string // the call that runs it; "": none has begun
}

// MayApprove tells, before anybody is asked, whether their yes could count. The
// error is what Approve would refuse with; nothing is recorded.
func (h *Host) MayApprove(ctx context.Context, who Approver, id string) error {
	d, err := h.decision(ctx, who, id, "")
	if err != nil {
		return err
	}
	return d.mayDecide(ctx, false)
}

// Approve is a person's yes to what has this digest. It decides again, runs the
// plugin and writes the row, all in this process. The outcome is that of the
// call that ran; what it says is for operators.
func (h *Host) Approve(ctx context.Context, who Approver, id, digest string) (Outcome, []Answer) {
	d, err := h.decision(ctx, who, id, digest)
	var result []byte
	if err == nil {
		result, err = d.carryOut(ctx)
	}
	return d.end(ctx, result, err), d.trail.answers
}

// Deny is a person's no. Who asked may take back what they asked for.
func (h *Host) Deny(ctx context.Context, who Approver, id, digest string) Outcome {
	d, err := h.decision(ctx, who, id, digest)
	if err == nil {
		err = d.deny(ctx)
	}
	return d.end(ctx, nil, err)
}

// decision finds what is to be decided. It gives a decision to end also where
// there is nothing to decide.
func (h *Host) decision(ctx context.Context, who Approver, id, digest string) (*decision, error) {
	d := &decision{host: h, who: who, digest: digest, trail: &trail{}, token: h.newID()}
	d.rec = &Record{CallID: h.newID(), Began: h.clock(), Config: h.config.Digest, Approver: who.subject}
	var err error
	if d.writes, err = h.kept.approvals(); err != nil {
		return d, refusedApproval(codeUnavailable, "%v", err)
	}
	d.kept, err = h.Approval(ctx, id)
	switch {
	case errors.Is(err, state.ErrNoApproval), errors.Is(err, ErrSeveral), errors.Is(err, ErrShort):
		return d, refusedApproval(codeNotWaiting, "%v", err)
	case err != nil:
		return d, refusedApproval(codeUnavailable, "%v", err)
	}
	d.rec.Approval = &ApprovalRef{ID: d.kept.ID, Digest: d.kept.Digest, Call: d.kept.Call}
	d.rec.Tool = d.kept.Tool
	if t, ok := h.tools[d.kept.Tool]; ok {
		d.rec.Policy = t.policy
	}
	if d.kept.Gone {
		return d, refusedApproval(codeNotWaiting, "it has ended: %s", d.kept.State)
	}
	d.rec.Session, d.rec.Raw = d.kept.Shown.Session, len(d.kept.Shown.Arguments.AppendJSON(nil))
	d.rec.Arguments, d.rec.Facts = d.kept.Shown.Arguments, d.kept.Shown.Facts.AppendJSON(nil)
	if !d.kept.Waits() {
		return d, refusedApproval(codeNotWaiting, "it is %s", d.kept.State)
	}
	return d, nil
}

func refusedApproval(code, reason string, args ...any) error {
	return &Refusal{Gate: GateApproval, Code: code, Reason: fmt.Sprintf(reason, args...)}
}

// mayDecide refuses who may not. Taking back what one has asked for is no
// approval, and is everybody's own.
func (d *decision) mayDecide(ctx context.Context, denies bool) error {
	t, ok := d.host.tools[d.kept.Tool]
	asked := d.kept.Shown.Session
	no := func(reason string, args ...any) error { return refusedApproval(codeNotAllowed, reason, args...) }
	switch {
	case d.who.subject == "": // the zero Approver
		return no("who decides has not proved who they are")
	case !d.host.holdsToken(d.who):
		return no("the token of %s was taken away", d.who.subject)
	case !ok || t.Approve == nil:
		return no("no tool %q that writes is in the config any more", d.kept.Tool)
	case denies && asked.Subject == d.who.subject:
		return nil
	case asked.Subject == d.who.subject && !t.Approve.Requester:
		return no("%s has asked for it, and may not approve it too", d.who.subject)
	case asked.Subject == "" && !t.Approve.Requester:
		return no("nobody can tell whether %s is who asked: the session has no subject", d.who.subject)
	case d.host.directory == nil || !d.host.directory.decides(t.Approve.Role):
		return no("nothing says who holds role %q", t.Approve.Role)
	}
	reason, err := d.host.directory.denies(ctx, Session{Subject: d.who.subject, Tenant: asked.Tenant, Role: t.Approve.Role})
	switch {
	case err != nil:
		return refusedApproval(codeUnavailable, "%v", err)
	case reason != "":
		return no("%s does not hold role %q in the tenant of who asked now", d.who.subject, t.Approve.Role)
	}
	return nil
}

// sound refuses what is kept otherwise than it was, and what they did not see.
func (d *decision) sound() error {
	if d.kept.Broken != "" {
		return d.void(refusedApproval(codePolicyChanged, "%s", d.kept.Broken))
	}
	if d.digest != d.kept.Digest {
		return refusedApproval(codeFactsChanged, "what was agreed to is not what it shows now; see: toolhost approvals show %s", d.kept.ID)
	}
	return d.logged()
}

// void ends an approval that can never be approved any more.
func (d *decision) void(why error) error {
	err := d.writes.Void(d.kept.ID, d.kept.Digest, refusalCode(why))
	if errors.Is(err, state.ErrNotSo) {
		return refusedApproval(codeNotWaiting, fasterWords)
	}
	d.rec.Approval.State = string(state.Failed)
	return errors.Join(why, err)
}

func refusalCode(err error) string {
	var r *Refusal
	var f *Failure
	switch {
	case errors.As(err, &r):
		return r.Code
	case errors.As(err, &f):
		return f.Code
	}
	return codeUnavailable
}

func (d *decision) deny(ctx context.Context) error {
	if err := d.mayDecide(ctx, true); err != nil {
		return err
	}
	if d.digest != d.kept.Digest {
		return refusedApproval(codeFactsChanged, "it shows something else now than what was denied")
	}
	// Claimed first: a no that comes too late is none. Recorded before it ends it (I18).
	if err := d.claim(); err != nil {
		return err
	}
	if err := d.word(wordDenied); err != nil {
		return d.giveBack(err)
	}
	return d.writes.End(d.kept.ID, d.token, state.Ended{State: state.Denied})
}

// claim takes the one chance that an approval has (I17).
func (d *decision) claim() error {
	hold := time.Minute
	if t, ok := d.host.tools[d.kept.Tool]; ok {
		hold = t.holdFor()
	}
	err := d.writes.Decide(d.kept.ID, d.digest, state.Approved, d.who.subject, d.token, hold)
	switch {
	case errors.Is(err, state.ErrOtherDigest):
		return refusedApproval(codeFactsChanged, "%v", err)
	case errors.Is(err, state.ErrNotSo), errors.Is(err, state.ErrNoApproval):
		return refusedApproval(codeNotWaiting, fasterWords)
	case err != nil:
		return refusedApproval(codeUnavailable, "%v", err)
	}
	return nil
}

// The words of a decision in the audit log.
const (
	wordApproved = "approved"
	wordDenied   = "denied"
	wordSettled  = "settled" // a crash was put right
)

// word records a person's word, or what kept them from it.
func (d *decision) word(word string) error {
	err := d.host.recorder.Decided(d.rec, word)
	if err != nil {
		return &Refusal{Gate: GateAudit, Code: codeAuditUnavailable, Reason: err.Error()}
	}
	return nil
}

// end makes the outcome and records it. A word that decided nothing is recorded
// by why it did not.
func (d *decision) end(ctx context.Context, result []byte, err error) Outcome {
	o := Outcome{State: OK, Tool: d.rec.Tool, Result: result, CallID: d.rec.CallID}
	ran := d.run != ""
	if err != nil {
		o = d.host.refuse(ctx, d.rec, d.trail, o, err)
	}
	if !ran {
		if err != nil && o.Code != codeAuditUnavailable {
			if late := d.word(cmp.Or(o.Code, codeUnavailable)); late != nil { // nothing happened, and nothing is told to a model
				o.Reason += "; and that could not be recorded: " + late.Error()
			}
		}
		return o
	}
	left := d.host.leave(ctx, d.rec, d.trail, o, err, Proposal{Tool: d.rec.Tool})
	switch { // what cannot be recorded does not leave, but who approves must know what has happened
	case left.Gate != GateAudit || o.Gate == GateAudit:
		return left
	case err == nil:
		left.State, left.Reason = Failed, "the row is written, and its end could not be recorded: "+left.Reason
	default:
		left.State, left.Gate, left.Code, left.Reason = o.State, o.Gate, o.Code, o.Reason+"; and that could not be recorded: "+left.Reason
	}
	return left
}
