package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// faults says what does not hold of the pool. Its lock is held.
func (p *pool) faults() (faults []string) {
	say := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var idle int64
	seen := map[*instance]bool{}
	for m := range p.modules {
		kept := len(m.ready) + len(m.used)
		if kept > m.all || m.all > m.most || m.calls < 0 || m.calls < len(m.waiters) || m.all > m.calls+kept {
			say("%d ready, %d used, %d of at most %d, %d calls, %d wait", len(m.ready), len(m.used), m.all, m.most, m.calls, len(m.waiters))
		}
		for _, i := range slices.Concat(m.ready, m.used) {
			if seen[i] || i.guest == nil || i.memory.call != nil || i.counted < int64(len(i.memory.bytes)) || i.counted > int64(m.limit) {
				say("%p twice %v, %d bytes of %d counted, of a call %p", i, seen[i], i.counted, len(i.memory.bytes), i.memory.call)
			}
			seen[i] = true
			idle += i.counted
		}
		if slices.ContainsFunc(m.ready, func(i *instance) bool { return i.stale }) || slices.ContainsFunc(m.used, func(i *instance) bool { return !i.stale }) {
			say("a stale one is ready, or another is not")
		}
		if queued := slices.Contains(p.queue, m); queued != (len(m.waiters) > 0) {
			say("%d wait, and queued %v", len(m.waiters), queued)
		}
		if m.closed && len(m.waiters) > 0 {
			say("closed with %d that wait", len(m.waiters))
		}
		if listed := slices.Contains(p.left, m); !m.closed && (listed != m.listed || len(m.used) > 0 && !listed) {
			say("%d used, listed %v %v", len(m.used), listed, m.listed)
		}
		if len(m.used) > 0 && !m.closed && !p.staying && !p.helping {
			say("nobody puts %d back", len(m.used))
		}
	}
	if idle > p.counted || p.counted > p.total {
		say("%d bytes idle, %d counted of %d", idle, p.counted, p.total)
	}
	if len(p.queue) > 0 { // nobody waits for what there is
		if m := p.queue[0]; m.all < m.most && p.counted+int64(m.limit) <= p.total {
			say("the first in the queue could go on")
		}
	}
	return faults
}

// watch looks at the pool again and again, until it is told to end.
func (p *pool) watch(t *testing.T) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			p.mu.Lock()
			faults := p.faults()
			p.mu.Unlock()
			if len(faults) > 0 {
				t.Error(faults)
				return
			}
			time.Sleep(20 * time.Microsecond)
		}
	}()
	return func() { close(stop); <-ended }
}

// stressed are guests of every kind, all of which find nothing of another call.
func stressed() [][]byte {
	renewed := keeper(i32(0), op(0xd0, typeFuncref), op(0x26, 0))
	renewed.tables = [][]byte{{typeFuncref, 0, 1}}
	starts := keeper()
	starts.export("_initialize", kindFunction, starts.fn("", "", 1, opI64(20_000), opSet0, opLoop, opGet0, opI64Sub1, opTee0, opWrap, opBrIf0, opEndBlock))
	return [][]byte{
		keeper().bytes(), keeper(opUnreachable).bytes(), grownKeeper(), keeper(i32(100), opGrow, opDrop).bytes(), renewed.bytes(), starts.bytes(),
		keeper(forever()).bytes(), stuckAtStart().bytes(),
	}
}

// slot is a module that is opened, called, closed and opened again.
type slot struct {
	mu sync.RWMutex
	m  *Module
}

// TestAttackPoolUnderStress opens, calls, cancels and closes at random, while the pool is looked at.
func TestAttackPoolUnderStress(t *testing.T) {
	length := 1500 * time.Millisecond
	if os.Getenv("TOOLHOST_NIGHTLY") != "" {
		length = 5 * time.Minute
	}
	guests := stressed()
	runtime.GC()
	before := runtime.NumGoroutine()
	e := engineOf(t, Options{Memory: 5 << 20, Idle: 5 * time.Millisecond})
	open := func(r *rand.Rand) *Module {
		inspected, faults := Read(guests[r.IntN(len(guests))], offer())
		if len(faults) > 0 {
			t.Error(faults)
		}
		limits := []int64{256 << 10, 1 << 20, 3 << 20}
		m, err := e.Open(context.Background(), inspected, Limits{Memory: limits[r.IntN(3)], Instances: 1 + r.IntN(4)}, nil)
		if err != nil {
			t.Error(err)
		}
		return m
	}
	end := e.pool.watch(t)
	slots := make([]slot, 6)
	for n := range slots {
		slots[n].m = open(rand.New(rand.NewPCG(uint64(n), 1)))
	}
	until := time.Now().Add(length)
	var wait sync.WaitGroup
	ends := make([]map[string]int, 24)
	for caller := range ends {
		ends[caller] = map[string]int{}
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(caller), 2))
			for time.Now().Before(until) {
				s := &slots[r.IntN(len(slots))]
				s.mu.RLock()
				m := s.m
				s.mu.RUnlock()
				ends[caller][randomCall(t, r, m)]++
				if r.IntN(150) == 0 {
					s.mu.Lock()
					old := s.m
					s.m = open(r)
					s.mu.Unlock()
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(20))*time.Millisecond)
					_ = old.Close(ctx)
					cancel()
				}
			}
		})
	}
	wait.Wait()
	for n := range slots {
		if err := slots[n].m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	all := map[string]int{}
	for _, some := range ends {
		for end, n := range some {
			all[end] += n
		}
	}
	t.Log(all)
	eventually(t, "all is given back", func() bool {
		e.pool.mu.Lock()
		defer e.pool.mu.Unlock()
		return e.pool.counted == 0 && len(e.pool.modules) == 0 && len(e.pool.queue) == 0 && len(e.pool.left) == 0 && !e.pool.staying && !e.pool.helping
	})
	end()
	eventually(t, "no code is left", func() bool { return e.codesLeft() == 0 })
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

// randomCall calls a module, and says how that ended.
func randomCall(t *testing.T, r *rand.Rand, m *Module) string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := bounds(&answers{f: func(ctx context.Context, _, _ string, _ []byte) (Status, []byte, error) {
		switch r.IntN(12) {
		case 0:
			cancel()
		case 1:
			panic("of the host")
		case 2:
			return OK, nil, errors.New("no")
		case 3:
			<-ctx.Done()
		case 4:
			time.Sleep(time.Millisecond)
		case 5: // what is left behind by a function ends with the call
			go func() { <-ctx.Done(); _, _ = ctx.Deadline(); _, _ = ctx.Err(), ctx.Value(t) }()
		case 6:
			go func() { own, end := context.WithTimeout(ctx, time.Hour); defer end(); <-own.Done() }()
		}
		return OK, []byte{1, 2, 3, 4}, nil
	}})
	call.Time = time.Duration(r.IntN(10_000)) * time.Microsecond
	call.Fuel = 3_000_000
	if r.IntN(10) == 0 {
		time.AfterFunc(time.Duration(r.IntN(1000))*time.Microsecond, cancel)
	}
	if r.IntN(10) == 0 {
		_ = m.Ahead(ctx, call)
	}
	_, found, err := m.Run(ctx, call)
	var stop *Stop
	switch {
	case err == nil && found != 0:
		t.Errorf("found %d of another call", found)
	case errors.As(err, &stop):
		return stop.Reason.String()
	case err != nil && !errors.Is(err, errClosed):
		t.Error(err)
	case err != nil:
		return "closed"
	}
	return "well"
}
