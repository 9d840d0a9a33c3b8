package config

import "time"

// Bounds are those of one session, and of the refusals of who asks. Every field
// is set: what the file leaves out has the value of DefaultSession.
type Bounds struct {
	Steps    int           // calls of one session
	Time     time.Duration // from a session's first call on
	Repeats  int           // of one tool with the same argument text in one session
	Refusals int           // for one tenant and subject
	Within   time.Duration // the window in which refusals are counted
	Waiting  int           // writes of one tenant and subject that may wait for a person at once
}

// DefaultSession gives the bounds of a config that sets none. A session of
// toolhost serve is a whole process, which may live for a working day.
func DefaultSession() Bounds {
	return Bounds{
		Steps:    500,
		Time:     12 * time.Hour,
		Repeats:  20,
		Refusals: 20,
		Within:   10 * time.Minute,
		Waiting:  20,
	}
}

// The bounds of the bounds. None may be zero: a session that may make no call is
// a mistake, and so is a lock that nobody can be out of.
const (
	maxSteps               = 100_000
	maxRepeats             = 10_000
	maxRefusals            = 1000 // as many rows are kept for each who was refused
	maxWaiting             = 1000
	minSession, maxSession = time.Second, 24 * time.Hour
)

// bounds reads [session]: the defaults, changed.
func (s section) bounds() Bounds {
	b := DefaultSession()
	session, ok := s.child("session", "[session]")
	if !ok {
		return b
	}
	session.known([]string{"steps", "time", "repeats", "refusals", "waiting"})
	if v, ok := session.integer("steps", 1, maxSteps); ok {
		b.Steps = v
	}
	if v, ok := session.duration("time", minSession, maxSession); ok {
		b.Time = v
	}
	if v, ok := session.integer("repeats", 1, maxRepeats); ok {
		b.Repeats = v
	}
	if v, ok := session.integer("waiting", 1, maxWaiting); ok {
		b.Waiting = v
	}
	refusals, ok := session.child("refusals", session.at("refusals"))
	if !ok {
		return b
	}
	refusals.known([]string{"count", "within"})
	refusals.require("count", "count = 20")
	refusals.require("within", `within = "10m"`)
	if v, ok := refusals.integer("count", 1, maxRefusals); ok {
		b.Refusals = v
	}
	if v, ok := refusals.duration("within", minSession, maxSession); ok {
		b.Within = v
	}
	return b
}

// ShowDuration writes a duration as the file would: "10m".
func ShowDuration(d time.Duration) string { return showDuration(d) }
