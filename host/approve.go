package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/regularfile"
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

// An Approver is a person who has proved who they are.
type Approver struct{ subject string }

// Subject is who they are, as the directory has them.
func (a Approver) Subject() string { return a.subject }

// MinToken is how many characters a token has at least.
const MinToken = 20

const maxTokenFile = 1 << 10

// ErrNobody says that a token is nobody's.
var ErrNobody = errors.New("the token is none of [approvers]")

// Approver tells whose token it is. Every hash is compared, and none of them
// shows by the time that it takes.
func (h *Host) Approver(token string) (Approver, error) {
	if len(token) < MinToken {
		return Approver{}, fmt.Errorf("a token has at least %d characters", MinToken)
	}
	sum := sha256.Sum256([]byte(token))
	given, found, people := []byte(hex.EncodeToString(sum[:])), "", 0
	for _, a := range h.config.Approvers {
		if subtle.ConstantTimeCompare(given, []byte(hashOf(a))) == 1 {
			found, people = a.Subject, people+1
		}
	}
	if people != 1 || found == "" { // of two people, whose files hold the same, it is nobody's
		return Approver{}, ErrNobody
	}
	return Approver{subject: found}, nil
}

// hashOf is the hash of somebody's token; "": they have none now.
func hashOf(a config.Approver) string {
	if a.File == "" {
		return a.Hash
	}
	text, err := regularfile.Read(a.File, maxTokenFile)
	if err != nil {
		return ""
	}
	hash, ok := config.ParseHash(strings.TrimSpace(string(text)))
	if !ok {
		return ""
	}
	return hash
}

// Agree names those of [approvers] who could agree to a write of a tool now, in
// some tenant: they have a token, and the role by the directory.
func (h *Host) Agree(ctx context.Context, tool string) (names []string, err error) {
	t, ok := h.tools[tool]
	if !ok || t.Approve == nil || h.directory == nil {
		return nil, nil
	}
	for _, a := range h.config.Approvers {
		if hashOf(a) == "" {
			continue
		}
		switch holds, err := h.directory.holdsSomewhere(ctx, a.Subject, t.Approve.Role); {
		case err != nil:
			return nil, err
		case holds:
			names = append(names, a.Subject)
		}
	}
	return names, nil
}

// Approval is one of them, as operators see it.
type Approval struct {
	state.Approval
	Shown  Shown           // what is agreed to
	Said   []string        // arguments that decide nothing and are written nowhere: the model's own words
	Needs  *config.Approve // who may agree; nil: the config has no such tool any more
	Gone   bool            // Shown is forgotten
	Broken string          // why Shown is not what was kept; "": it is
}

// Waits tells whether somebody can still decide.
func (a Approval) Waits() bool { return a.State == state.Waiting }

// view is viewOf with what the config says of it.
func (h *Host) view(kept state.Approval) Approval {
	a := viewOf(kept)
	t, ok := h.tools[kept.Tool]
	if ok {
		a.Needs = t.Approve
	}
	for name := range a.Shown.Arguments.Members() {
		if !ok || !t.uses(name) {
			a.Said = append(a.Said, name)
		}
	}
	return a
}

// uses tells whether anything that the config says of a tool names an argument.
func (t *tool) uses(argument string) bool {
	if t.rules.reads(string(config.SpaceArgs), argument) {
		return true
	}
	names := func(of config.Template) bool {
		return slices.Contains(of.Refs(), config.Ref{Space: config.SpaceArgs, Name: argument})
	}
	for _, g := range t.grants {
		if g.only == argument || g.outbox != nil && slices.ContainsFunc(g.outbox.config.Row, func(c config.Cell) bool { return names(c.Is) }) {
			return true
		}
	}
	return slices.ContainsFunc(t.rules.facts, func(f fact) bool {
		return names(f.Key) || slices.ContainsFunc(f.Where, func(c config.Condition) bool { return names(c.Is) })
	})
}

func viewOf(kept state.Approval) Approval {
	a := Approval{Approval: kept, Gone: kept.Content == nil}
	if a.Gone {
		return a
	}
	var err error
	if a.Shown, err = readShown(kept.Content); err != nil {
		a.Broken = err.Error()
	} else if digestOf(kept.Content) != kept.Digest || a.Shown.Tool != kept.Tool {
		a.Broken = "what is kept of it does not fit its digest"
	}
	return a
}

// Approvals gives the approvals in some states, or all, oldest first.
func (h *Host) Approvals(ctx context.Context, states ...state.ApprovalState) ([]Approval, error) {
	approvals, err := h.kept.approvals()
	if err != nil {
		return nil, err
	}
	h.settle(ctx)
	list, err := approvals.List(states...)
	out := make([]Approval, len(list))
	for i, kept := range list {
		out[i] = h.view(kept)
	}
	return out, err
}

// ErrSeveral says that a beginning of an id is that of more than one.
var ErrSeveral = errors.New("more than one approval begins so; write more of its id")

// ErrShort says that a beginning of an id names none.
var ErrShort = fmt.Errorf("write at least %d characters of the approval's id", minPrefix)

// minPrefix is how much of an id names an approval at least.
const minPrefix = 4

// Approval gives one approval by its id, or by a beginning of it.
func (h *Host) Approval(ctx context.Context, id string) (Approval, error) {
	approvals, err := h.kept.approvals()
	if err != nil {
		return Approval{}, err
	}
	h.settle(ctx)
	id = strings.ToUpper(id)
	if len(id) >= approvalIDChars {
		kept, err := approvals.Get(id)
		return h.view(kept), err
	}
	if len(id) < minPrefix {
		return Approval{}, ErrShort
	}
	found, err := approvals.Beginning(id)
	switch {
	case err != nil:
		return Approval{}, err
	case len(found) == 0:
		return Approval{}, state.ErrNoApproval
	case len(found) > 1:
		return Approval{}, ErrSeveral
	}
	return h.view(found[0]), nil
}

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
	run    string // what of it is to be told
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
	if err := d.word(wordDenied); err != nil { // what was denied is denied, recorded first (I18)
		return err
	}
	return d.claim(state.Denied)
}

// claim takes the one chance that an approval has (I17).
func (d *decision) claim(to state.ApprovalState) error {
	hold := time.Minute
	if t, ok := d.host.tools[d.kept.Tool]; ok {
		hold = t.holdFor()
	}
	err := d.writes.Decide(d.kept.ID, d.digest, to, d.who.subject, d.token, hold)
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
			_ = d.word(cmp.Or(o.Code, codeUnavailable)) // nothing happened, and nothing is told to a model
		}
		return o
	}
	left := d.host.leave(ctx, d.rec, d.trail, o, err, Proposal{Tool: d.rec.Tool})
	if err == nil && left.State != OK { // what cannot be recorded does not leave; that it has happened, who approves must know
		left.State, left.Reason = Failed, "the row is written, and its end could not be recorded: "+left.Reason
	}
	return left
}
