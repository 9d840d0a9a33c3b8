package host

import "github.com/toolhost/toolhost/host/config"

// Gate 0, session: the bounds of one agent loop.
//
// It has its place and no bound yet: host/config refuses [session], so that no
// config can ask for a bound that nobody keeps.

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

func (h *Host) enterSession(s Session, p Proposal, callID string, t *trail) (entered, error) {
	if s.ID == "" {
		s.ID = callID
	}
	t.ok(GateSession, "no bounds in this version")
	return entered{session: s, proposal: p, id: callID, trail: t}, nil
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
