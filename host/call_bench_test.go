package host

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkWholeCall is a call with all that a config has: gates, two queries,
// a guest, the audit log on disk; 1, 16 and 64 side by side. The guest is
// get_order in Go, or a module of some 200 bytes that asks for the same row.
// Beside them stands what a group of the log waits for: 1.5 KB, appended and synced.
func BenchmarkWholeCall(b *testing.B) {
	b.Run("fdatasync", benchmarkDatasync)
	for _, guest := range []string{"go", "small"} {
		b.Run(guest, func(b *testing.B) {
			d := newDesk(b, "", "get_order")
			if guest == "small" {
				d.smallGuest(b)
			}
			h := d.openAudited(b)
			defer h.Close()
			for _, beside := range []int{1, 16, 64} {
				b.Run(fmt.Sprint(beside), func(b *testing.B) { benchmarkBeside(b, h, beside) })
			}
		})
	}
}

// benchmarkBeside makes calls side by side, and gives the median of their times.
func benchmarkBeside(b *testing.B, h *Host, beside int) {
	s, p := tom(), ask("get_order", `{"order_id":"LK-500000"}`)
	call := func() {
		if o := h.Call(b.Context(), s, p); o.State != OK {
			b.Error(o.Line(), o.Reason)
		}
	}
	sideBySide(beside, 2*beside, func(int) { call() }) // instances are made
	took := make([]time.Duration, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	sideBySide(beside, b.N, func(i int) {
		began := time.Now()
		call()
		took[i] = time.Since(began)
	})
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[b.N/2].Nanoseconds())/1000, "us/median")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// sideBySide does n things, so many at once.
func sideBySide(beside, n int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range beside {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	wait.Wait()
}

func benchmarkDatasync(b *testing.B) {
	f, err := os.Create(newDesk(b, "", "get_order").path("synced"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	some := make([]byte, 1500)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := f.Write(some); err != nil {
			b.Fatal(err)
		}
		if err := datasync(f); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "us/median")
}
