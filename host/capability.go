package host

import (
	"context"
	"errors"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
)

// Gate 4, capability: what the guest of this call can reach is settled here,
// from the grants, the session and the arguments, before it starts. A path or
// URL that an argument of a grant holds is admitted by the check that the host
// functions use (I13). The guest asks by name; a name that is not in reach does
// not exist for it (I9).

// bounded is a call whose reach is settled.
type bounded struct {
	ruled
	reach  map[string]map[string]capabilities.Reach // kind, capability
	outbox *outboxGrant                             // of a write
	row    *capabilities.OutboxReach                // what its guest asks for
}

func (h *Host) checkCapability(ctx context.Context, a ruled) (bounded, error) {
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	b := bounded{ruled: a, reach: map[string]map[string]capabilities.Reach{}}
	var reached []string
	var details []Detail
	for i, g := range a.tool.grants {
		reach, shown, err := g.of.reach(ctx, &a.asked, i)
		if err != nil {
			return bounded{}, a.denied(g, err, details)
		}
		if b.reach[g.kind.Name] == nil {
			b.reach[g.kind.Name] = map[string]capabilities.Reach{}
		}
		b.reach[g.kind.Name][g.Capability] = reach
		if row, ok := reach.(*capabilities.OutboxReach); ok {
			b.outbox, b.row = g.outbox, row
		}
		shown = g.Capability + ": " + shown
		reached = append(reached, shown)
		details = append(details, Detail{Verdict: VerdictOK, Text: shown, Place: g.decides})
	}
	if len(reached) == 0 {
		reached = []string{"reaches nothing"}
	}
	a.trail.ok(GateCapability, strings.Join(reached, "; "), a.trail.several(details)...)
	return b, nil
}

// denied refuses by what the check of a capability said. The model hears the
// same words whatever it was: what is not there, what is a link and what lies
// outside are alike to it.
func (a *ruled) denied(g *grant, err error, details []Detail) error {
	var d *capabilities.Denial
	if !errors.As(err, &d) {
		return &Refusal{Gate: GateCapability, Code: codeUnavailable, Place: g.Place, Reason: g.Capability + ": " + err.Error()}
	}
	reason := g.Capability + ": " + d.Text
	details = append(details, Detail{Verdict: VerdictNo, Text: reason, Place: g.decides})
	code := codeFileDenied
	if g.kind.Name == "fetch" {
		code = codeFetchDenied
	}
	return &Refusal{Gate: GateCapability, Code: code, Field: g.only, Place: g.decides, Reason: reason, words: a.wordsFor(), details: a.trail.several(details)}
}
