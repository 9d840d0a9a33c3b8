package sandbox

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What an attack of the images, the pool and the lazy compilation found.

// TestAttackAbandonedCompilations: callers that go away while a module is compiled had each left a compilation that went on by
// itself, with all its memory, and the next caller began one more; one that never waited long enough never had it compiled.
func TestAttackAbandonedCompilations(t *testing.T) {
	wasm := newGuest().run(i32(3)).bytes()
	inspected, _ := Read(wasm, offer())
	var reads atomic.Int64
	goOn := make(chan struct{})
	e := engineOf(t, Options{})
	m, err := e.Open(t.Context(), inspected, Limits{Memory: 1 << 20}, func() ([]byte, error) {
		reads.Add(1)
		<-goOn
		return wasm, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, _, err := m.Run(ctx, bounds(&answers{})); err == nil {
			t.Error("it ran")
		}
		cancel()
	}
	if n := reads.Load(); n > 1 {
		t.Errorf("%d compilations side by side", n)
	}
	time.AfterFunc(10*time.Millisecond, func() { close(goOn) })
	if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || code != 3 {
		t.Error(code, err)
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("%d compilations for one module", n)
	}
	if err := m.Close(t.Context()); err != nil || e.codesLeft() != 0 {
		t.Errorf("%v, %d codes are left", err, e.codesLeft())
	}
}

// TestAttackAbandonedCompilationIsFreed: one that nobody waits for any more, and nobody asks for again.
func TestAttackAbandonedCompilationIsFreed(t *testing.T) {
	wasm := newGuest().run(i32(3)).bytes()
	inspected, _ := Read(wasm, offer())
	goOn := make(chan struct{})
	e := engineOf(t, Options{})
	m, err := e.Open(t.Context(), inspected, Limits{Memory: 1 << 20}, func() ([]byte, error) { <-goOn; return wasm, nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := m.Prepare(ctx); err == nil {
		t.Error("it is compiled")
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	close(goOn)
	eventually(t, "the code is freed", func() bool { return e.codesLeft() == 0 })
}

// TestAttackCompileAfterTheEnd: whose context has ended begins nothing. A host that was closed while it prepared thirty tools
// had begun to compile half of those that were left.
func TestAttackCompileAfterTheEnd(t *testing.T) {
	wasm := newGuest().run(i32(3)).bytes()
	inspected, _ := Read(wasm, offer())
	var reads atomic.Int64
	m, err := engineOf(t, Options{}).Open(t.Context(), inspected, Limits{Memory: 1 << 20}, func() ([]byte, error) { reads.Add(1); return wasm, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	for range 20 {
		if err := m.Prepare(ctx); err == nil || err.Error() != "gone" {
			t.Error(err)
		}
	}
	time.Sleep(5 * time.Millisecond)
	if n := reads.Load(); n != 0 {
		t.Errorf("%d compilations were begun", n)
	}
}

func (e *Engine) codesLeft() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.codes)
}

// TestAttackNumberOfAnotherCall: what run returned in one call came back beside the error of the next that did not return.
func TestAttackNumberOfAnotherCall(t *testing.T) {
	g := newGuest().imp("records", "get")
	g.run(g.ask("records.get", 0, 0, 0, 0), opHigh, op(0x04, 0x40), opUnreachable, opEndBlock, i32(7))
	m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20, Instances: 1})
	if _, code, err := m.Run(t.Context(), bounds(saying(OK, ""))); err != nil || code != 7 {
		t.Fatal(code, err)
	}
	_, code, err := m.Run(t.Context(), bounds(saying(Denied, "")))
	wantStop(t, err, Trap, "unreachable")
	if code != 0 {
		t.Errorf("a call that trapped returned %d, as the one before did", code)
	}
}

// TestAttackOutputOfInitialisation is S10: what a guest says while it is initialised counts with what it says in the call.
func TestAttackOutputOfInitialisation(t *testing.T) {
	g := newGuest().imp("toolhost", "log").importAs(wasiModule, "fd_write", strings.Repeat(i32Value, 4), i32Value)
	g.bytesAt(0, "\x10\x00\x00\x00\x64\x00\x00\x00") // 100 bytes at 16
	says := slices.Concat(i32(1), i32(0), i32(1), i32(512), callTo(1), opDrop)
	logs := slices.Concat(g.ask("toolhost.log", 16, 100, 0, 0), opDrop)
	for _, c := range []struct {
		name       string
		init, call []byte
		most       int
	}{
		{"written-then-logged", rep(9, says), rep(9, logs), 0},
		{"logged-then-written", rep(9, logs), rep(9, says), 0},
		{"written-twice", rep(9, says), rep(9, says), 0},
	} {
		g := *g
		g.exports, g.functions, g.bodies, g.types = slices.Clone(g.exports), nil, nil, slices.Clone(g.types)
		(&g).export("_initialize", kindFunction, (&g).fn("", "", 0, c.init))
		m := openModule(t, engineOf(t, Options{}), (&g).run(c.call, i32(0)).bytes(), Limits{Memory: 1 << 20})
		for range 2 {
			var said bytes.Buffer
			logged := 0
			call := bounds(&answers{f: func(_ context.Context, _, _ string, request []byte) (Status, []byte, error) {
				logged += len(request)
				return OK, nil, nil
			}})
			call.Output = &said
			if _, _, err := m.Run(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			notice := strings.Count(said.String(), "[the guest said more")
			if n := said.Len() + logged - notice*70; n > call.LogBytes+20 || notice > 1 {
				t.Errorf("%s: %d bytes of %d, and %d notices", c.name, n, call.LogBytes, notice)
			}
		}
	}
}

// TestAttackImageOfOneCallsRandom: the image is for every call, so it is not made of the random numbers and the clock of one.
func TestAttackImageOfOneCallsRandom(t *testing.T) {
	g := newGuest().importAs(wasiModule, "random_get", i32Value+i32Value, i32Value).
		importAs(wasiModule, "clock_time_get", i32Value+i64Value+i32Value, i32Value)
	g.export("_initialize", kindFunction, g.fn("", "", 0, i32(16), i32(4), callTo(0), opDrop, i32(0), op(0x42, 0), i32(24), callTo(1), opDrop))
	g.run(i32(16), op(0x28, 2, 0), i32(24), op(0x28, 2, 0), op(0x6a))
	images := map[int32]bool{}
	for range 3 {
		m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20})
		call := bounds(&answers{})
		call.Random = rand.NewChaCha8([32]byte{})
		call.Clock = func(bool) uint64 { return 7 }
		_, code, err := m.Run(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		images[code] = true
	}
	if len(images) == 1 {
		t.Error("who makes the first call chooses what all later calls have drawn")
	}
}

// TestAttackCloseLetsOthersOn: a module at the head of the queue kept those behind it waiting after it was closed, until one of
// its own calls ended.
func TestAttackCloseLetsOthersOn(t *testing.T) {
	const mb = 1 << 20
	e := engineOf(t, Options{Memory: 10 * mb})
	large, small := openModule(t, e, asks(), Limits{Memory: 6 * mb}), openModule(t, e, newGuest().run(i32(3)).bytes(), Limits{Memory: 2 * mb})
	h := &held{letGo: make(chan struct{})}
	done := make(chan error, 2)
	go func() { _, _, err := large.Run(context.Background(), bounds(h)); done <- err }()
	h.until(t, 1)
	go func() { _, _, err := large.Run(context.Background(), bounds(h)); done <- err }()
	waits := func(m *Module) func() bool {
		return func() bool { e.pool.mu.Lock(); defer e.pool.mu.Unlock(); return len(m.waiters) == 1 }
	}
	eventually(t, "the large one waits for memory", waits(large))
	through := make(chan error, 1)
	go func() { _, _, err := small.Run(context.Background(), bounds(&answers{})); through <- err }()
	eventually(t, "the small one waits behind it", waits(small))
	closed := make(chan error)
	go func() { closed <- large.Close(context.Background()) }()
	if err := <-done; !errors.Is(err, errClosed) {
		t.Error(err)
	}
	select {
	case err := <-through:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Second):
		t.Error("there is room, and it waits")
	}
	close(h.letGo)
	if err := errors.Join(<-done, <-closed); err != nil {
		t.Error(err)
	}
}

// TestAttackCloseWaitsForAFill: closing a module had waited as long as a call may take for an instance that was being made
// ahead and that nobody would get.
func TestAttackCloseWaitsForAFill(t *testing.T) {
	turns := time.Now().Add(300 * time.Millisecond)
	g := newGuest().importAs(wasiModule, "clock_time_get", i32Value+i64Value+i32Value, i32Value)
	g.tables = [][]byte{{typeFuncref, 0, 1}}
	g.export("_initialize", kindFunction, g.fn("", "", 0, // from then on it never ends
		i32(0), op(0x42, 0), i32(64), callTo(0), opDrop,
		i32(0), op(0x29, 3, 0x40), op(0x42), sleb(turns.UnixNano()), op(0x55, 0x04, 0x40), forever(), opEndBlock))
	g.run(i32(0), op(0xd0, typeFuncref), op(0x26, 0), i32(0)) // it sets a table: each call has a new instance
	m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20})
	call := bounds(&answers{})
	call.Fuel = 1 << 62
	for range 2 {
		if _, _, err := m.Run(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "one is ready", func() bool { _, ready, _ := m.state(); return ready == 1 })
	time.Sleep(time.Until(turns))
	if _, _, err := m.Run(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := m.Close(t.Context()); err != nil || time.Since(start) > time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// TestAttackRefusalOfAnotherCall: that one call was refused memory says nothing of how the next ends; that the module was
// refused some while it was initialised is so in every call.
func TestAttackRefusalOfAnotherCall(t *testing.T) {
	more := slices.Concat(i32(1000), opGrow, opDrop)
	g := newGuest().imp("records", "get")
	g.run(g.ask("records.get", 0, 0, 0, 0), opHigh, op(0x04, 0x40), opUnreachable, opEndBlock, more, i32(0))
	m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20, Instances: 1})
	if _, _, err := m.Run(t.Context(), bounds(saying(OK, ""))); err != nil {
		t.Fatal(err)
	}
	_, _, err := m.Run(t.Context(), bounds(saying(Denied, "")))
	wantStop(t, err, Trap, "unreachable")
	starts := newGuest()
	starts.export("_initialize", kindFunction, starts.fn("", "", 0, more))
	m = openModule(t, engineOf(t, Options{}), starts.run(i32(5)).bytes(), Limits{Memory: 1 << 20, Instances: 1})
	for range 3 {
		_, code, err := m.Run(t.Context(), bounds(&answers{}))
		wantStop(t, err, OutOfMemory, "run returned 5")
		if code != 5 {
			t.Error(code)
		}
	}
	if n := m.Instances(); n != 1 {
		t.Errorf("%d instances", n)
	}
}

// TestAttackIdleCountsWhatItHas: a memory that grew while it was initialised has a quarter more than it shows, which counts too.
func TestAttackIdleCountsWhatItHas(t *testing.T) {
	g := newGuest()
	g.export("_initialize", kindFunction, g.fn("", "", 0, rep(20, i32(10), opGrow, opDrop)))
	m := openModule(t, engineOf(t, Options{}), g.run(i32(0)).bytes(), Limits{Memory: 32 << 20})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, _, err := m.Run(context.Background(), bounds(&answers{})); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	eventually(t, "all are put back", func() bool { all, ready, _ := m.state(); return ready == all })
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	has := int64(0)
	for _, i := range m.ready {
		has += int64(cap(i.memory.bytes))
	}
	if has == 0 || m.pool.counted != has {
		t.Errorf("they have %d bytes and count with %d", has, m.pool.counted)
	}
}

// TestAttackRenewalOfSegments: the two instructions that TestRenewal leaves out.
func TestAttackRenewalOfSegments(t *testing.T) {
	for name, code := range map[string][]byte{
		"table.init": slices.Concat(i32(0), i32(0), i32(0), op(0xfc, 12, 0, 0)),
		"elem.drop":  op(0xfc, 13, 0),
	} {
		g := newGuest()
		g.tables = [][]byte{{typeFuncref, 0, 4}}
		f := g.fn("", "", 0)
		g.after = section(9, vector(slices.Concat([]byte{1, 0}, vector(leb(f))))) // passive
		manifest, faults := Inspect(g.run(code, i32(0)).bytes(), offer())
		if len(faults) > 0 || len(manifest.Renewal) != 1 || !strings.HasPrefix(manifest.Renewal[0], "it uses "+name) {
			t.Errorf("%s: %q, %v", name, manifest.Renewal, faults)
		}
	}
}

// TestAttackBadEndsAreClosed is S4: whatever ends a call other than that run returns, its instance goes with it, and so does one that grew.
// Putting them back would do for all that is known of; this is for what is not.
func TestAttackBadEndsAreClosed(t *testing.T) {
	exit := newGuest().importAs(wasiModule, "proc_exit", i32Value, "")
	recurses := newGuest()
	recurses.fn("", "", 0, callTo(0))
	for name, g := range map[string]*guest{
		"trap":             newGuest().run(opUnreachable),
		"exit":             exit.run(i32(0), callTo(0), i32(0)),
		"out-of-fuel":      newGuest().run(forever(), i32(0)),
		"stack-overflow":   recurses.run(callTo(0), i32(0)),
		"host-error":       asking(1),
		"too-many-calls":   asking(9),
		"grows-by-one":     newGuest().run(i32(1), opGrow, opDrop, i32(0)),
		"well":             asking(2),
		"grows-by-nothing": newGuest().run(i32(0), opGrow, opDrop, i32(0)),
		"another-number":   newGuest().run(i32(5)),
		"refused-memory":   newGuest().run(i32(1000), opGrow, opDrop, i32(0)),
	} {
		m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20, Instances: 1})
		for range 4 {
			call := bounds(&answers{f: func(_ context.Context, _, _ string, _ []byte) (Status, []byte, error) {
				if name == "host-error" {
					panic("of the host")
				}
				return OK, nil, nil
			}})
			call.Fuel = 5_000_000
			_, _, _ = m.Run(t.Context(), call)
		}
		want := uint64(4)
		switch name {
		case "well", "grows-by-nothing", "another-number", "refused-memory":
			want = 1
		}
		if n := m.Instances(); n != want {
			t.Errorf("%s: %d instances for four calls, want %d", name, n, want)
		}
	}
}

// asking asks the host so many times.
func asking(n int) *guest {
	g := newGuest().imp("records", "get")
	return g.run(rep(n, g.ask("records.get", 0, 0, 0, 0), opDrop), i32(0))
}

// TestAttackStackInTwoSteps is S16: both together are the bound, and there is no third.
func TestAttackStackInTwoSteps(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), newGuest().run(i32(0)).bytes(), Limits{Memory: 1 << 20})
	for range 2 { // a call after one that was deep begins again
		c := m.newCall(t.Context(), bounds(&answers{}), now())
		i, err := m.take(c)
		if err != nil {
			t.Fatal(err)
		}
		i.begin(c)
		if first := int64(i.stack.Get()); first != shallowStack {
			t.Errorf("%d bytes of stack at first", first)
		}
		c.deeper(-10)
		if rest := int64(i.stack.Get()); shallowStack+10+rest != stackBytes {
			t.Errorf("%d bytes in all, want %d", shallowStack+10+rest, stackBytes)
		}
		func() {
			defer func() {
				if s, ok := recover().(*Stop); !ok || s.Reason != Trap {
					t.Errorf("a third step ends with %v", s)
				}
			}()
			c.deeper(-1)
		}()
		i.end(c)
		m.pool.give(m, i, true)
	}
}

// TestAttackCloseGivesBackWhatIsIdle: a closed module whose last call takes long kept its idle instances, and their memory, until
// that ended.
func TestAttackCloseGivesBackWhatIsIdle(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), asks(), Limits{Memory: 1 << 20})
	first := &held{letGo: make(chan struct{})}
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() { _, _, _ = m.Run(context.Background(), bounds(first)) })
	}
	first.until(t, 6)
	close(first.letGo)
	wait.Wait()
	h := &held{letGo: make(chan struct{})}
	done := make(chan error, 2)
	go func() { _, _, err := m.Run(context.Background(), bounds(h)); done <- err }()
	h.until(t, 1)
	go func() { done <- m.Close(context.Background()) }()
	eventually(t, "only what a call holds is there", func() bool { all, _, counted := m.state(); return all == 1 && counted == 1<<20 })
	close(h.letGo)
	if err := errors.Join(<-done, <-done); err != nil {
		t.Error(err)
	}
}

// TestAttackLargeImage: what grew beyond the bound of an image while it was initialised is made anew for each call.
func TestAttackLargeImage(t *testing.T) {
	g := newGuest()
	g.export("_initialize", kindFunction, g.fn("", "", 0, i32(largestImage/pageSize), opGrow, opDrop, i32(8), i32(9), op(0x36, 2, 0)))
	m := openModule(t, engineOf(t, Options{}), g.run(i32(8), op(0x28, 2, 0), i32(8), i32(1), op(0x36, 2, 0)).bytes(), Limits{Memory: 2 * largestImage, Instances: 1})
	for range 3 {
		if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || code != 9 {
			t.Error(code, err)
		}
	}
	if n := m.Instances(); n != 3 || m.image() != nil {
		t.Errorf("%d instances for three calls, an image %v", n, m.image() != nil)
	}
}

// TestAttackGoneLetsOthersOn: a call that waited for memory and went away kept nobody waiting.
func TestAttackGoneLetsOthersOn(t *testing.T) {
	const mb = 1 << 20
	e := engineOf(t, Options{Memory: 10 * mb})
	large, small := openModule(t, e, asks(), Limits{Memory: 6 * mb}), openModule(t, e, newGuest().run(i32(3)).bytes(), Limits{Memory: 2 * mb})
	h := &held{letGo: make(chan struct{})}
	done, gone, through := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { _, _, err := large.Run(context.Background(), bounds(h)); done <- err }()
	h.until(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _, err := large.Run(ctx, bounds(h)); gone <- err }()
	waits := func(m *Module) func() bool {
		return func() bool { e.pool.mu.Lock(); defer e.pool.mu.Unlock(); return len(m.waiters) == 1 }
	}
	eventually(t, "the large one waits for memory", waits(large))
	go func() { _, _, err := small.Run(context.Background(), bounds(&answers{})); through <- err }()
	eventually(t, "the small one waits behind it", waits(small))
	cancel()
	wantStop(t, <-gone, Cancelled, "")
	select {
	case err := <-through:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Second):
		t.Error("there is room, and it waits")
	}
	close(h.letGo)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestAttackUsedAgainCountsWhole: an instance that a call has counts with all that it may come to have, also where it is not new.
func TestAttackUsedAgainCountsWhole(t *testing.T) {
	const limit = 1 << 20
	m := openModule(t, engineOf(t, Options{}), asks(), Limits{Memory: limit, Instances: 1})
	for range 3 {
		h := &held{letGo: make(chan struct{})}
		done := make(chan error, 1)
		go func() { _, _, err := m.Run(context.Background(), bounds(h)); done <- err }()
		h.until(t, 1)
		if _, _, counted := m.state(); counted != limit {
			t.Errorf("%d bytes in a call", counted)
		}
		close(h.letGo)
		if err := <-done; err != nil {
			t.Error(err)
		}
		eventually(t, "it counts with what it has", func() bool { _, ready, counted := m.state(); return ready == 1 && counted == pageSize })
	}
}

// TestAttackWaitingForAnImage: who waits while another call makes the image does so within its own time.
func TestAttackWaitingForAnImage(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), stuckAtStart().bytes(), Limits{Memory: 1 << 20})
	long, short := bounds(&answers{}), bounds(&answers{})
	long.Time, long.Fuel, short.Time = 2*time.Second, 1<<62, 20*time.Millisecond
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _, err := m.Run(ctx, long); done <- err }()
	eventually(t, "it is initialised", func() bool { return m.Instances() == 1 && len(m.cell.turn) == 1 })
	usage, _, err := m.Run(t.Context(), short)
	wantStop(t, err, Deadline, "")
	if usage.Time > time.Second {
		t.Errorf("it waited for %v", usage.Time)
	}
	cancel()
	wantStop(t, <-done, Cancelled, "")
}
