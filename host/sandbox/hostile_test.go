package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Guests that misbehave, one misdeed each, made from bytes. plugins/hostile has more, written in Go as an
// author would; goguest_test.go runs those.

// hostile is a guest with how it must end.
type hostile struct {
	misdeed string
	guest   *guest
	reason  Reason // 0: run returns
	part    string // of the error's text
	slow    bool   // its time may be over first
}

const (
	hostileMemory = 16 << 20
	hostilePages  = hostileMemory / pageSize
	hostileTime   = 150 * time.Millisecond
	// hostileLate is how long after its deadline a guest may end; the race detector slows the host down.
	hostileLate = 50*time.Millisecond + underRace*time.Second
)

// full has all the memory that it may have, from the start.
func full() *guest {
	g := newGuest()
	g.memory = vector(append([]byte{0}, leb(hostilePages)...))
	return g
}

func forever(code ...[]byte) []byte {
	return slices.Concat(opLoop, slices.Concat(code...), op(0x0c, 0), opEndBlock)
}

// wasi imports one function with so many i32 parameters.
func (g *guest) wasi(name string, params int) *guest {
	return g.importAs(wasiModule, name, strings.Repeat(i32Value, params), i32Value)
}

func hostiles() []hostile {
	return slices.Concat(busyHostiles(), hostHostiles(), greedyHostiles())
}

func loops() *guest { return newGuest().run(forever(), i32(0)) }

// stuckAtStart never ends its initialisation.
func stuckAtStart() *guest {
	g := newGuest()
	return g.export("_initialize", kindFunction, g.fn("", "", 0, forever())).run(i32(0))
}

// callTree calls itself twice, 2^60 times in all; there is no loop, and it is never deep.
func callTree() *guest {
	g := newGuest()
	g.fn(i32Value, "", 0, get(0), op(0x45, 0x04, 0x40), opReturn, opEndBlock,
		get(0), i32(1), op(0x6b), callTo(0), get(0), i32(1), op(0x6b), callTo(0))
	return g.run(i32(60), callTo(0), i32(0))
}

// fillsMemory fills all of its memory again and again.
func fillsMemory() *guest {
	return full().run(forever(i32(0), i32(1), i32(hostileMemory), op(0xfc, 11, 0)), i32(0))
}

// busyHostiles compute without end, in each way that a metering could miss.
func busyHostiles() []hostile {
	leaves := newGuest() // calls a function that costs next to nothing
	leaf := leaves.fn("", "", 0)
	leaves.run(forever(rep(1000, callTo(leaf))), i32(0))
	indirect := newGuest()
	indirect.tables = [][]byte{{typeFuncref, 0, 1}}
	indirect.fn("", "", 0)
	indirect.elements(0)
	indirect.run(forever(rep(1000, opZero, op(0x11), leb(indirect.typ("", "")), op(0))), i32(0))
	skips := newGuest() // the body of the loop is jumped over: what was paid for never runs, or the other way round
	skips.run(opLoop, opBlock, i32(1), op(0x0d, 0), rep(2000, opCount), opEndBlock, rep(2000, opCount), op(0x0c, 0), opEndBlock, i32(0))
	skips.global(0)
	moves := newGuest() // hands a thousand locals around, which costs nothing in the source
	moves.run2(1000, i32(0))
	return []hostile{
		{"loops", loops(), Deadline, "", false},
		{"loops-in-a-large-body", newGuest().global(0).run(forever(rep(20_000, opCount)), i32(0)), Deadline, "", false},
		{"skips-what-it-paid-for", skips, Deadline, "", false},
		{"calls-only-itself", callTree(), Deadline, "", false},
		{"calls-short-functions", leaves, Deadline, "", false},
		{"calls-through-a-table", indirect, Deadline, "", false},
		{"loops-in-initialize", stuckAtStart(), Deadline, "", false},
		{"rotates-locals", moves, Deadline, "", false},
		{"divides", newGuest().run(forever(rep(5000, opGet0, op(0x42, 7, 0x7f, 0x21, 0))), i32(0)), Deadline, "", false},
		{"fills-memory", fillsMemory(), Deadline, "", false},
		{"fills-memory-without-a-loop", full().run(rep(2000, i32(0), i32(1), i32(hostileMemory), op(0xfc, 11, 0)), i32(0)), Deadline, "", false},
		{"copies-memory-upwards", full().run(forever(i32(0), i32(9), i32(hostileMemory-9), op(0xfc, 10, 0, 0)), i32(0)), Deadline, "", false},
		{"copies-memory-downwards", full().run(forever(i32(9), i32(0), i32(hostileMemory-9), op(0xfc, 10, 0, 0)), i32(0)), Deadline, "", false},
		{"grows-by-nothing", newGuest().run(forever(rep(1000, i32(0), opGrow, opDrop)), i32(0)), Deadline, "", false},
		{"misses-every-cache", full().run(forever(missCaches()...), i32(0)), Deadline, "", false},
	}
}

// hostHostiles make the host work.
func hostHostiles() []hostile {
	log := newGuest().imp("toolhost", "log")
	log.run(forever(rep(1000, log.ask("toolhost.log", 0, 1000, 0, 0), opDrop)), i32(0))
	calls := newGuest().imp("records", "get")
	calls.run(forever(calls.ask("records.get", 0, 0, 0, 0), opDrop), i32(0))
	waits := newGuest().imp("records", "list")
	waits.run(waits.ask("records.list", 0, 0, 0, 0), opDrop, i32(0))
	clocks := newGuest().importAs(wasiModule, "clock_time_get", i32Value+i64Value+i32Value, i32Value)
	clocks.run(forever(rep(5000, i32(0), op(0x42, 0), i32(0), callTo(0), opDrop)), i32(0))
	random := full().wasi("random_get", 2)
	random.run(forever(i32(0), i32(hostileMemory), callTo(0), opDrop), i32(0))
	writes := full().wasi("fd_write", 4).bytesAt(0, strings.Repeat("\x00\x00\x00\x00\xff\xff\xff\x00", maxVectors))
	writes.run(forever(i32(1), i32(0), i32(maxVectors), i32(1<<15), callTo(0), opDrop), i32(0))
	reads := newGuest().wasi("fd_read", 4).bytesAt(0, "\x20\x00\x00\x00\x0a\x00\x00\x00")
	reads.run(i32(0), i32(0), i32(1), i32(64), callTo(0), i32(0), opLoad64, op(0x6a))
	polls := newGuest().wasi("poll_oneoff", 4)
	polls.run(forever(i32(0), i32(4096), i32(maxEvents), i32(1<<15), callTo(0), opDrop), i32(0))
	sleeps := newGuest().wasi("poll_oneoff", 4).bytesAt(24, "\xff\xff\xff\xff\xff\xff\xff\x7f")
	sleeps.run(i32(0), i32(64), i32(1), i32(128), callTo(0), opDrop, i32(0))
	huge := full().imp("toolhost", "result")
	huge.run(huge.ask("toolhost.result", 0, hostileMemory, 0, 0), opDrop, i32(0))
	exit := newGuest().importAs(wasiModule, "proc_exit", i32Value, "")
	exit.run(i32(0), callTo(0), i32(0))
	return []hostile{
		{"logs-without-end", log, Deadline, "", false},
		{"calls-the-host-without-end", calls, TooManyHostCalls, "", false},
		{"sits-in-a-host-function", waits, Deadline, "", false},
		{"reads-the-clock-without-end", clocks, Deadline, "", false},
		{"asks-for-random-numbers-without-end", random, Deadline, "", false},
		{"writes-without-end", writes, Deadline, "", false},
		{"reads-its-stdin", reads, 0, "", false},
		{"polls-without-end", polls, Deadline, "", false},
		{"sleeps-for-centuries", sleeps, Deadline, "", false},
		{"gives-a-huge-result", huge, HostError, "a request of 16777216 bytes", false},
		{"exits", exit, Exit, "", false},
	}
}

// greedyHostiles want more than they may have.
func greedyHostiles() []hostile {
	deep := newGuest()
	deep.run(callTo(0))
	wide := newGuest() // two thousand values live across the call
	wide.fn("", i64Value, 0, rep(2000, opZero, op(0x29, 3, 0)), callTo(0), rep(2000, op(0x7c)))
	wide.run(callTo(0), opWrap)
	tables := newGuest()
	tables.tables = [][]byte{{typeFuncref, 0, 1}}
	tables.run(opLoop, op(0xd0, typeFuncref), i32(1000), op(0xfc, 15, 0), i32(-1), op(0x47, 0x0d, 0), opEndBlock, op(0xfc, 16, 0))
	memory := newGuest().run(forever(i32(1), opGrow, opMinusOne, opUnreachable, opEndBlock), i32(0))
	return []hostile{
		{"recurses-without-end", deep, Trap, "stack overflow", false},
		{"recurses-with-large-frames", wide, Trap, "stack overflow", false},
		{"grows-its-table", tables, 0, "", false},
		{"grows-its-memory", memory, OutOfMemory, "", false},
		{"traps", newGuest().run(opUnreachable), Trap, "unreachable", false},
	}
}

// run2 adds a run that rotates so many i64 locals without end.
func (g *guest) run2(locals int, after ...[]byte) {
	rotate := each(locals, func(i int) []byte { return get((i + 1) % locals) })
	rotate = append(rotate, each(locals, func(i int) []byte { return set(locals - 1 - i) })...)
	g.export("run", kindFunction, g.fn("", i32Value, locals, setAll(locals), forever(rotate), slices.Concat(after...)))
}

// missCaches reads all over the memory.
func missCaches() [][]byte {
	return [][]byte{
		opGet0, op(0x42), sleb(6364136223846793005), op(0x7e), op(0x42), sleb(1442695040888963407), op(0x7c), opTee0,
		op(0x42, 40, 0x88), opWrap, i32(hostileMemory - 8), op(0x71, 0x29, 3, 0), opGet0, op(0x7c, 0x21, 0),
	}
}

// elements puts a function into table 0.
func (g *guest) elements(f uint64) {
	g.after = section(9, vector(slices.Concat([]byte{0}, i32(0), []byte{opEnd}, vector(leb(f)))))
}

// hostileFunctions is a host that waits for ever in records.list, and takes results of no size.
type hostileFunctions struct{}

func (f *hostileFunctions) Call(ctx context.Context, module, function string, request []byte) (Status, []byte, error) {
	if function == "list" {
		<-ctx.Done()
		return OK, nil, ctx.Err()
	}
	return OK, nil, nil
}

func (f *hostileFunctions) TooLong(_, _ string, size int64) error {
	return fmt.Errorf("a request of %d bytes", size)
}

func hostileCall() Call {
	return Call{Time: hostileTime, Fuel: math.MaxInt64, HostCalls: 64, LogBytes: 8 << 10, Functions: &hostileFunctions{}}
}

// TestHostile: each guest ends as it must, within its time, and the next call works.
func TestHostile(t *testing.T) {
	well := hostileModule(t, newGuest().run(i32(7)))
	for _, h := range hostiles() {
		t.Run(h.misdeed, func(t *testing.T) {
			m := hostileModule(t, h.guest)
			h.slow = underRace == 1
			var late time.Duration
			for range 3 { // the best of three: the machine may be busy with others
				if late = h.end(t, m); late <= hostileLate {
					break
				}
			}
			if late > hostileLate {
				t.Errorf("it ended %v after its time", late)
			}
			if _, code, err := well.Run(t.Context(), hostileCall()); err != nil || code != 7 {
				t.Errorf("the next call: %d %v", code, err)
			}
		})
	}
}

// end runs a guest once and says how long after its time it ended.
func (h hostile) end(t *testing.T, m *Module) (late time.Duration) {
	t.Helper()
	start := time.Now()
	_, _, err := m.Run(t.Context(), hostileCall())
	late = time.Since(start) - hostileTime
	if s, ok := errors.AsType[*Stop](err); h.slow && late > 0 && ok && s.Reason == Deadline {
		return late
	}
	if h.reason != 0 {
		wantStop(t, err, h.reason, h.part)
	} else if err != nil {
		t.Fatal(err)
	}
	return late
}

func hostileModule(t testing.TB, g *guest) *Module {
	t.Helper()
	m, err := compileWith(t, g.bytes(), hostileMemory)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestHostileSideBySide has 64 callers at once for each guest, while collections are forced. Lateness is
// told, and bounded where the machine allows: nine of ten are in time, on two cores.
func TestHostileSideBySide(t *testing.T) {
	stop := collecting()
	defer stop()
	for _, h := range hostiles() {
		h.slow = true
		t.Run(h.misdeed, func(t *testing.T) {
			m := hostileModule(t, h.guest)
			var lates []time.Duration
			for range 3 { // the best of three, as above
				if lates = h.endTogether(t, m, 64); lates[57] <= hostileLate {
					break
				}
			}
			t.Logf("late: median %v, nine of ten %v, most %v", lates[32], lates[57], lates[63])
			if lates[57] > hostileLate {
				t.Errorf("nine of ten ended within %v of their time, want %v", lates[57], hostileLate)
			}
		})
	}
}

// endTogether runs a guest for so many callers at once, and gives how late each ended, in order.
func (h hostile) endTogether(t *testing.T, m *Module, callers int) []time.Duration {
	t.Helper()
	lates := make([]time.Duration, callers)
	var wg sync.WaitGroup
	for i := range lates {
		wg.Go(func() { lates[i] = h.end(t, m) })
	}
	wg.Wait()
	slices.Sort(lates)
	return lates
}

// collecting forces one collection after the other.
func collecting() (stop func()) {
	ended, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		for {
			select {
			case <-ended:
				return
			default:
				runtime.GC()
			}
		}
	}()
	return func() { close(ended); <-finished }
}

// TestHostileLeavesNothing mixes hostile calls with good ones and looks for what they left behind:
// goroutines, files and memory. Ten thousand calls with TOOLHOST_NIGHTLY=1, some hundreds without.
func TestHostileLeavesNothing(t *testing.T) {
	rounds := 10
	if os.Getenv("TOOLHOST_NIGHTLY") != "" {
		rounds = 330
	}
	e := engineOf(t, Options{Idle: 10 * time.Millisecond}) // what is kept ready is not left behind
	well := openModule(t, e, newGuest().run(i32(7)).bytes(), Limits{Memory: hostileMemory})
	var modules []*Module
	all := hostiles()
	for _, h := range all {
		modules = append(modules, openModule(t, e, h.guest.bytes(), Limits{Memory: hostileMemory}))
	}
	round := func() {
		var wg sync.WaitGroup
		for i, m := range modules {
			wg.Go(func() {
				call := hostileCall()
				call.Time = 5 * time.Millisecond
				_, _, _ = m.Run(t.Context(), call)
				if _, code, err := well.Run(t.Context(), hostileCall()); err != nil || code != 7 {
					t.Errorf("beside %s: %d %v", all[i].misdeed, code, err)
				}
			})
		}
		wg.Wait()
	}
	round()
	before := leftovers(t)
	for range rounds {
		round()
	}
	after := leftovers(t)
	t.Logf("%d hostile calls; before %+v, after %+v", rounds*len(modules), before, after)
	if after.goroutines > before.goroutines || after.files > before.files || after.bytes > before.bytes+1<<20 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

type left struct {
	goroutines, files int
	bytes             uint64
}

func leftovers(t *testing.T) left {
	t.Helper()
	for range 3 {
		time.Sleep(20 * time.Millisecond)
		runtime.GC()
	}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	return left{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}
