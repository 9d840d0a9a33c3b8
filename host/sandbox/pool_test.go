package sandbox

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func engineOf(t testing.TB, o Options) *Engine {
	t.Helper()
	o.Offer = offer()
	e, err := NewEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func openModule(t testing.TB, e *Engine, wasm []byte, limits Limits) *Module {
	t.Helper()
	m, err := e.Compile(context.Background(), wasm, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// asks is a guest that asks the host once.
func asks() []byte {
	g := newGuest().imp("records", "get")
	return g.run(g.ask("records.get", 0, 0, 0, 0), opDrop, i32(0)).bytes()
}

// held answers when it is let go, and counts those that wait.
type held struct {
	waiting atomic.Int64
	most    atomic.Int64
	letGo   chan struct{}
}

func (h *held) Call(ctx context.Context, _, _ string, _ []byte) (Status, []byte, error) {
	h.most.Store(max(h.most.Load(), h.waiting.Add(1)))
	defer h.waiting.Add(-1)
	select {
	case <-h.letGo:
	case <-ctx.Done():
	}
	return OK, nil, nil
}

func (h *held) TooLong(string, string, int64) error { return nil }

func (h *held) until(t *testing.T, waiting int64) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); h.waiting.Load() != waiting; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d guests ask, want %d", h.waiting.Load(), waiting)
		}
	}
}

// state reads what the pool's lock guards.
func (m *Module) state() (all, ready int, counted int64) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return m.all, len(m.ready), m.pool.counted
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestInstancesAreBounded: calls beyond the number of instances wait, and go on as others end.
func TestInstancesAreBounded(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), asks(), Limits{Memory: 1 << 20, Instances: 3})
	h := &held{letGo: make(chan struct{})}
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, _, err := m.Run(context.Background(), bounds(h)); err != nil {
				t.Error(err)
			}
		})
	}
	h.until(t, 3)
	time.Sleep(20 * time.Millisecond)
	close(h.letGo)
	wait.Wait()
	if all, _, _ := m.state(); h.most.Load() != 3 || all > 3 || m.Instances() > 3 {
		t.Errorf("%d guests at once, %d instances, %d made; want 3", h.most.Load(), all, m.Instances())
	}
}

// TestWaitingEndsInTime: waiting for an instance is a part of the call's time, and its caller may go away.
func TestWaitingEndsInTime(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), asks(), Limits{Memory: 1 << 20, Instances: 1})
	h := &held{letGo: make(chan struct{})}
	done := make(chan error)
	go func() { _, _, err := m.Run(context.Background(), bounds(h)); done <- err }()
	h.until(t, 1)
	call := bounds(h)
	call.Time = 30 * time.Millisecond
	usage, _, err := m.Run(t.Context(), call)
	wantStop(t, err, Deadline, "used up")
	if usage.Time < call.Time || usage.Time > time.Second || usage.HostCalls != 0 {
		t.Errorf("%+v", usage)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(30*time.Millisecond, func() { cancel(errors.New("hung up")) })
	_, _, err = m.Run(gone, bounds(h))
	wantStop(t, err, Cancelled, "hung up")
	close(h.letGo)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, _, err := m.Run(t.Context(), bounds(h)); err != nil { // nothing of those that gave up holds it
		t.Error(err)
	}
}

// TestServedInTurn: a module with many calls that wait does not keep another's waiting until they are through.
func TestServedInTurn(t *testing.T) {
	const limit = 1 << 20
	e := engineOf(t, Options{Memory: limit}) // one at a time
	busy, other := openModule(t, e, asks(), Limits{Memory: limit}), openModule(t, e, newGuest().run(i32(3)).bytes(), Limits{Memory: limit})
	h := &held{letGo: make(chan struct{})}
	var through atomic.Int64
	var wait sync.WaitGroup
	for range 30 {
		wait.Go(func() {
			if _, _, err := busy.Run(context.Background(), bounds(h)); err != nil {
				t.Error(err)
			}
			through.Add(1)
		})
	}
	h.until(t, 1)
	eventually(t, "29 wait", func() bool { e.pool.mu.Lock(); defer e.pool.mu.Unlock(); return len(busy.waiters) == 29 })
	before := make(chan int64)
	go func() {
		if _, code, err := other.Run(context.Background(), bounds(&answers{})); err != nil || code != 3 {
			t.Error(code, err)
		}
		before <- through.Load()
	}()
	eventually(t, "the other waits", func() bool { e.pool.mu.Lock(); defer e.pool.mu.Unlock(); return len(other.waiters) == 1 })
	close(h.letGo)
	if n := <-before; n > 5 {
		t.Errorf("%d calls went before it", n)
	}
	wait.Wait()
	if _, _, counted := busy.state(); counted > limit {
		t.Errorf("the instances count with %d bytes of %d", counted, limit)
	}
}

// TestIdleInstancesGiveWay: a module's idle instances are closed for a call of another that needs the memory.
func TestIdleInstancesGiveWay(t *testing.T) {
	const limit = 1 << 20
	e := engineOf(t, Options{Memory: 2 * limit})
	for round := range 3 {
		for n := range 40 {
			m := openModule(t, e, newGuest().run(i32(int64(n))).bytes(), Limits{Memory: limit})
			if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || int(code) != n {
				t.Fatal(round, n, code, err)
			}
		}
	}
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	if e.pool.counted > 2*limit {
		t.Errorf("%d bytes", e.pool.counted)
	}
}

// TestIdleInstancesAreClosed after their time, and a call afterwards makes one of the image.
func TestIdleInstancesAreClosed(t *testing.T) {
	m := openModule(t, engineOf(t, Options{Idle: 20 * time.Millisecond}), newGuest().run(i32(3)).bytes(), Limits{Memory: 1 << 20})
	for range 3 {
		if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || code != 3 {
			t.Fatal(code, err)
		}
		eventually(t, "the instances are closed", func() bool { all, _, counted := m.state(); return all == 0 && counted == 0 })
	}
}

// TestOneIsMadeAhead: when a call has taken the last instance, the next stands ready soon.
func TestOneIsMadeAhead(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), asks(), Limits{Memory: 1 << 20})
	if _, _, err := m.Run(t.Context(), bounds(&answers{})); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is put back", func() bool { _, ready, _ := m.state(); return ready == 1 })
	h := &held{letGo: make(chan struct{})}
	done := make(chan error)
	go func() { _, _, err := m.Run(context.Background(), bounds(h)); done <- err }()
	h.until(t, 1)
	eventually(t, "another is ready", func() bool { all, ready, _ := m.state(); return ready == 1 && all == 2 })
	close(h.letGo)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestEqualModulesShareCode, and closing one leaves the other.
func TestEqualModulesShareCode(t *testing.T) {
	e := engineOf(t, Options{})
	wasm := newGuest().run(i32(3)).bytes()
	a, b := openModule(t, e, wasm, Limits{Memory: 1 << 20}), openModule(t, e, wasm, Limits{Memory: 1 << 20})
	c := openModule(t, e, wasm, Limits{Memory: 1 << 21})
	if a.compiled.Load() != b.compiled.Load() || a.cell != b.cell || a.compiled.Load() != c.compiled.Load() || a.cell == c.cell || len(e.codes) != 1 {
		t.Errorf("%p %p %p, images %p %p %p, %d codes", a.compiled.Load(), b.compiled.Load(), c.compiled.Load(), a.cell, b.cell, c.cell, len(e.codes))
	}
	if _, _, err := a.Run(t.Context(), bounds(&answers{})); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, code, err := b.Run(t.Context(), bounds(&answers{})); err != nil || code != 3 {
		t.Error(code, err)
	}
	if err := errors.Join(b.Close(t.Context()), c.Close(t.Context())); err != nil || len(e.codes) != 0 {
		t.Errorf("%v, %d codes", err, len(e.codes))
	}
}

// TestCloseWhileCallsWait: they are told, and what runs ends first.
func TestCloseWhileCallsWait(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), asks(), Limits{Memory: 1 << 20, Instances: 1})
	h := &held{letGo: make(chan struct{})}
	done := make(chan error, 8)
	for range 8 {
		go func() { _, _, err := m.Run(context.Background(), bounds(h)); done <- err }()
	}
	h.until(t, 1)
	eventually(t, "seven wait", func() bool { m.pool.mu.Lock(); defer m.pool.mu.Unlock(); return len(m.waiters) == 7 })
	closed := make(chan error)
	go func() { closed <- m.Close(context.Background()) }()
	for range 7 {
		if err := <-done; !errors.Is(err, errClosed) {
			t.Errorf("a call that waits is told %v", err)
		}
	}
	close(h.letGo)
	if err := errors.Join(<-done, <-closed); err != nil {
		t.Error(err)
	}
	if all, _, counted := m.state(); all != 0 || counted != 0 {
		t.Errorf("%d instances are left, %d bytes", all, counted)
	}
}

// TestLimitsOfAModule: what can never run does not load.
func TestLimitsOfAModule(t *testing.T) {
	e := engineOf(t, Options{Memory: 1 << 20})
	for _, l := range []Limits{{}, {Memory: 1<<20 + 1}, {Memory: -1}, {Memory: 1 << 20, Instances: -1}, {Memory: pageSize - 1}} {
		if m, err := e.Compile(t.Context(), good().bytes(), l); err == nil {
			t.Errorf("%+v loads", l)
			_ = m.Close(t.Context())
		}
	}
}

// TestCompiledAtFirstUse: a module is read again for it, and nothing but what was validated is compiled.
func TestCompiledAtFirstUse(t *testing.T) {
	e := engineOf(t, Options{})
	wasm, other := newGuest().run(i32(3)).bytes(), newGuest().run(i32(4)).bytes()
	inspected, faults := Read(wasm, offer())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	now, reads := other, 0
	m, err := e.Open(t.Context(), inspected, Limits{Memory: 1 << 20}, func() ([]byte, error) {
		if reads++; reads == 1 {
			return nil, errors.New("the disk is gone")
		}
		return now, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	if reads != 0 || len(e.codes) != 0 {
		t.Errorf("%d reads, %d compiled before it is used", reads, len(e.codes))
	}
	for _, want := range []string{"the disk is gone", "has changed since it was read"} {
		if _, _, err := m.Run(t.Context(), bounds(&answers{})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	now = wasm
	for range 3 {
		if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || code != 3 {
			t.Error(code, err)
		}
	}
	if reads != 3 {
		t.Errorf("%d reads", reads)
	}
}

// TestAhead: an instance is ready before the first call.
func TestAhead(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), newGuest().run(i32(3)).bytes(), Limits{Memory: 1 << 20})
	if err := m.Ahead(t.Context(), bounds(nil)); err != nil {
		t.Fatal(err)
	}
	if _, ready, _ := m.state(); ready != 1 {
		t.Errorf("%d are ready", ready)
	}
	if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || code != 3 || m.Instances() != 1 {
		t.Errorf("%d %v, %d instances", code, err, m.Instances())
	}
	bad := openModule(t, engineOf(t, Options{}), stuckAtStart().bytes(), Limits{Memory: 1 << 20})
	short := bounds(nil)
	short.Time = 10 * time.Millisecond
	wantStop(t, bad.Ahead(t.Context(), short), Deadline, "used up")
}

// TestCancelledWhileItIsCompiled: a caller that goes away meanwhile is told so.
func TestCancelledWhileItIsCompiled(t *testing.T) {
	inspected, _ := Read(good().bytes(), offer())
	started := make(chan struct{}, 2)
	gone, cancel := context.WithCancelCause(t.Context())
	m, err := engineOf(t, Options{}).Open(t.Context(), inspected, Limits{Memory: 1 << 20}, func() ([]byte, error) {
		started <- struct{}{}
		<-gone.Done()
		return good().bytes(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	go func() { <-started; cancel(errors.New("hung up")) }()
	_, _, err = m.Run(gone, bounds(&answers{}))
	wantStop(t, err, Cancelled, "hung up")
	if _, _, err := m.Run(t.Context(), bounds(&answers{})); err != nil {
		t.Error(err)
	}
}
