package sandbox

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"
)

// What a busy guest does to others: native code cannot be preempted, so the guest must leave to Go by itself.

// busyFor runs a guest that burns all of its time, and tells when it has ended.
func busyFor(t testing.TB, m *Module, d time.Duration) (ended <-chan error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		call := hostileCall()
		call.Time, call.Fuel = d, math.MaxInt64
		_, _, err := m.Run(context.Background(), call)
		done <- err
	}()
	return done
}

// TestBusyGuestLetsTheCollectorRun: while guests burn all cores, a goroutine that sleeps a millisecond wakes
// in time, and collections end. Without yields the first took as long as the guests did.
func TestBusyGuestLetsTheCollectorRun(t *testing.T) {
	m := hostileModule(t, loops())
	var busy []<-chan error
	for range 4 {
		busy = append(busy, busyFor(t, m, time.Second))
	}
	stop := collecting()
	var worst time.Duration
	for begin := time.Now(); time.Since(begin) < 900*time.Millisecond; {
		start := time.Now()
		time.Sleep(time.Millisecond)
		worst = max(worst, time.Since(start)-time.Millisecond)
	}
	stop()
	for _, b := range busy {
		wantStop(t, <-b, Deadline, "")
	}
	t.Logf("woke at most %v late", worst)
	if worst > 300*time.Millisecond {
		t.Errorf("a goroutine woke %v late", worst)
	}
}

// BenchmarkBesideABusyGuest gives the 99th percentile of a small guest's calls while another burns its two
// seconds and collections are forced, and what it is when all is quiet.
func BenchmarkBesideABusyGuest(b *testing.B) {
	small := hostileModule(b, newGuest().run(tightBody()...))
	for name, g := range map[string]*guest{
		"loop": loops(), "fill": fillsMemory(),
	} {
		m := hostileModule(b, g)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				stop := collecting()
				quiet := percentile99(b, small, time.After(time.Second), nil)
				busy := percentile99(b, small, nil, busyFor(b, m, 2*time.Second))
				stop()
				b.ReportMetric(float64(quiet.Nanoseconds()), "quiet-p99-ns")
				b.ReportMetric(float64(busy.Nanoseconds()), "busy-p99-ns")
				b.ReportMetric(float64(busy)/float64(quiet), "ratio")
			}
		})
	}
}

// percentile99 calls a guest until one of the two is over.
func percentile99(b *testing.B, m *Module, over <-chan time.Time, ended <-chan error) time.Duration {
	b.Helper()
	var times []time.Duration
	for {
		select {
		case <-over:
			return nth99(times)
		case err := <-ended:
			if err == nil {
				b.Fatal("the busy guest came to an end")
			}
			return nth99(times)
		default:
		}
		start := time.Now()
		if _, code, err := m.Run(b.Context(), hostileCall()); err != nil || code != 0 {
			b.Fatal(code, err)
		}
		times = append(times, time.Since(start))
	}
}

func nth99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}

// tightBody is some hundred microseconds of work.
func tightBody() [][]byte {
	return [][]byte{opI64(100_000), opSet0, opLoop, opGet0, opI64Sub1, opTee0, opWrap, op(0x0d, 0), opEndBlock, i32(0)}
}
