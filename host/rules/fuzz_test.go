package rules

import (
	"strconv"
	"testing"
	"time"

	"cel.dev/cel-go/common/types"
)

// No text makes loading or running panic, take long, or cost more than was
// estimated; and what holds came without an error.
func FuzzRule(f *testing.F) {
	for _, c := range append(holding(), faulty()...) {
		f.Add(c.rule)
	}
	e, in := testEnv(f), testInput(f)
	const most = 5 * time.Second // a machine of many callers is slow; what has no end is longer
	f.Fuzz(func(t *testing.T, source string) {
		late := time.AfterFunc(most, func() { panic("has no end: " + strconv.Quote(source)) })
		defer late.Stop()
		r, faults := e.Compile(source)
		if (r == nil) == (len(faults) == 0) {
			t.Fatalf("rule %v, faults %v", r, faults)
		}
		if r != nil {
			holds, err := r.Holds(in)
			if holds && err != nil {
				t.Fatalf("holds with %v", err)
			}
			_, details, _ := r.run(r.program, in)
			if details == nil || details.ActualCost() == nil || *details.ActualCost() > r.Cost {
				t.Fatalf("cost at most %d, was %v", r.Cost, details)
			}
			v, _, _ := r.run(r.explainer, in) // it may cost more than Cost: both ways of a ? b : c
			if (v == types.True) != holds && err == nil {
				t.Fatalf("explained as %v, holds: %t", v, holds)
			}
			r.Explain(in)
		}
	})
}

func BenchmarkHolds(b *testing.B) {
	e, in := testEnv(b), testInput(b)
	for name, source := range map[string]string{
		"still-refundable": "args.amount <= facts.order.total - facts.refunded",
		"role-limit":       "args.amount <= values.limit",
		"dates":            "args.to - args.from <= days(31) && args.from >= date(now)",
		"list":             "args.lines.sum(l, l.amount) <= args.amount",
	} {
		b.Run(name, func(b *testing.B) {
			r, faults := e.Compile(source)
			if faults != nil {
				b.Fatal(faults)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Holds(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	e := testEnv(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := e.Compile("args.amount <= facts.order.total - facts.refunded"); faults != nil {
			b.Fatal(faults)
		}
	}
}
