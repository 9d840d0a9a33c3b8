package state

import (
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// BenchmarkEnter counts a call: in a session, in none, in a session beside 63
// others, and a refusal.
func BenchmarkEnter(b *testing.B) {
	limits := Limits{Steps: 1 << 30, Time: time.Hour, Repeats: 1 << 30, Refusals: 20, Within: time.Minute}
	open := func(b *testing.B) *Bounds {
		s, err := Open(filepath.Join(b.TempDir(), "state.db"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		bounds, err := s.Bounds(limits, time.Now)
		if err != nil {
			b.Fatal(err)
		}
		return bounds
	}
	enter := func(b *testing.B, bounds *Bounds, session string, n int) {
		args := strconv.AppendInt(nil, int64(n%500), 10)
		v, err := bounds.Enter(Call{Session: session, Who: Who{Tenant: "larkfield", Customer: "C-20000"}, Tool: "get_order", Arguments: args})
		if err != nil || v.Standing != Admitted {
			b.Error(v, err)
		}
	}
	b.Run("session", func(b *testing.B) {
		bounds, n := open(b), 0
		b.ReportAllocs()
		for b.Loop() {
			enter(b, bounds, "loop", n)
			n++
		}
	})
	b.Run("no-session", func(b *testing.B) {
		bounds := open(b)
		b.ReportAllocs()
		for b.Loop() {
			enter(b, bounds, "", 0)
		}
	})
	b.Run("64-side-by-side", func(b *testing.B) {
		bounds := open(b)
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for n := 0; pb.Next(); n++ {
				enter(b, bounds, "loop", n)
			}
		})
	})
	b.Run("refusal", func(b *testing.B) {
		bounds, n := open(b), 0
		for b.Loop() {
			n++
			if _, err := bounds.Refused(Who{Subject: strconv.Itoa(n / 10 % 500)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
