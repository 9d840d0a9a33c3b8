package host

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
)

// Gate 4, capability: what the guest of this call can reach is settled here,
// from the grants, the session's scope and the arguments, before it starts.
// The guest asks by name; a name that is not in reach does not exist for it (I9).

// bounded is a call whose reach is settled.
type bounded struct {
	asked
	reach map[string]map[string]capabilities.Reach // kind, capability
}

func (h *Host) checkCapability(a asked) (bounded, error) {
	b := bounded{asked: a, reach: map[string]map[string]capabilities.Reach{}}
	for i, g := range a.tool.grants {
		var only *string
		if g.only != "" {
			key, _ := a.argument(g.only)
			only = &key
		}
		if b.reach[g.kind.Name] == nil {
			b.reach[g.kind.Name] = map[string]capabilities.Reach{}
		}
		b.reach[g.kind.Name][g.Capability] = g.records.Reach(a.scopes[i], only)
	}
	a.trail.ok(GateCapability, b.describe())
	return b, nil
}

func (b *bounded) describe() string {
	var parts []string
	for _, g := range b.tool.grants {
		rows := "all rows in scope"
		if g.only != "" {
			rows = "the one row " + b.shownArgument(g.only)
		}
		parts = append(parts, fmt.Sprintf("%s: %s of %s, %s", g.Capability, count(len(g.columns), "column"), g.table, rows))
	}
	if len(parts) == 0 {
		return "reaches nothing"
	}
	return strings.Join(parts, "; ")
}
