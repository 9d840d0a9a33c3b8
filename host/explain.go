package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Explain decides as Call does and stops before the plugin: no guest code
// runs. Each gate's answer has its details: every clause with the values on
// both sides. With all it goes on past the first refusal, as far as what the
// later gates need is there; the outcome is that of the first. It is recorded.
func (h *Host) Explain(ctx context.Context, s Session, p Proposal, all bool) (Outcome, []Answer) {
	rec, t := h.begin(s, p), &trail{full: true}
	rec.Explained = true
	var err error
	if all {
		err = h.explainAll(ctx, s, p, rec, t)
	} else {
		_, err = h.admit(ctx, s, p, rec, t)
	}
	return h.end(ctx, p, rec, t, nil, err), t.answers
}

// explainAll asks every gate, and gives a later one what it needs where an
// earlier one refused: this is the one place that does so, and it leads to no
// plugin. It gives the first refusal.
func (h *Host) explainAll(ctx context.Context, s Session, p Proposal, rec *Record, t *trail) error {
	var first error
	refused := func(err error) bool {
		if first == nil {
			first = err
		}
		var r *Refusal
		if errors.As(err, &r) {
			t.no(Outcome{Gate: r.Gate, Code: r.Code, Reason: r.Reason, Place: r.Place, details: r.details})
		}
		return err != nil
	}
	e, err := h.enterSession(s, p, rec, t)
	if refused(err) {
		e = entered{session: s, proposal: p, id: rec.CallID, trail: t}
		e.session.ID = cmp.Or(s.ID, rec.CallID)
	}
	checked, err := h.checkContract(e)
	if refused(err) {
		return first // nothing is known of the arguments
	}
	rec.keep(checked)
	a, err := h.checkCaller(ctx, checked)
	if refused(err) {
		a = asked{checked: checked, scopes: make([][]string, len(checked.tool.grants))}
		for i, g := range checked.tool.grants {
			if g.records != nil {
				a.scopes[i], _ = g.records.scope(checked.session)
			}
		}
	}
	r, err := h.checkRules(ctx, a, rec)
	if refused(err) {
		r = ruled{asked: a}
	}
	b, err := h.checkCapability(ctx, r)
	if !refused(err) {
		_, err = h.checkApproval(b, rec)
		var waits *Postponed
		if refused(err); errors.As(err, &waits) && first != err { //nolint:errorlint // an earlier gate has refused
			t.wait(Outcome{Reason: waits.Reason})
		}
	}
	return first
}

// explainArguments gives each argument with what the contract asks of it.
func (c *checked) explainArguments() []Detail {
	if !c.trail.full {
		return nil
	}
	var out []Detail
	properties, _ := c.tool.contract.Input.Get("properties")
	for name, value := range c.args.Members() {
		schema, _ := properties.Get(name)
		shown := string(value.AppendJSON(nil))
		if c.tool.contract.Secret(name) {
			shown = hidden
		}
		asks := string(schema.Without("description", "title", "examples").AppendJSON(nil))
		if schema.Kind() != strictjson.Object {
			asks = "?"
		}
		out = append(out, Detail{Verdict: VerdictOK, Text: name + " = " + shown + ", fits " + asks})
	}
	return out
}

// explainRow gives the clauses of a grant's scope with what the row has.
func (a *asked) explainRow(g *grant, key string, want []string, v capabilities.Verdict) {
	if !a.trail.full {
		return
	}
	if a.tool.contract.Secret(g.only) {
		key = hidden
	}
	if !v.Found {
		a.details = append(a.details, Detail{Verdict: VerdictNo, Text: fmt.Sprintf("%s: no row has the key %q", g.Capability, key), Place: g.Place})
		return
	}
	a.details = append(a.details, Detail{Verdict: VerdictOK, Text: fmt.Sprintf("%s: a row has the key %q", g.Capability, key), Place: g.Place})
	for i, clause := range g.records.config.Scope {
		stored, holds := v.Clause(i, want[i])
		d := Detail{Verdict: VerdictOK, Place: clause.Place, others: true}
		if !holds {
			d.Verdict = VerdictNo
		}
		d.Text = fmt.Sprintf("%s: %s = %s: the session has %q, the row %s", g.Capability, clause.Column, shownValue(clause.Is), want[i], stored)
		a.details = append(a.details, d)
	}
}
