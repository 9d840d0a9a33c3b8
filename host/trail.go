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
	VerdictNone Verdict = "-"    // nothing to decide here
	VerdictWait Verdict = "wait" // a person decides
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
	Clauses []Clause // of a rule

	others bool // it may show what is another's: for who asks now, never for the record
}

// Clause is a part of a rule that is true or false by itself.
type Clause struct {
	Is   string // true, false or error; "-" where it was not needed
	Text string // with the values on both sides
}

// A trail gathers the gates' answers.
type trail struct {
	answers []Answer
	full    bool // explain: with details, which cost something
}

func (t *trail) ok(g Gate, words string, details ...Detail) {
	t.put(Answer{Gate: g, Verdict: VerdictOK, Text: words, Details: details})
}

// put notes a gate's answer. A gate has one, the record seals it under the gate's
// name: a later one takes the place of the first.
func (t *trail) put(a Answer) {
	for i := range t.answers {
		if t.answers[i].Gate == a.Gate {
			t.answers[i] = a
			return
		}
	}
	t.answers = append(t.answers, a)
}

// several are the details that explain shows where they are more than one: one
// says no more than the answer.
func (t *trail) several(details []Detail) []Detail {
	if !t.full || len(details) < 2 {
		return nil
	}
	return details
}

func (t *trail) none(g Gate, words string) {
	t.put(Answer{Gate: g, Verdict: VerdictNone, Text: words})
}

// wait notes a write that waits.
func (t *trail) wait(o Outcome) {
	t.put(Answer{Gate: GateApproval, Verdict: VerdictWait, Place: o.Place, Text: o.Reason})
}

// no notes a refusal or failure: of the session gate the one at the way out.
func (t *trail) no(o Outcome) {
	t.put(Answer{Gate: o.Gate, Verdict: VerdictNo, Place: o.Place, Text: o.Code + ": " + o.Reason, Details: o.details})
}

// hide takes a call's secrets out of what operators read.
func (t *trail) hide(h *hider) {
	if !h.hides() {
		return
	}
	for i := range t.answers {
		a := &t.answers[i]
		a.Text = h.line(a.Text)
		for j := range a.Details {
			d := &a.Details[j]
			d.Text = h.line(d.Text)
			for k := range d.Clauses {
				d.Clauses[k].Text = h.line(d.Clauses[k].Text)
			}
		}
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
