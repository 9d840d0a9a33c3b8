package rules

import (
	"strings"
	"testing"
	"time"
)

// A loop whose variable is called like a variable of the Env would hide what a
// rule reads: then the column of "!has(.facts.order.cancelled)" was not fetched,
// and the rule held whatever stood in it.
func TestAttackShadows(t *testing.T) {
	e, in := testEnv(t), testInput(t)
	for _, name := range []string{"args", "session", "values", "facts", "now"} {
		for _, loop := range []string{"all(%, true)", "exists(%, true)", "exists_one(%, true)", "sum(%, 1) > 0", "all(x, args.lines.all(%, x == 'a'))"} {
			source := "args.tags." + strings.ReplaceAll(loop, "%", name)
			if r, faults := e.Compile(source); r != nil || !strings.Contains(faults[0].Text, "a loop cannot call its items "+name) {
				t.Errorf("%s: %v", source, faults)
			}
		}
	}
	for _, source := range []string{".facts.order.total > 1", "args.tags.all(t, .facts.order.total > 1)", "args.tags.all(t, args.tags.all(t, !has(.facts.order.shipped_on)))"} {
		r, faults := e.Compile(source)
		if faults != nil {
			t.Fatal(source, faults)
		}
		if holds, err := r.Holds(in); !holds || err != nil {
			t.Errorf("%s: %t %v", source, holds, err)
		}
		for _, path := range r.Reads {
			if strings.HasPrefix(path[0], ".") {
				t.Errorf("%s reads %v", source, path)
			}
		}
	}
}

// What a name costs does not grow with what it names: not with the list behind
// has(), and not with a text that is held against a short one.
func TestAttackCheapRulesOfLongValues(t *testing.T) {
	e, in := heavyEnv(t)
	long, err := NewEnv([]Field{{"args", e.vars[0].Type}, {"facts", Type{Kind: Object, Name: "facts", Fields: []Field{{"note", Type{Kind: Text, Most: 256 << 10}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	in["facts"] = fromJSON(t, long.vars[1].Type, `{"note":"`+strings.Repeat("é", 128<<10)+`"}`)
	loop := func(part string, n int) string {
		return "args.n.all(x, " + strings.TrimSuffix(strings.Repeat(part+" && ", n), " && ") + ")"
	}
	for _, source := range []string{
		loop("has(args.n)", 20),
		loop("has(args.texts)", 20),
		loop("has(facts.note)", 20),
		loop(`facts.note != "x"`, 14),
		loop(`"x" != facts.note`, 14),
		loop(`!facts.note.startsWith("x")`, 14),
		loop(`!facts.note.endsWith("xxxxxxxxxxxxxxxxxxx")`, 14),
		"args.texts.all(t, size(args.n) == 1000 && size(args.n) > 0 && size(args.n) > 1)",
	} {
		r, faults := long.Compile(source)
		if faults != nil {
			t.Fatal(source[:40], faults)
		}
		start := time.Now()
		holds, err := r.Holds(in)
		if took := time.Since(start); !holds || err != nil || took > time.Second {
			t.Errorf("%s...: %t %v after %s, at a cost of %d", source[:40], holds, err, took, r.Cost)
		}
	}
}

// What is asked of something that is absent itself is an error, with has() too:
// "no cancellation is known" does not hold of an order that is not there. And no
// way around an absent value makes it one that holds.
func TestAttackAbsent(t *testing.T) {
	e, in := testEnv(t), testInput(t)
	facts := testVars()[3].Type
	in["facts"] = fromJSON(t, facts, `{"order":null,"refunded":0}`)
	delete(in, "values")
	for _, source := range []string{
		"has(facts.order.shipped_on)",
		"!has(facts.order.shipped_on)",
		"!has(facts.order.shipped_on) || true",
		"args.tags.all(t, !has(facts.order.shipped_on))",
		"args.tags.exists(t, !has(facts.order.shipped_on))",
		"args.tags.exists_one(t, t == 'b' && !has(facts.order.shipped_on))",
		"args.tags.exists_one(t, t == 'a' || facts.order.status != 'x')",
		"args.tags.sum(t, has(facts.order.shipped_on) ? 1 : 0) == 0",
		"!has(values.limit)",
		"!args.lines.exists(l, l.note == 'y')",
		"!(facts.order.status == 'cancelled')",
		"facts.order.status != 'cancelled' || facts.refunded == 0",
		"(facts.order.status == 'cancelled') == false",
		"!(facts.order.status in ['cancelled'])",
		"!('x' in [facts.order.status])",
		"(facts.order.status == 'cancelled' ? false : true)",
		"[facts.order.status == 'cancelled', false].all(x, !x)",
		"[true, false].exists(x, x || facts.order.status == 'x') && facts.order.status != 'y'",
		"size([facts.order.status]) == 1",
		"values.limit != values.limit || true",
	} {
		r, faults := e.Compile(source)
		if faults != nil {
			t.Fatal(source, faults)
		}
		if holds, err := r.Holds(in); holds || err == nil {
			t.Errorf("%s: %t %v", source, holds, err)
		}
		for _, c := range r.Explain(in) {
			if c.Is == "true" && len(r.clauses) == 1 {
				t.Errorf("%s: explained as %s", source, c)
			}
		}
	}
}
