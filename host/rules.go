package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/rules"
)

// Gate 3, rules: every condition of the tool is true of this call, by its
// arguments, the session, the values of its role and what the host knows
// (facts.go). The first that is not, in the order of the config, refuses; one
// that cannot be decided refuses too (I3).

// ruled is a call whose rules hold.
type ruled struct {
	asked
	facts facts
	hide  *hider // of the secret arguments
}

// ruleset is what the host holds of a tool's rules; load_rules.go makes it.
type ruleset struct {
	facts  []fact
	rules  []rule
	types  map[string]rules.Type  // args, session, values, facts and now
	values map[string]rules.Value // of each role that may call
	paths  [][]string             // that the rules name: {"facts", "order", "total"}
}

type rule struct {
	config.Rule
	compiled *rules.Rule
}

func (h *Host) checkRules(ctx context.Context, a asked, rec *Record) (ruled, error) {
	r := ruled{asked: a, hide: rec.hide}
	if len(a.tool.rules.rules) == 0 {
		a.trail.none(GateRules, "no rules")
		return r, nil
	}
	in, err := h.ruleInput(ctx, &r)
	if err != nil {
		return ruled{}, err
	}
	rec.Facts = r.facts.kept(rec.hide)
	var held []string
	var details []Detail
	var first *Refusal
	for i := range a.tool.rules.rules {
		rule := &a.tool.rules.rules[i]
		detail, refused := r.decide(rule, in)
		details = append(details, detail)
		if refused != nil && first == nil {
			first = refused
		}
		if first != nil && !a.trail.full {
			break
		}
		if refused == nil {
			held = append(held, rule.Name)
		}
	}
	if first != nil {
		first.details = details
		return ruled{}, first
	}
	a.trail.ok(GateRules, count(len(held), "rule")+", true: "+strings.Join(held, ", "), details...)
	return r, nil
}

// ruleInput fetches the facts and gives the rules their variables.
func (h *Host) ruleInput(ctx context.Context, r *ruled) (rules.Input, error) {
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	var err error
	now := h.clock()
	if r.facts, err = r.fetchFacts(ctx, now); err != nil {
		return nil, err
	}
	set := &r.tool.rules
	args, err := rules.FromJSON(set.types["args"], r.args)
	if err != nil { // a contract let through what its own types do not
		return nil, &Refusal{Gate: GateRules, Code: r.code(), Place: r.tool.At("rules"), Reason: "args " + err.Error()}
	}
	return rules.Input{
		"args":    args,
		"session": rules.ObjectValue(set.types["session"], sessionField(r.session)),
		"values":  set.values[r.session.Role],
		"facts": rules.ObjectValue(set.types["facts"], func(field string) (rules.Value, error) {
			return r.facts.values[field], r.facts.faults[field]
		}),
		"now": rules.TimeValue(now),
	}, nil
}

func sessionField(s Session) func(string) (rules.Value, error) {
	return func(field string) (rules.Value, error) {
		v, ok := s.value(config.Ref{Space: config.SpaceSession, Name: field})
		if !ok {
			return rules.Value{}, nil
		}
		return rules.TextValue(v), nil
	}
}

// decide says what a rule said, with its clauses and the values on both sides,
// and refuses where it is not true.
func (r *ruled) decide(rule *rule, in rules.Input) (Detail, *Refusal) {
	holds, clauses, err := rule.compiled.Decide(in, r.hide.line)
	d := Detail{Verdict: VerdictNo, Text: rule.Name, Place: rule.At("require"), Clauses: r.shownClauses(clauses)}
	switch {
	case err != nil:
		// The rule's own texts say that it is false, which nobody knows.
		return d, r.refusal(rule, rule.Name+" could not be decided: "+err.Error(), "")
	case holds:
		d.Verdict = VerdictOK
		return d, nil
	}
	reason, ok := rule.Reason.Render(func(ref config.Ref) (string, bool) { return r.placeholder(in, ref), true })
	if !ok {
		reason = untrue(clauses, d.Clauses)
	}
	words, _ := rule.Words.Render(func(ref config.Ref) (string, bool) { return r.word(in, ref) })
	return d, r.refusal(rule, rule.Name+": "+reason, words)
}

func (r *ruled) refusal(rule *rule, reason, words string) *Refusal {
	if utf8.RuneCountInString(words) > maxWords {
		words = ""
	}
	return &Refusal{Gate: GateRules, Code: r.code(), Place: rule.At("require"), Reason: reason, words: words}
}

// untrue is the reason of a rule that gives none: its clauses that are false,
// where it is they that make it so.
func untrue(clauses []rules.Clause, shown []Clause) string {
	var out []string
	for i, c := range clauses {
		if c.Turned {
			return "it is false"
		}
		if c.Is == "false" {
			out = append(out, cut(shown[i].Text, maxPlaceholder))
		}
	}
	switch len(out) {
	case 0:
		return "it is false"
	case 1:
		return out[0] + " is false"
	}
	return strings.Join(out, "; ") + " are false"
}

// code is what a refusal by rules is called: of a write it says that nothing
// was written.
func (r *ruled) code() string {
	if r.tool.Effect == effectWrite {
		return codeWriteRefused
	}
	return codeRuleRefused
}

// shownClauses are a rule's clauses as operators and the record have them.
func (r *ruled) shownClauses(clauses []rules.Clause) []Clause {
	var out []Clause
	for _, c := range clauses {
		if slices.ContainsFunc(c.Reads, r.secret) && c.Left != "" {
			// Both sides: what is made of a secret tells of it, and so does what it equals.
			c.Left, c.Right = hidden, hidden
		}
		c.Left, c.Right = shortened(c.Left), shortened(c.Right)
		out = append(out, Clause{Is: c.Is, Text: c.String()})
	}
	return out
}

// shortened is one side of a clause. A list of long texts would else stand in
// the record once for each clause that names it.
func shortened(side string) string {
	if len(side) <= maxSide {
		return side
	}
	return cut(side, maxSide) + "..."
}

// secret tells whether a path that a rule names leads to a secret argument, or
// to what holds one.
func (r *ruled) secret(path []string) bool {
	return len(path) > 1 && path[0] == string(config.SpaceArgs) && r.tool.contract.Secret(path[1])
}

// placeholder is a value as a reason names it.
func (r *ruled) placeholder(in rules.Input, ref config.Ref) string {
	v, err := r.resolve(in, ref)
	switch {
	case err != nil:
		return "(" + err.Error() + ")"
	case v.Absent():
		return "(absent)"
	}
	return cut(r.hide.line(v.Plain()), maxPlaceholder)
}

const (
	maxPlaceholder = 500  // bytes of a value in a reason
	maxSide        = 2000 // bytes of one side of a clause
	maxWords       = 1000 // characters for the model; where a value makes them longer, it hears the host's own
)

// word is a value as the model is told it; without one the tool's words are
// the host's own.
func (r *ruled) word(in rules.Input, ref config.Ref) (string, bool) {
	v, err := r.resolve(in, ref)
	return v.Plain(), err == nil && !v.Absent()
}

func (r *ruled) resolve(in rules.Input, ref config.Ref) (rules.Value, error) {
	v := in[string(ref.Space)]
	for name := range strings.SplitSeq(ref.Name, ".") {
		if v.Absent() {
			return v, nil
		}
		var err error
		if v, err = v.Field(name); err != nil {
			return rules.Value{}, fmt.Errorf("%s: %w", ref, err)
		}
	}
	return v, nil
}
