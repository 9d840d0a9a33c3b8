package rules

import (
	"strings"
	"testing"
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
