package sandbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// What an attack of the pool found, and what mutations showed that nothing held.

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
	comesThrough(t, through)
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

// TestAttackIdleCountsWhatItHas: a memory that grew while it was initialised has a quarter more than it shows, which counts too.
func TestAttackIdleCountsWhatItHas(t *testing.T) {
	g := newGuest()
	g.export("_initialize", kindFunction, g.fn("", "", 0, rep(20, i32(10), opGrow, opDrop)))
	wasm := g.run(i32(0)).bytes()
	bothWays(t, func(t *testing.T) { testIdleCounts(t, wasm) })
}

func testIdleCounts(t *testing.T, wasm []byte) {
	m := openModule(t, engineOf(t, Options{}), wasm, Limits{Memory: 32 << 20})
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
		if n := int64(cap(i.memory.bytes)); i.memory.mapped == nil {
			has += n
		} else { // of a mapping only what was touched
			has += int64(len(i.memory.bytes))
		}
	}
	if has == 0 || m.pool.counted != has {
		t.Errorf("they have %d bytes and count with %d", has, m.pool.counted)
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
	comesThrough(t, through)
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

// TestAttackWaitingToInstantiate: who waits because others make instances does so within its own time.
func TestAttackWaitingToInstantiate(t *testing.T) {
	e := engineOf(t, Options{})
	m := openModule(t, e, newGuest().run(i32(3)).bytes(), Limits{Memory: 1 << 20})
	for range cap(e.slots) {
		e.slots <- struct{}{}
	}
	call := bounds(&answers{})
	call.Time = 20 * time.Millisecond
	done := make(chan error, 1)
	go func() { _, _, err := m.Run(context.Background(), call); done <- err }()
	select {
	case err := <-done:
		wantStop(t, err, Deadline, "")
	case <-time.After(2 * time.Second):
		t.Error("it waits for ever")
	}
	for range cap(e.slots) {
		<-e.slots
	}
	if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || code != 3 {
		t.Error(code, err)
	}
}

// comesThrough wants that a call for which there is room ends soon.
func comesThrough(t *testing.T, through <-chan error) {
	t.Helper()
	select {
	case err := <-through:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Second):
		t.Error("there is room, and it waits")
	}
}
