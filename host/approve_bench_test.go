package host

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// From a proposal to an approval that waits, and from a yes to a row: with the
// audit log, the state database and the business database on disk.
func BenchmarkApprovals(b *testing.B) {
	open := func(b *testing.B) (*Host, Approver) {
		d := rootDesk(b, "creer_demande_conges", "E001", "steps = 500", "steps = 100_000", "repeats = 20", "repeats = 10_000\nwaiting = 1000")
		h, err := Open(context.Background(), filepath.Join(d.dir, "config.toml"), Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { h.Close() })
		if err := h.Prepare(context.Background()); err != nil {
			b.Fatal(err)
		}
		who, err := h.Approver(testToken)
		if err != nil {
			b.Fatal(err)
		}
		return h, who
	}
	day := func(i int) string { return time.Date(2100, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
	request := func(i int) Proposal {
		return ask("creer_demande_conges", fmt.Sprintf(`{"employe_id":"E001","date_debut":%q,"date_fin":%q,"type_conge":"rtt"}`, day(i), day(i)))
	}
	propose := func(b *testing.B, h *Host, i int) string {
		o := h.Call(context.Background(), camille(), request(i))
		if o.State != Pending {
			b.Fatalf("%s: %s", o.Line(), o.Reason)
		}
		return o.Approval
	}
	approve := func(b *testing.B, h *Host, who Approver, id string) {
		a, err := h.Approval(context.Background(), id)
		if err != nil {
			b.Fatal(err)
		}
		if o, _ := h.Approve(context.Background(), who, id, a.Digest); o.State != OK {
			b.Fatalf("%s: %s", o.Line(), o.Reason)
		}
	}
	// Each round proposes and approves one, so that there are never many; the
	// other half is not timed.
	b.Run("propose", func(b *testing.B) {
		h, who := open(b)
		i := 0
		for b.Loop() {
			id := propose(b, h, i)
			b.StopTimer()
			approve(b, h, who, id)
			b.StartTimer()
			i++
		}
	})
	b.Run("approve", func(b *testing.B) {
		h, who := open(b)
		i := 0
		for b.Loop() {
			b.StopTimer()
			id := propose(b, h, i)
			b.StartTimer()
			approve(b, h, who, id)
			i++
		}
	})
}
