package host

import (
	"strconv"

	"github.com/toolhost/toolhost/host/config"
)

// Verdict is what one gate said.
type Verdict string

// The verdicts of a gate. A gate that was not reached has none.
const (
	VerdictOK   Verdict = "ok"
	VerdictNo   Verdict = "no"
	VerdictNone Verdict = "-" // nothing to decide here
)

// Answer is one gate's answer to one call.
type Answer struct {
	Gate    Gate
	Verdict Verdict
	Text    string       // for people, with the values that decided; sealed in the record
	Place   config.Place // of what decided
	Details []Detail     // clause by clause, where the gate has them
}

// Detail is one clause of what a gate looked at.
type Detail struct {
	Verdict Verdict
	Text    string // with the values on both sides
	Place   config.Place
}

// A trail gathers the gates' answers.
type trail struct{ answers []Answer }

func (t *trail) ok(g Gate, words string) {
	t.answers = append(t.answers, Answer{Gate: g, Verdict: VerdictOK, Text: words})
}

func (t *trail) none(g Gate, words string) {
	t.answers = append(t.answers, Answer{Gate: g, Verdict: VerdictNone, Text: words})
}

// no notes the refusal or failure that ended the call.
func (t *trail) no(o Outcome) {
	t.answers = append(t.answers, Answer{Gate: o.Gate, Verdict: VerdictNo, Place: o.Place, Text: o.Code + ": " + o.Reason})
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
