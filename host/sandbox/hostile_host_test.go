package sandbox

import (
	"context"
	"math"
	"testing"
)

// TestHostileRegions hands each function that a guest can import, WASI's too, pointers and lengths that overflow
// or lie outside. It ends the guest, or WASI answers with an error: nothing else happens.
func TestHostileRegions(t *testing.T) {
	for module, functions := range offer() {
		for _, name := range functions {
			for _, args := range [][4]int64{
				{-1, 1, 0, 0}, {-1, -1, 0, 0}, {0, -1, 0, 0}, {pageSize, 1, 0, 0}, {0, 0, -1, 1}, {0, 0, -1, -1}, {0, 0, 8, -1}, {0, 0, pageSize - 3, 4},
			} {
				g := newGuest().imp(module, name)
				g.run(g.ask(module+"."+name, args[0], args[1], args[2], args[3]), opDrop, i32(0))
				f := &answers{}
				_, _, err := hostileModule(t, g).Run(t.Context(), bounds(f))
				wantStop(t, err, Trap, "outside the memory")
				if len(f.calls) > 0 {
					t.Errorf("%s.%s%v reached the host", module, name, args)
				}
			}
		}
	}
	for name, f := range wasiFunctions() {
		if name == "proc_exit" || f.params == "" {
			continue
		}
		for _, n := range []int64{-1, math.MinInt32, pageSize - 1} {
			g := newGuest().importAs(wasiModule, name, f.params, f.results)
			var args []byte
			for _, p := range []byte(f.params) {
				if p == typeI64 {
					args = append(args, opI64(n)...)
				} else {
					args = append(args, i32(n)...)
				}
			}
			g.run(args, callTo(0))
			_, code, err := hostileModule(t, g).Run(t.Context(), bounds(&answers{}))
			if err != nil || code == wasiOK && !takesAnything(name) {
				t.Errorf("%s of %d: %d %v", name, n, code, err)
			}
		}
	}
}

// takesAnything lists what there is nothing to be wrong with.
func takesAnything(name string) bool { return name == "args_get" }

// TestReentered: a host function that runs the same guest again gets an instance of its own.
func TestReentered(t *testing.T) {
	g := newGuest().imp("records", "get").global(0)
	g.run(opCount, g.ask("records.get", 0, 0, 0, 0), opDrop, opCounted)
	m := hostileModule(t, g)
	depth := 0
	again := &answers{}
	again.f = func(ctx context.Context, _, _ string, _ []byte) (Status, []byte, error) {
		if depth++; depth < 5 {
			if _, code, err := m.Run(ctx, bounds(again)); err != nil || code != 1 {
				t.Errorf("inside: %d %v", code, err)
			}
		}
		return OK, nil, nil
	}
	if _, code, err := m.Run(t.Context(), bounds(again)); err != nil || code != 1 || depth != 5 {
		t.Errorf("%d %v, depth %d", code, err, depth)
	}
}

// TestImportedTwice: Go modules import some names twice; both are the same function.
func TestImportedTwice(t *testing.T) {
	g := newGuest().imp("records", "get", "get")
	g.run(g.ask("records.get", 0, 0, 0, 0), opDrop, i32(0), i32(0), i32(0), i32(0), callTo(0), opDrop, i32(0))
	f := &answers{}
	if _, _, err := hostileModule(t, g).Run(t.Context(), bounds(f)); err != nil || len(f.calls) != 2 {
		t.Errorf("%v, calls %v", err, f.calls)
	}
}
