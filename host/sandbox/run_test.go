package sandbox

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// answers is a Functions made of one function; it counts its calls.
type answers struct {
	mu    sync.Mutex
	calls []string
	f     func(ctx context.Context, module, function string, request []byte) (Status, []byte, error)
}

func (a *answers) TooLong(string, string, int64) error { return nil }

func (a *answers) Call(ctx context.Context, module, function string, request []byte) (Status, []byte, error) {
	a.mu.Lock()
	a.calls = append(a.calls, module+"."+function+" "+string(request))
	a.mu.Unlock()
	if a.f == nil {
		return OK, nil, nil
	}
	return a.f(ctx, module, function, request)
}

// saying answers everything alike.
func saying(s Status, response string) *answers {
	return &answers{f: func(context.Context, string, string, []byte) (Status, []byte, error) { return s, []byte(response), nil }}
}

func bounds(f Functions) Call {
	return Call{Time: 5 * time.Second, Fuel: 10_000_000_000, HostCalls: 8, LogBytes: 1000, Functions: f}
}

func compiled(t testing.TB, g *guest) *Module {
	t.Helper()
	m, err := compileWith(t, g.bytes(), 4*pageSize)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantStop checks the reason and a part of the text, and that no stack is in it.
func wantStop(t *testing.T, err error, reason Reason, part string) {
	t.Helper()
	var s *Stop
	if !errors.As(err, &s) || s.Reason != reason || !strings.Contains(err.Error(), part) {
		t.Fatalf("%v, want %v with %q", err, reason, part)
	}
	if strings.Contains(err.Error(), "\n") || len(err.Error()) > maxStopText+40 {
		t.Errorf("more than a line: %q", err)
	}
}

func TestRunReturnsWhatRunReturned(t *testing.T) {
	m := compiled(t, newGuest().run(i32(-7)))
	usage, code, err := m.Run(t.Context(), bounds(&answers{}))
	if err != nil || code != -7 || usage.MemoryBytes != pageSize || usage.Time <= 0 {
		t.Errorf("%+v %d %v", usage, code, err)
	}
}

// TestExampleOfTheDocs is the guest of docs/abi.md, instruction for instruction.
func TestExampleOfTheDocs(t *testing.T) {
	g := newGuest().imp("toolhost", "arguments", "result")
	g.memory = vector([]byte{0, 2})
	g.run(
		g.ask("toolhost.arguments", 0, 0, 1024, 65536), opSet0,
		opGet0, op(0x42, 32, 0x88, 0x42, 0, 0x52, 0x04, 0x40), i32(1), opReturn, opEndBlock, // i64.shr_u 32, i64.ne 0, if
		i32(1024), opGet0, opWrap, i32(0), i32(0), callTo(1), opHigh)
	f := &answers{f: func(_ context.Context, _, function string, _ []byte) (Status, []byte, error) {
		if function == "arguments" {
			return OK, []byte(`{"text":"hello"}`), nil
		}
		return OK, nil, nil
	}}
	_, code, err := compiled(t, g).Run(t.Context(), bounds(f))
	if want := `toolhost.result {"text":"hello"}`; err != nil || code != 0 || len(f.calls) != 2 || f.calls[1] != want {
		t.Errorf("%d %v, asked %q", code, err, f.calls)
	}
}

// TestRunEndsGuests: one case for each way in which a guest ends (S5, S6, S8, S9).
func TestRunEndsGuests(t *testing.T) {
	one := func(name string) *guest { module, f, _ := strings.Cut(name, "."); return newGuest().imp(module, f) }
	asking := func(q, qLen, r, rCap int64) *guest {
		g := one("records.get")
		return g.run(g.ask("records.get", q, qLen, r, rCap), opDrop, i32(0))
	}
	exit := func() *guest { return newGuest().importAs(wasiModule, "proc_exit", i32Value, "") }
	grown := func(then ...[]byte) *guest {
		return newGuest().run(i32(100), opGrow, opMinusOne, slices.Concat(then...), opEndBlock, i32(0))
	}
	initialized := func(g *guest, code ...[]byte) *guest {
		return g.export("_initialize", kindFunction, g.fn("", "", 0, code...)).run(i32(0))
	}
	cases := []struct {
		rule   string
		guest  *guest
		f      *answers
		reason Reason
		part   string
	}{
		{"unreachable-traps", newGuest().run(opUnreachable), nil, Trap, "unreachable"},
		{"stack-overflow-traps", newGuest().run(callTo(0)), nil, Trap, "stack overflow"},
		{"data-outside-traps", newGuest().bytesAt(pageSize-1, "xy").run(i32(0)), nil, Trap, "out of bounds"},
		{"initialize-traps", initialized(newGuest(), opUnreachable), nil, Trap, "unreachable"},
		{"exit-0-is-no-success", exit().run(i32(0), callTo(0), i32(0)), nil, Exit, "code 0"},
		{"exit-3", exit().run(i32(3), callTo(0), i32(0)), nil, Exit, "code 3"},
		{"exit-in-initialize", initialized(exit(), i32(0), callTo(0)), nil, Exit, "code 0"},
		{"exit-cannot-look-like-a-deadline", exit().run(i32(0xefffffff), callTo(0), i32(0)), nil, Exit, "4026531839"},
		{"request-pointer-outside", asking(-1, 1, 0, 0), nil, Trap, "records.get: the request of 1 bytes at 4294967295 is outside"},
		{"request-sum-overflows", asking(-1, -1, 0, 0), nil, Trap, "records.get: the request"},
		{"request-length-outside", asking(0, -1, 0, 0), nil, Trap, "records.get: the request"},
		{"request-one-too-far", asking(pageSize-3, 4, 0, 0), nil, Trap, "records.get: the request"},
		{"response-pointer-outside", asking(0, 0, -1, 16), nil, Trap, "records.get: the response buffer"},
		{"response-sum-overflows", asking(0, 0, -1, -1), nil, Trap, "records.get: the response buffer"},
		{"response-length-outside", asking(0, 0, 16, -1), nil, Trap, "records.get: the response buffer"},
		{"response-one-too-far", asking(0, 0, pageSize-3, 4), nil, Trap, "records.get: the response buffer"},
		{"refused-growth-then-trap", grown(opUnreachable), nil, OutOfMemory, "then: wasm error: unreachable"},
		{"refused-growth-then-code", grown(i32(1), opReturn), nil, OutOfMemory, "run returned 1"},
		{"host-error", asking(0, 0, 0, 0), &answers{f: func(context.Context, string, string, []byte) (Status, []byte, error) {
			return OK, nil, errors.New("the disk is gone\nstack")
		}}, HostError, "records.get: the disk is gone"},
		{"host-panic", asking(0, 0, 0, 0), &answers{f: func(context.Context, string, string, []byte) (Status, []byte, error) {
			panic("a bug\ngoroutine 1")
		}}, HostError, "records.get: panic: a bug"},
		{"host-answers-short", asking(0, 0, 0, 0), saying(Short, ""), HostError, "status 1"},
		{"host-answers-nonsense", asking(0, 0, 0, 0), saying(9, ""), HostError, "status 9"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			f := c.f
			if f == nil {
				f = &answers{}
			}
			_, _, err := compiled(t, c.guest).Run(t.Context(), bounds(f))
			wantStop(t, err, c.reason, c.part)
			if c.f == nil && len(f.calls) > 0 {
				t.Errorf("the host was asked: %v", f.calls)
			}
		})
	}
}

func TestHostErrorIsFoundAgain(t *testing.T) {
	mine := errors.New("mine")
	g := newGuest().imp("records", "get")
	g.run(g.ask("records.get", 0, 0, 0, 0), opDrop, i32(0))
	_, _, err := compiled(t, g).Run(t.Context(), bounds(&answers{f: func(context.Context, string, string, []byte) (Status, []byte, error) {
		return OK, nil, mine
	}}))
	if !errors.Is(err, mine) {
		t.Errorf("%v does not wrap what Functions returned", err)
	}
}

func TestRefusedGrowthAloneIsNoFailure(t *testing.T) {
	m := compiled(t, newGuest().run(i32(100), opGrow, opDrop, i32(3), opGrow, opDrop, i32(0)))
	usage, code, err := m.Run(t.Context(), bounds(&answers{}))
	if err != nil || code != 0 || usage.MemoryBytes != 4*pageSize {
		t.Errorf("%+v %d %v", usage, code, err)
	}
}

func TestInitialMemoryOverTheLimitIsRefused(t *testing.T) {
	g := newGuest().run(i32(0))
	g.memory = vector([]byte{0, 5})
	if _, err := compileWith(t, g.bytes(), 4*pageSize); err == nil || !strings.Contains(err.Error(), "starts with 5 pages") {
		t.Error(err)
	}
	if _, err := compileWith(t, good().bytes(), 0); err == nil {
		t.Error("a limit of 0 compiles")
	}
}

// TestDeadline: S5 and S12.
func TestDeadline(t *testing.T) {
	poll := func() *guest {
		g := newGuest().importAs(wasiModule, "poll_oneoff", strings.Repeat(i32Value, 4), i32Value)
		ten := make([]byte, 48) // a subscription: relative clock, ten seconds
		copy(ten[24:], []byte{0, 0xe4, 0x0b, 0x54, 2})
		return g.bytesAt(0, string(ten))
	}
	slow := newGuest().imp("records", "get")
	slow.run(slow.ask("records.get", 0, 0, 0, 0), opDrop, i32(0))
	cases := []struct {
		rule  string
		guest *guest
	}{
		{"loop", loops()},
		{"loop-in-initialize", stuckAtStart()},
		{"sleep", poll().run(i32(0), i32(64), i32(1), i32(128), callTo(0), opDrop, i32(0))},
		{"host-function-that-waits", slow},
	}
	wait := &answers{f: func(ctx context.Context, _, _ string, _ []byte) (Status, []byte, error) {
		<-ctx.Done()
		return OK, nil, ctx.Err()
	}}
	for _, c := range cases {
		m := compiled(t, c.guest)
		for reason, ctx := range map[Reason]func() (context.Context, context.CancelFunc){
			Deadline: func() (context.Context, context.CancelFunc) { return t.Context(), func() {} },
			Cancelled: func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(t.Context(), 50*time.Millisecond)
			},
		} {
			t.Run(c.rule+"-"+reason.String(), func(t *testing.T) {
				parent, cancel := ctx()
				defer cancel()
				call := bounds(wait)
				call.Time, call.Fuel = 200*time.Millisecond, math.MaxInt64
				start := time.Now()
				_, _, err := m.Run(parent, call)
				wantStop(t, err, reason, "")
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

func TestZeroCallRunsNothing(t *testing.T) {
	m := compiled(t, good())
	if _, _, err := m.Run(t.Context(), Call{}); err == nil {
		t.Error("a call without Functions runs")
	}
	_, _, err := m.Run(t.Context(), Call{Functions: &answers{}})
	wantStop(t, err, Deadline, "used up")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = m.Run(gone, bounds(&answers{}))
	wantStop(t, err, Cancelled, "")
	if n := m.Instances(); n != 0 {
		t.Errorf("%d instances were made", n)
	}
	if s := (&Stop{}).Error(); !strings.Contains(s, "unknown") {
		t.Errorf("the zero Stop reads as %q", s)
	}
}

func TestClosedModuleDoesNotRun(t *testing.T) {
	m := compiled(t, good())
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Run(t.Context(), bounds(&answers{})); err == nil {
		t.Error("a closed module runs")
	}
}

// TestWASIHoles: what wazero's WASI would do badly ends the guest, and no more.
func TestWASIHoles(t *testing.T) {
	g := newGuest().importAs(wasiModule, "poll_oneoff", strings.Repeat(i32Value, 4), i32Value)
	count := int64(math.MaxUint32/48) + 1 // times 48 overflows 32 bits
	g.run(i32(0), i32(64), i32(count), i32(128), callTo(0), opDrop, i32(0))
	if _, _, err := compiled(t, g).Run(t.Context(), bounds(&answers{})); err != nil {
		wantStop(t, err, Trap, "")
	}
	for _, name := range []string{"args_sizes_get", "environ_sizes_get"} {
		g := newGuest().importAs(wasiModule, name, i32Value+i32Value, i32Value)
		g.run(i32(64), i32(128), callTo(0), opDrop, i32(0), opLoad64)
		_, code, err := compiled(t, g).Run(t.Context(), bounds(&answers{}))
		if want := map[string]int32{"args_sizes_get": 0, "environ_sizes_get": 1}[name]; err != nil || code != want {
			t.Errorf("%s: %d %v", name, code, err)
		}
	}
}

func TestCacheFolder(t *testing.T) {
	dir := t.TempDir() // mode 0777 &^ umask
	open := filepath.Join(dir, "open")
	own := filepath.Join(dir, "own")
	mustMkdir(t, open, 0o755)
	if e, err := NewEngine(Options{CacheDir: open}); err == nil || e == nil || e.cacheDir != "" {
		t.Errorf("a folder that others may read is used: %v %v", e, err)
	}
	if runs := cacheRuns(t, own); runs != 2 {
		t.Errorf("%d of 2 engines ran with the cache", runs)
	}
	spoil(t, own)
	if runs := cacheRuns(t, own); runs != 2 {
		t.Errorf("%d of 2 engines ran with a damaged cache", runs)
	}
}
