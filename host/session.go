package host

import (
	"fmt"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
)

// Gate 0, session: the bounds of one agent loop, and of who is refused.
//
// It stands twice on the path. At the way in the call is counted for its session
// (calls, time, the same call again), and who is locked is refused before
// anything else is looked at: whatever they ask for, they get the same bytes
// after the same work. At the way out a refusal is counted for who was refused,
// whatever their session; where the bound was reached meanwhile, by calls that
// ran side by side, the refusal leaves as a locked call. host/state decides and
// counts in one transaction. What cannot be counted is refused (I3).

// Session is who asks: from the application or its token, never from a
// proposal. An empty field is absent.
type Session struct {
	ID         string // of the agent loop; empty: the call is a loop of its own
	Subject    string
	Tenant     string
	Role       string
	Attributes map[string]string // "customer", "ticket", ...
}

// Proposal is what a model wrote; untrusted.
type Proposal struct {
	Tool      string
	Arguments []byte // the raw text, byte for byte

	// Progress, if set, gets what the guest reports while it runs. It is called
	// from the call's goroutine and must return soon.
	Progress func(done, total float64)
}

// entered is a proposal that its session may make now.
type entered struct {
	session  Session
	proposal Proposal
	id       string // of the call
	trail    *trail
}

func (h *Host) enterSession(s Session, p Proposal, rec *Record, t *trail) (entered, error) {
	v, err := h.standing(s, p, rec.Explained)
	if err != nil {
		return entered{}, &Refusal{Gate: GateSession, Code: codeUnavailable, Reason: err.Error()}
	}
	bounds := h.config.Session
	refuse := func(code, reason string, args ...any) (entered, error) {
		return entered{}, &Refusal{Gate: GateSession, Code: code, Reason: fmt.Sprintf(reason, args...)}
	}
	switch v.Standing {
	case state.Admitted:
	case state.Locked:
		return refuse(codeLocked, "%s", h.whyLocked(s, v))
	case state.Expired:
		return refuse(codeSessionExpired, "call %d comes later than the %s that a session may last", v.Call, config.ShowDuration(bounds.Time))
	case state.TooManyCalls:
		return refuse(codeTooManySteps, "call %d of a session that may make %d", v.Call, bounds.Steps)
	case state.Repeated:
		return refuse(codeRepeatedCall, "the same tool and arguments %s; a session may do so %s", count(v.Times, "time"), count(bounds.Repeats, "time"))
	default:
		return refuse(codeUnavailable, "the state database has decided nothing")
	}
	if s.ID == "" {
		s.ID = rec.CallID
		t.ok(GateSession, "a call of its own")
	} else {
		t.ok(GateSession, fmt.Sprintf("call %d of %d", v.Call, bounds.Steps))
	}
	return entered{session: s, proposal: p, id: rec.CallID, trail: t}, nil
}

// standing asks the state database for a call. An explanation only looks.
func (h *Host) standing(s Session, p Proposal, explained bool) (state.Verdict, error) {
	_, counts, err := h.kept.open()
	if err != nil {
		return state.Verdict{}, err
	}
	c := state.Call{Session: s.ID, Who: whoIsCounted(s), Tool: p.Tool, Arguments: p.Arguments}
	if explained {
		return counts.Peek(c)
	}
	return counts.Enter(c)
}

// whoIsCounted is for whom refusals are counted: the subject, else the customer,
// else all of the tenant who are neither.
func whoIsCounted(s Session) state.Who {
	return state.Who{Tenant: s.Tenant, Subject: s.Subject, Customer: s.Attributes["customer"]}
}

func (h *Host) whyLocked(s Session, v state.Verdict) string {
	whose := "the tenant, naming no subject or customer,"
	switch {
	case s.Subject != "":
		whose = "this subject"
	case s.Attributes["customer"] != "":
		whose = "this customer"
	}
	b := h.config.Session
	why := fmt.Sprintf("%s of %s refused within %s", count(b.Refusals, "call"), whose, config.ShowDuration(b.Within))
	if !v.Until.IsZero() {
		why += ", until " + v.Until.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return why
}

// countRefusal counts a call that was refused, at its end. It gives what the
// call is refused with instead, where it may not leave as it is.
func (h *Host) countRefusal(rec *Record, o Outcome) error {
	if rec.Explained || !isCounted(o) {
		return nil
	}
	var v state.Verdict
	_, counts, err := h.kept.open()
	if err == nil {
		v, err = counts.Refused(whoIsCounted(rec.Session))
	}
	instead := func(code, why string) error {
		return &Refusal{Gate: GateSession, Code: code, Reason: fmt.Sprintf("%s; this one was %s (%s): %s", why, o.Code, o.Gate, o.Reason)}
	}
	switch {
	case err != nil:
		return instead(codeUnavailable, err.Error())
	case v.Standing != state.Admitted:
		return instead(codeLocked, h.whyLocked(rec.Session, v))
	}
	return nil
}

// isCounted tells whether an outcome is held against who asked: a refusal that
// could tell of a row, a tool, a file or a rule. One of this gate tells nothing,
// and neither does one that is the host's own fault.
func isCounted(o Outcome) bool {
	if o.State != Refused || o.Gate == GateSession {
		return false
	}
	switch o.Code {
	case codeUnavailable, codeAuditUnavailable, codeTooManyWaiting, codeNoSubject:
		return false
	}
	return true
}

// value resolves {session.x}. An absent value is "" and false.
func (s Session) value(ref config.Ref) (string, bool) {
	v := ""
	switch ref.Name {
	case "id":
		v = s.ID
	case "subject":
		v = s.Subject
	case "tenant":
		v = s.Tenant
	case "role":
		v = s.Role
	default:
		v = s.Attributes[ref.Name]
	}
	return v, v != "" && ref.Space == config.SpaceSession
}
