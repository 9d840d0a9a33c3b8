package state

import (
	"runtime"
	"strconv"
	"testing"
	"time"
)

// BenchmarkEnter counts a call: in a session, in none, in a session beside 63
// others, and a refusal.
func BenchmarkEnter(b *testing.B) {
	limits := Limits{Steps: 1 << 30, Time: time.Hour, Repeats: 1 << 30, Refusals: 20, Within: time.Minute}
	enter := func(b *testing.B, bounds *Bounds, session string, n int) {
		b.Helper()
		args := strconv.AppendInt(nil, int64(n%500), 10)
		v, err := bounds.Enter(Call{Session: session, Who: Who{Tenant: "larkfield", Customer: "C-20000"}, Tool: "get_order", Arguments: args})
		if err != nil || v.Standing != Admitted {
			b.Error(v, err)
		}
	}
	b.Run("session", func(b *testing.B) {
		bounds, n := newBounds(b, limits, time.Now), 0
		b.ReportAllocs()
		for b.Loop() {
			enter(b, bounds, "loop", n)
			n++
		}
	})
	b.Run("no-session", func(b *testing.B) {
		bounds := newBounds(b, limits, time.Now)
		b.ReportAllocs()
		for b.Loop() {
			enter(b, bounds, "", 0)
		}
	})
	b.Run("64-side-by-side", func(b *testing.B) {
		bounds := newBounds(b, limits, time.Now)
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for n := 0; pb.Next(); n++ {
				enter(b, bounds, "loop", n)
			}
		})
	})
	b.Run("refusal", func(b *testing.B) {
		clock := atNoon()
		bounds := newBounds(b, limits, func() time.Time {
			clock.add(time.Minute) // nobody is locked
			return clock.now()
		})
		b.ReportAllocs()
		for b.Loop() {
			if v, err := bounds.Refused(Who{Subject: "usr-1"}); err != nil || v.Standing == Locked {
				b.Fatal(v, err)
			}
		}
	})
}
