package rules

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/common/types"

	"github.com/toolhost/toolhost/host/decimal"
)

// A writer makes well-typed rules over testVars.
type writer struct {
	*rand.Rand
	texts, lines []string // the loop variables in scope
	loops        int
}

func (w *writer) pick(options ...string) string { return options[w.IntN(len(options))] }

// branch takes one of the ways to write something; where there is no more room
// the first, which needs none.
func (w *writer) branch(room int, ways ...func(room int) string) string {
	if room <= 0 {
		return ways[0](0)
	}
	return ways[w.IntN(len(ways))](room - 1)
}

func (w *writer) boolean(room int) string {
	two := func(of func(int) string, signs ...string) func(int) string {
		return func(room int) string { return "(" + of(room) + " " + w.pick(signs...) + " " + of(room) + ")" }
	}
	compared := []string{"==", "!=", "<", "<=", ">", ">="}
	return w.branch(
		room,
		func(int) string {
			return w.pick("args.sure", "true", "false", "has(args.reason)", "has(facts.order.shipped_on)", "has(session.customer)", "has(facts.order)")
		},
		two(w.boolean, "&&", "||", "==", "!="), two(w.boolean, "&&", "||"),
		two(w.number, compared...), two(w.number, compared...), two(w.date, compared...), two(w.instant, compared...), two(w.duration, compared...),
		two(w.text, "==", "!="),
		func(room int) string { return "!" + w.boolean(room) },
		func(room int) string { return w.choice(w.boolean, room) },
		func(room int) string {
			return w.text(room) + "." + w.pick("contains", "containsWord", "startsWith", "endsWith") + "(" + w.text(room) + ")"
		},
		func(room int) string {
			return w.text(room) + ".matches(" + w.pick(`"^[A-Z]{2}-[0-9]+$"`, `"(a|b)*c"`, `"é+$"`, `""`) + ")"
		},
		func(room int) string {
			return w.text(room) + ".namesOnlyFrom(" + w.text(room) + ", " + w.pick(`"[A-Z]{2}-[0-9]+"`, `"é+"`) + ")"
		},
		func(room int) string { return "(" + w.text(room) + " in " + w.textList(room) + ")" },
		func(room int) string {
			return "(" + w.number(room) + " in [" + w.number(room) + ", " + w.number(room) + "])"
		},
		func(room int) string { return "(" + w.date(room) + " in [" + w.date(room) + "])" },
		func(room int) string { return w.loop(w.pick("all", "exists", "exists_one"), w.boolean, room) },
	)
}

func (w *writer) choice(of func(int) string, room int) string {
	return "(" + w.boolean(room) + " ? " + of(room) + " : " + of(room) + ")"
}

// loop is one over the lines or over texts.
func (w *writer) loop(macro string, body func(int) string, room int) string {
	w.loops++
	name := fmt.Sprintf("v%d", w.loops)
	list, scope := "args.lines", &w.lines
	if w.IntN(2) == 0 {
		list, scope = w.textList(room), &w.texts
	}
	*scope = append(*scope, name)
	defer func() { *scope = (*scope)[:len(*scope)-1] }()
	return list + "." + macro + "(" + name + ", " + body(room) + ")"
}

func (w *writer) textList(room int) string {
	return w.branch(
		room,
		func(int) string { return "args.tags" },
		func(room int) string { return "[" + w.text(room) + ", " + w.text(room) + "]" },
		func(room int) string { return w.choice(w.textList, room) },
	)
}

func (w *writer) number(room int) string {
	return w.branch(
		room,
		func(int) string {
			own := []string{"args.amount", "facts.order.total", "facts.refunded", "values.limit", "values.top", "0", "7", "0.1", "-9.95", "1e60", "1e-60", "123456789.987654321"}
			for _, l := range w.lines {
				own = append(own, l+".amount", l+".amount")
			}
			return w.pick(own...)
		},
		func(room int) string {
			return "(" + w.number(room) + " " + w.pick("+", "-", "*", "/", "%") + " " + w.number(room) + ")"
		},
		func(room int) string { return "-(" + w.number(room) + ")" },
		func(room int) string { return w.choice(w.number, room) },
		func(room int) string { return "size(" + w.pick(w.text(room), w.textList(room), "args.lines") + ")" },
		func(room int) string { return w.duration(room) + "." + w.pick("getDays()", "getHours()") },
		func(room int) string { return w.date(room) + ".getDayOfWeek()" },
		func(room int) string {
			return w.instant(room) + "." + w.pick(`getHours("Europe/Paris")`, `getDayOfWeek("UTC")`)
		},
		func(room int) string { return w.loop("sum", w.number, room) },
	)
}

func (w *writer) text(room int) string {
	return w.branch(
		room,
		func(int) string {
			own := append([]string{"args.order_id", "args.reason", "session.role", "session.customer", `"LK-702219"`, `""`, `"é"`}, w.texts...)
			for _, l := range w.lines {
				own = append(own, l+".note")
			}
			if w.IntN(8) == 0 {
				own = []string{"facts.order.status"} // too long for most
			}
			return w.pick(own...)
		},
		func(room int) string { return "(" + w.text(room) + " + " + w.text(room) + ")" },
		func(room int) string { return w.text(room) + w.pick(".lowerAscii()", ".upperAscii()") },
		func(room int) string { return w.choice(w.text, room) },
	)
}

func (w *writer) date(room int) string {
	return w.branch(
		room,
		func(int) string {
			return w.pick("args.from", "args.to", "facts.order.shipped_on", `date("2026-10-15")`, "date(now)", `date(now, "Asia/Tokyo")`)
		},
		func(room int) string {
			return "(" + w.date(room) + " " + w.pick("+", "-") + " " + w.duration(room) + ")"
		},
		func(room int) string { return "date(" + w.instant(room) + `, "America/New_York")` },
		func(room int) string { return w.choice(w.date, room) },
	)
}

func (w *writer) instant(room int) string {
	return w.branch(
		room,
		func(int) string { return w.pick("now", "args.at", `timestamp("2026-10-15T00:00:00+02:00")`) },
		func(room int) string {
			return "(" + w.instant(room) + " " + w.pick("+", "-") + " " + w.duration(room) + ")"
		},
		func(room int) string { return w.choice(w.instant, room) },
	)
}

func (w *writer) duration(room int) string {
	return w.branch(
		room,
		func(int) string {
			return w.pick(`duration("36h")`, "days(31)", "days(106751)", "minutes(15)", "days(-2)")
		},
		func(room int) string { return "(" + w.date(room) + " - " + w.date(room) + ")" },
		func(room int) string { return "(" + w.instant(room) + " - " + w.instant(room) + ")" },
		func(room int) string {
			return "(" + w.duration(room) + " " + w.pick("+", "-") + " " + w.duration(room) + ")"
		},
		func(room int) string { return w.pick("days", "hours", "minutes") + "(" + w.number(room) + ")" },
		func(room int) string { return w.choice(w.duration, room) },
	)
}

// fullInput has everything as long as the types allow.
func fullInput(t testing.TB) Input {
	t.Helper()
	in, vars := testInput(t), testVars()
	full := func(s string, n int) string { return strings.Repeat(s, n) }
	line := `{"amount":1234567890123456789.5,"note":"` + full("ü", 50) + `"}`
	tag := `"` + full("é", 30) + `"`
	in["args"] = fromJSON(t, vars[0].Type, `{"order_id":"`+full("L", 20)+`","amount":-0.000001,"reason":"`+full("é", 200)+`","from":"0001-01-01","to":"9999-12-31",
		"at":"1734-06-01T00:00:00.123456789Z","sure":false,"tags":[`+full(tag+",", 9)+tag+`],"lines":[`+full(line+",", 49)+line+`]}`)
	in["session"] = fromJSON(t, vars[1].Type, `{"role":"`+full("r", 200)+`","customer":"`+full("é", 200)+`"}`)
	in["facts"] = fromJSON(t, vars[3].Type, `{"order":{"total":0,"status":"`+full("a", 100_000)+`","shipped_on":"1734-07-01"},"refunded":0.0}`)
	return in
}

// emptyInput has as little as there may be.
func emptyInput(t testing.TB) Input {
	t.Helper()
	vars := testVars()
	return Input{
		"args":    fromJSON(t, vars[0].Type, `{"tags":[],"lines":[]}`),
		"session": fromJSON(t, vars[1].Type, `{}`),
		"facts":   fromJSON(t, vars[3].Type, `{"order":null}`),
		"now":     TimeValue(time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)),
		"values":  ObjectValue(vars[2].Type, func(string) (Value, error) { return NumberValue(decimal.Unlimited()), nil }),
	}
}

// Of every rule that compiles: it costs no more than was estimated, whatever it
// is given; it never panics; what holds came without an error; and Explain,
// which evaluates everything, comes to the same. TOOLHOST_NIGHTLY=1 tries more.
func TestCostIsNeverBelow(t *testing.T) {
	rounds, seed := 10_000/slow, uint64(20261015)
	if os.Getenv("TOOLHOST_NIGHTLY") != "" {
		rounds, seed = 60_000, uint64(time.Now().UnixNano())
	}
	e := testEnv(t)
	inputs := []Input{testInput(t), fullInput(t), emptyInput(t)}
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 1))}
	compiled, gave := 0, map[string]int{}
	for range rounds {
		source := w.boolean(1 + w.IntN(5))
		r, faults := e.Compile(source)
		if r == nil {
			mayNotCompile(t, source, faults)
			continue
		}
		compiled++
		for i, in := range inputs {
			gave[holdsAsExplained(t, r, i, in)]++
		}
	}
	t.Logf("seed %d: %d of %d compile; %v", seed, compiled, rounds, gave)
	if compiled < rounds/2 || min(gave["true"], gave["false"], gave["error"]) < rounds/10 {
		t.Error("too few rules say anything")
	}
}

// mayNotCompile: a well-typed rule can be too long or too dear, nothing else.
func mayNotCompile(t *testing.T, source string, faults []Fault) {
	t.Helper()
	for _, f := range faults {
		if !strings.Contains(f.Text, "could cost") && !strings.Contains(f.Text, "exceed") && !strings.Contains(f.Text, "recursion") && !strings.Contains(f.Text, "nodes") {
			t.Errorf("%s: %s", source, f)
		}
	}
}

func holdsAsExplained(t *testing.T, r *Rule, i int, in Input) string {
	t.Helper()
	holds, err := r.Holds(in)
	if holds && err != nil {
		t.Errorf("%s: holds with %v", r.Source, err)
	}
	_, details, _ := r.run(r.program, in)
	if details == nil || details.ActualCost() == nil {
		t.Fatalf("%s: nobody counts", r.Source)
	}
	if *details.ActualCost() > r.Cost {
		t.Errorf("input %d: %s: cost %d, at most %d", i, r.Source, *details.ActualCost(), r.Cost)
	}
	v, all, explained := r.run(r.explainer, in)
	overCost := all != nil && all.ActualCost() != nil && *all.ActualCost() > MaxCost
	if (v == types.True) != holds && !overCost || (explained != nil) != (err != nil) && !overCost {
		t.Errorf("input %d: %s: %t, %v; explained: %v, %v", i, r.Source, holds, err, v, explained)
	}
	r.Explain(in)
	if err != nil {
		return "error"
	}
	return fmt.Sprint(holds)
}
