package host

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkGates is the gates of a call without a database of its own: a look
// for a lock in the state database, reading the arguments, the schema, the role,
// and settling the reach.
func BenchmarkGates(b *testing.B) {
	d := newDesk(b, `[tools.remembers]
plugin = "plugins/remembers"
effect = "read"
callers = ["customer"]
`, "remembers")
	h := d.open(b)
	s, p := tom(), ask("remembers", `{}`)
	b.ReportAllocs()
	for b.Loop() {
		rec := &Record{}
		if _, err := h.admit(b.Context(), s, p, rec, &trail{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkContract is the contract gate alone, with get_order's contract.
func BenchmarkContract(b *testing.B) {
	h := newDesk(b, "", "get_order").open(b)
	p := ask("get_order", `{"order_id":"LK-500000"}`)
	b.ReportAllocs()
	for b.Loop() {
		e := entered{session: tom(), proposal: p, id: "id", trail: &trail{}}
		if _, err := h.checkContract(e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSameWork times the answers that must not be told apart, in turn,
// and gives the median of each: those of two cases should differ no more than
// those of one case twice. Run it with -count: its own medians are the noise.
func BenchmarkSameWork(b *testing.B) {
	d := newDesk(b, "", "get_order")
	d.sql(b, `UPDATE orders SET tenant = 'bramble' WHERE order_id = 'LK-500030'`)
	h := d.open(b)
	s := tom()
	cases := []struct{ name, id, code string }{
		{"not_found", "LK-502002", "not_found"},
		{"other_customer", "LK-502001", "other_customer"},
		{"out_of_scope", "LK-500030", "out_of_scope"},
		{"not_found_again", "LK-502002", "not_found"},
		{"other_customer_again", "LK-502001", "other_customer"},
	}
	times := make([][]time.Duration, len(cases))
	d.forgiving(b, h)
	for i := 0; b.Loop(); i++ {
		for j := range cases {
			at := (i + j) % len(cases) // no case always follows the same one
			p := ask("get_order", `{"order_id":"`+cases[at].id+`"}`)
			start := time.Now()
			o := h.Call(b.Context(), s, p)
			times[at] = append(times[at], time.Since(start))
			if o.Code != cases[at].code {
				b.Fatal(o.Line())
			}
		}
	}
	for i, c := range cases {
		slices.Sort(times[i])
		b.ReportMetric(float64(times[i][len(times[i])/2].Nanoseconds()), "ns/"+c.name)
	}
}

// BenchmarkCall is a call without the log: gates, two queries, a Go guest, the result.
func BenchmarkCall(b *testing.B) {
	h := newDesk(b, "", "get_order").open(b)
	s, p := tom(), ask("get_order", `{"order_id":"LK-500000"}`)
	b.ReportAllocs()
	for b.Loop() {
		if o := h.Call(b.Context(), s, p); o.State != OK {
			b.Fatal(o.Line(), o.Reason)
		}
	}
}

// BenchmarkRefusedAudited is a call that no guest runs for, with the audit log
// of a config: one entry on disk.
func BenchmarkRefusedAudited(b *testing.B) {
	const want = Refused
	d := newDesk(b, "", "get_order")
	h := d.openAudited(b)
	defer h.Close()
	s, p := tom(), ask("get_order", `{"order_id":"LK-502001"}`)
	d.forgiving(b, h)
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if o := h.Call(b.Context(), s, p); o.State != want {
				b.Fatal(o.Line(), o.Reason)
			}
		}
	})
	b.Run("64-side-by-side", func(b *testing.B) {
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if o := h.Call(b.Context(), s, p); o.State != want {
					b.Error(o.Line(), o.Reason)
				}
			}
		})
	})
}

// forgiving counts a host's calls in a database of its own, for which a minute
// passes at each of them: nobody is locked.
func (d *desk) forgiving(b *testing.B, h *Host) {
	b.Helper()
	var minutes atomic.Int64
	began := time.Now()
	before := h.kept // the audit log's
	b.Cleanup(func() { before.Close() })
	h.kept = &kept{path: d.path("var/state/bench.db"), bounds: before.bounds, clock: func() time.Time {
		return began.Add(time.Duration(minutes.Add(1)) * time.Minute)
	}}
}
