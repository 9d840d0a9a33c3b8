package audit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkAppend is one entry with arguments and a result, sealed, committed
// to, on disk, with 1, 16 and 64 calls side by side.
func BenchmarkAppend(b *testing.B) {
	for _, sideBySide := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("side-by-side-%d", sideBySide), func(b *testing.B) { benchmarkAppend(b, sideBySide, true) })
	}
	b.Run("without-fsync-1", func(b *testing.B) { benchmarkAppend(b, 1, false) })
}

func benchmarkAppend(b *testing.B, sideBySide int, sync1 bool) {
	l := newPlace(b).open(b)
	l.unsynced = !sync1
	appendAll(b, l, 20, 1)
	var next atomic.Int64
	var wait sync.WaitGroup
	b.ResetTimer()
	for range sideBySide {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := l.Append(ended(int(n), fmt.Sprintf("C-%05d", n%7))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	must(b, l.Close())
}
