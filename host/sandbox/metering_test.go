package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// TestFuelIsBounded: a guest ends when its fuel does, and is told to have used no more.
func TestFuelIsBounded(t *testing.T) {
	for rule, g := range map[string]*guest{
		"in-run": loops(), "in-initialize": stuckAtStart(), "by-length": fillsMemory(),
		"recursion": callTree(),
	} {
		t.Run(rule, func(t *testing.T) {
			call := hostileCall()
			call.Time, call.Fuel = time.Minute, 12_345_678
			usage, _, err := hostileModule(t, g).Run(t.Context(), call)
			wantStop(t, err, OutOfFuel, "its 12345678 units")
			if usage.Fuel != 12_345_678 {
				t.Errorf("used %d", usage.Fuel)
			}
		})
	}
}

// TestFuelLastsToTheLastUnit: what a call uses is enough for it, and one unit less is not.
func TestFuelLastsToTheLastUnit(t *testing.T) {
	m := hostileModule(t, tightLoop())
	call := hostileCall()
	usage, _, err := m.Run(t.Context(), call)
	if err != nil || usage.Fuel < 10_000 {
		t.Fatalf("%+v %v", usage, err)
	}
	call.Fuel = int64(usage.Fuel)
	if again, _, err := m.Run(t.Context(), call); err != nil || again.Fuel != usage.Fuel {
		t.Errorf("with just enough: %+v %v", again, err)
	}
	call.Fuel--
	_, _, err = m.Run(t.Context(), call)
	wantStop(t, err, OutOfFuel, "")
}

// TestZeroFuelRunsNothing is S11.
func TestZeroFuelRunsNothing(t *testing.T) {
	call := hostileCall()
	call.Fuel = 0
	g := newGuest().imp("records", "get")
	g.run(opI64(3), opSet0, opLoop, g.ask("records.get", 0, 0, 0, 0), opDrop, opEndBlock, i32(0))
	f := &answers{}
	call.Functions = f
	_, _, err := hostileModule(t, g).Run(t.Context(), call)
	wantStop(t, err, OutOfFuel, "")
	if len(f.calls) > 0 {
		t.Error("it asked the host")
	}
}

// sameCall is one whose every input is the same each time, random numbers and clocks included.
func sameCall(f Functions) Call {
	now := uint64(0)
	return Call{
		Time: time.Minute, Fuel: math.MaxInt64, HostCalls: 64, LogBytes: 1000, Functions: f,
		Random: rand.NewChaCha8([32]byte{}),
		Clock:  func(bool) uint64 { now += 1000; return now },
	}
}

const fuelOfGo = "TOOLHOST_FUEL_OF"

// TestFuelIsTheSame: a thousand runs of a Go guest, on two cores and in another process, use the same fuel.
func TestFuelIsTheSame(t *testing.T) {
	notUnderRace(t)
	m := compileGo(t, "../../plugins/get_order")
	one := func() uint64 {
		f, _, _ := order(`{"order_id":"LK-702219"}`)
		usage, code, err := m.Run(context.Background(), sameCall(f))
		if err != nil || code != 0 {
			t.Errorf("%d %v", code, err)
		}
		return usage.Fuel
	}
	want := one()
	if os.Getenv(fuelOfGo) != "" {
		fmt.Printf("fuel %d\n", want)
		return
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 500 {
				if got := one(); got != want {
					t.Errorf("used %d, before %d", got, want)
					return
				}
			}
		})
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFuelIsTheSame$")
	cmd.Env = append(os.Environ(), fuelOfGo+"=get_order")
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), fmt.Sprintf("fuel %d\n", want)) {
		t.Errorf("another process: %v\n%s\nwant fuel %d", err, said, want)
	}
	wg.Wait()
	t.Logf("%d units each time", want)
}

// TestPaidBeforeItRuns holds the metering against the simplest one that can be right, a charge before each
// instruction: over generated modules it never charges less, and not much more.
func TestPaidBeforeItRuns(t *testing.T) {
	notUnderRace(t)
	var paid, due uint64
	for seed := range uint64(genModules) {
		a, b := paidAndDue(t, genStream(seed))
		paid, due = paid+a, due+b
	}
	t.Logf("paid %d units for %d: %.2f", paid, due, float64(paid)/float64(due))
	if paid > 2*due {
		t.Error("too much is charged")
	}
}

// FuzzPaidBeforeItRuns wants the same of every module: what runs was paid for.
func FuzzPaidBeforeItRuns(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(genStream(2000 + seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) { paidAndDue(t, stream) })
}

// paidAndDue runs a generated module and compares each call.
func paidAndDue(t *testing.T, stream []byte) (paid, due uint64) {
	t.Helper()
	wasm, functions, _ := generate(stream)
	metered, closeMetered := genInstance(t, wasm, rewriteGuarded)
	defer closeMetered()
	exact, closeExact := genInstance(t, wasm, rewriteExactly)
	defer closeExact()
	for round := range 2 {
		for i, sig := range functions {
			args := genArguments(sig, round)
			a, b := fuelOf(metered, genName(i), args), fuelOf(exact, genName(i), args)
			if a+maxLeaf < b { // who calls a short function pays for it, and here it is the host
				t.Errorf("%s%v: %d units for what costs %d", genName(i), args, a, b)
			}
			paid, due = paid+a, due+b
		}
	}
	return paid, due
}

// fuelOf is the fuel that a call takes, however it ends.
func fuelOf(m api.Module, name string, args []uint64) uint64 {
	const much = 1 << 60
	g := m.ExportedGlobal(fuelExport).(api.MutableGlobal)
	g.Set(much)
	_, _ = m.ExportedFunction(name).Call(context.Background(), args...)
	regainStack(m)
	return much - g.Get()
}

// rewriteExactly charges before each instruction.
func rewriteExactly(wasm []byte) ([]byte, error) {
	s, err := readSections(wasm)
	if err != nil {
		return nil, err
	}
	imports := s.imported(kindFunction)
	clear(s.leaves)
	return s.rewriteWith(func(c *code) []charge {
		all := []charge{{at: 0}}
		for n := range c.instructions {
			if k := cost(&c.instructions[n], imports); k > 0 {
				all = append(all, charge{at: n, cost: k})
			}
		}
		if len(all) > 1 && all[1].at == 0 {
			all = all[1:]
		}
		return all
	}), nil
}

// TestForgedNames: a module can name none of what the rewriting adds.
func TestForgedNames(t *testing.T) {
	beyond := func(code ...[]byte) []byte { return newGuest().global(0).run(slices.Concat(code...), i32(0)).bytes() }
	for _, c := range []refusal{
		{"exports-the-fuel", newGuest().export(fuelExport, kindGlobal, 0).run(i32(0)).bytes(), `exports "toolhost:sandbox:fuel": names that begin with`},
		{"exports-a-reserved-name", newGuest().export(globalExportName(0), kindMemory, 0).run(i32(0)).bytes(), "are the host's"},
		{"imports-look", newGuest().importAs(ownModule, lookFunction, i64Value+i64Value, i64Value).run(i32(0)).bytes(), "toolhost offers no module"},
		{"sets-the-fuel", beyond(opI64(1<<40), op(0x24, 1)), "global 1 does not exist, there are 1"},
		{"reads-the-fuel", beyond(op(0x23, 1), opDrop), "global 1 does not exist"},
		{"calls-what-is-appended", beyond(callTo(1)), "function 1 does not exist"},
		{"names-what-is-appended", beyond(op(0xd2, 1), opDrop), "function 1 does not exist"},
		{"reads-a-table-beyond", beyond(opZero, op(0x25, 0), opDrop), "table 0 does not exist"},
		{"calls-through-a-table-beyond", beyond(opZero, op(0x11), leb(newGuest().typ("", "")), op(0)), "table 0 does not exist"},
		{"fills-from-a-segment-beyond", beyond(opZero, opZero, opZero, op(0xfc, 12, 0, 0)), "element segment 0 does not exist"},
		{"sets-a-local-beyond", beyond(opI64(1), op(0x21, 9)), "local 9 does not exist"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, faults := Inspect(c.wasm, offer())
			if err := errors.Join(faults...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want a part %q", err, c.want)
			}
			if _, err := compileWith(t, c.wasm, 1<<20); err == nil {
				t.Error("it compiles")
			}
		})
	}
}

// TestCosts holds the table of docs/sandbox.md against the constants.
func TestCosts(t *testing.T) {
	doc, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	for class, units := range map[string]int{
		"nothing": costNothing, "plain": costPlain, "load": costLoad, "vector": costVector, "slow": costSlow, "call": costCall,
		"indirect": costIndirect, "moves": movesForOne, "host": costHost, "grow": costGrow, "bulk": costBulk, "bytes": bulkBytes,
	} {
		if row := fmt.Sprintf("\n| %s | %d | ", class, units); !strings.Contains(string(doc), row) {
			t.Errorf("docs/sandbox.md has no row %q", row[1:])
		}
	}
	if !strings.Contains(string(doc), fmt.Sprintf("and %d for the short function", maxLeaf)) {
		t.Errorf("docs/sandbox.md does not say %d", maxLeaf)
	}
}
