package host

import (
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What of a check of a final answer stands in the log, and what is sealed.

const (
	valueReply  = "reply"
	valueTicket = "ticket"
)

// The outcomes of a check, in the log and on screens.
const (
	replyValid    = "valid"
	replyRejected = "rejected"
)

// Outcome is how it ended, in one word: a call's state, or of a final answer
// "valid" or "rejected".
func (r *Record) Outcome() string {
	switch {
	case !r.ofReply():
		return r.State.String()
	case r.State == OK:
		return replyValid
	}
	return replyRejected
}

// ofReply tells whether a final answer was checked; one that no form was there
// for is known by the gate alone.
func (r *Record) ofReply() bool { return r.Reply != "" || r.Gate == GateReply }

func (a *auditRecorder) replied(r *Record) error {
	call := a.call(r)
	call.Ended, call.Outcome, call.Code, call.Reply = r.Ended, r.Outcome(), r.Code, r.Reply
	if r.Gate != NoGate {
		call.Gate = r.Gate.String()
	}
	if r.Reply != "" {
		policy := audit.Policy(r.Policy)
		call.Policy = &policy
	}
	values := []audit.Value{sessionValue(r), audit.TextValue(valueTicket, r.Ticket)}
	if r.Arguments.Kind() == strictjson.Object {
		values = append(values, audit.Value{Name: valueReply, JSON: r.Arguments.AppendJSON(nil), Strict: true})
	} else {
		values = append(values, audit.TextValue(valueProposal, r.Proposal))
	}
	return a.append(audit.Event{Kind: audit.Replied, At: r.Ended, Call: call, Who: who(r), Values: append(values, a.answered(r)...)})
}
