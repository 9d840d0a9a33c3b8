package rules

import (
	"strings"
	"testing"
	"time"
)

// heavyEnv has long lists and texts, for rules that cost almost all they may.
func heavyEnv(t testing.TB) (*Env, Input) {
	t.Helper()
	args := Type{Kind: Object, Name: "args", Fields: []Field{
		{"n", Type{Kind: List, Most: 1000, Item: &Type{Kind: Number}}},
		{"texts", Type{Kind: List, Most: 100, Item: &Type{Kind: Text, Most: 1000}}},
		{"long", Type{Kind: Text, Most: 10_000}},
		{"word", Type{Kind: Text, Most: 10_000}},
	}}
	e, err := NewEnv([]Field{{"args", args}, {"now", Type{Kind: Time}}})
	if err != nil {
		t.Fatal(err)
	}
	digits := strings.Repeat("9", 63) + "7"
	raw := `{"n":[` + strings.Repeat(digits+",", 999) + digits + `],"texts":["` + strings.Repeat(strings.Repeat("é", 1000)+`","`, 99) + `x"],"long":"` +
		strings.Repeat("a", 10_000) + `","word":"` + strings.Repeat("a", 9_999) + `b"}`
	return e, Input{"args": fromJSON(t, args, raw), "now": TimeValue(time.Date(2026, 10, 15, 22, 30, 0, 0, time.UTC))}
}

// heavyRules are the dearest things that a rule can say, in a loop each.
func heavyRules() map[string]string {
	repeat := func(part, by string, n int) string { return strings.Repeat(part+by, n-1) + part }
	loop := func(part, by string, n int) string { return "args.n.all(x, " + repeat(part, by, n) + ")" }
	return map[string]string{
		"divide":    loop("x / 1e-130 / 1024 > 0", " && ", 6),
		"remainder": loop("(x * x * x) % 7.000000000001 >= 0", " && ", 8),
		"multiply":  loop("x * x * x > 0", " && ", 12),
		"add":       loop("x + x + x + x + x > 0", " && ", 8),
		"add-far":   loop("1e180 + x + 1e170 + x > 0", " && ", 8),
		"compare":   loop("x > 0", " && ", 24),
		"zone":      loop(`now.getHours("America/New_York") >= 0`, " && ", 14),
		"day":       loop(`date(now, "Europe/Paris") > date("2026-01-01")`, " && ", 14),
		"days":      loop("now - days(1) < now", " && ", 13),
		"nested":    "args.n.all(x, [1, 2, 3, 4, 5, 6, 7].all(t, x > t || true))",
		"sums":      "args.n.sum(x, [1, 2, 3, 4, 5].sum(t, t)) > 0",
		"pattern":   `args.long.matches("(a|aa|aaa|b){8}c$")`,
		"backtrack": `args.long.matches("(a*)*(a*)*(a*)*(a*)*b$")`,
		"part":      `!args.word.contains("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac")`,
		"word":      repeat(`!args.long.containsWord("a")`, " && ", 9),
		"names":     repeat(`args.long.namesOnlyFrom(args.long, "[ab]|(c*)*d")`, " && ", 3),
		"lower":     repeat(`args.long.lowerAscii() != ""`, " && ", 40),
		"texts":     `args.texts.all(t, ` + repeat(`t.lowerAscii().upperAscii() != "x"`, " && ", 2) + `)`,
		"in":        "args.n.all(x, x in [" + repeat("0", ", ", 70) + "])",
	}
}

// However a rule spends what it may cost, it takes some forty milliseconds on a
// slow machine; the bound leaves room for others on it.
func TestDearestRules(t *testing.T) {
	const most = slow * 250 * time.Millisecond
	e, in := heavyEnv(t)
	for name, source := range heavyRules() {
		t.Run(name, func(t *testing.T) {
			r, faults := e.Compile(source)
			if faults != nil {
				t.Fatal(faults)
			}
			best := time.Hour
			for range 3 {
				start := time.Now()
				if _, err := r.Holds(in); err != nil {
					t.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			_, details, _ := r.run(r.program, in)
			if actual := *details.ActualCost(); actual > r.Cost {
				t.Errorf("cost %d, at most %d", actual, r.Cost)
			}
			if best > most {
				t.Errorf("took %s", best)
			}
			t.Logf("cost %d, took %s", r.Cost, best)
		})
	}
}
