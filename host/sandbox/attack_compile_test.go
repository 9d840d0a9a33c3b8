package sandbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What an attack of compiling at first use found.

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
	e.mu.Lock()
	c := e.codes[m.source.digest]
	e.mu.Unlock()
	close(goOn)
	eventually(t, "the code is off the list", func() bool { return e.codesLeft() == 0 })
	<-c.done
	eventually(t, "the code is freed", func() bool { _, err := c.code.runtime.CompileModule(t.Context(), wasm); return err != nil })
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

// TestAttackManyCompilations: tools that are compiled at their first use had been compiled all at once, a gigabyte each at worst; and
// those whose turn comes when their caller has gone are not begun.
func TestAttackManyCompilations(t *testing.T) {
	e := engineOf(t, Options{})
	var at, most, reads atomic.Int64
	goOn := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for n := range 20 {
		wasm := newGuest().run(i32(int64(n))).bytes()
		inspected, _ := Read(wasm, offer())
		m, err := e.Open(t.Context(), inspected, Limits{Memory: 1 << 20}, func() ([]byte, error) {
			reads.Add(1)
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			<-goOn
			return wasm, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close(context.Background()) })
		wait.Go(func() {
			if n < 10 {
				_ = m.Prepare(ctx)
			} else if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || code != int32(n) {
				t.Error(code, err)
			}
		})
	}
	eventually(t, "all are asked for", func() bool { return e.codesLeft() == 20 && int(at.Load()) == cap(e.compiling) })
	cancel()
	eventually(t, "half of them are not wanted any more", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		wanted := 0
		for _, c := range e.codes {
			wanted += c.users
		}
		return wanted == 10
	})
	close(goOn)
	wait.Wait()
	eventually(t, "what is not wanted is gone", func() bool { return e.codesLeft() == 10 })
	if int(most.Load()) > cap(e.compiling) || int(reads.Load()) > 10+cap(e.compiling) {
		t.Errorf("%d at once, %d in all", most.Load(), reads.Load())
	}
}

// TestAttackUseAfterClose: nothing is compiled or made of a module that was closed before its first use, or after.
func TestAttackUseAfterClose(t *testing.T) {
	wasm := newGuest().run(i32(3)).bytes()
	for _, prepared := range []bool{false, true} {
		e := engineOf(t, Options{})
		inspected, _ := Read(wasm, offer())
		m, err := e.Open(t.Context(), inspected, Limits{Memory: 1 << 20}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if prepared {
			err = m.Ahead(t.Context(), bounds(nil))
		}
		if err := errors.Join(err, m.Close(t.Context()), m.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		before := m.Instances()
		_, _, err = m.Run(t.Context(), bounds(&answers{}))
		if !errors.Is(err, errClosed) {
			t.Errorf("it runs: %v", err)
		}
		if err := m.Ahead(t.Context(), bounds(nil)); !errors.Is(err, errClosed) {
			t.Errorf("one is made ahead: %v", err)
		}
		if err := m.Prepare(t.Context()); !prepared && !errors.Is(err, errClosed) {
			t.Errorf("it is compiled: %v", err)
		}
		if m.Instances() != before || e.codesLeft() != 0 || e.pool.counted != 0 {
			t.Errorf("%d instances, %d codes, %d bytes", m.Instances(), e.codesLeft(), e.pool.counted)
		}
	}
}
