package host

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// Of 64 people who agree at once, over four hosts of one state database, one
// runs; everybody else is refused, and there is one row.
func TestOneOfManyApproversRuns(t *testing.T) {
	d := refundDesk(t)
	hosts := make([]*Host, 4)
	for i := range hosts {
		hosts[i] = d.openAs(t, nil)
	}
	for range rounds(3, 200) {
		a := proposes(t, hosts[0], asker(), "issue_refund", `{"order_id":"LK-500000","amount":0.01}`)
		before := len(d.rows(t, "desk.db", refundRows))
		ran := func() (sum uint64) {
			for _, h := range hosts {
				sum += h.Stats().Runs["issue_refund"]
			}
			return sum
		}
		started := ran()
		outcomes := make([]Outcome, 64)
		var wait sync.WaitGroup
		ready := make(chan struct{})
		for n := range outcomes {
			h := hosts[n%len(hosts)]
			who := approver(t, h, []string{"usr-grace", "usr-mara"}[n/4%2])
			wait.Go(func() {
				<-ready
				outcomes[n], _ = h.Approve(t.Context(), who, a.ID, a.Digest)
			})
		}
		close(ready)
		wait.Wait()
		ok := 0
		for _, o := range outcomes {
			switch {
			case o.State == OK:
				ok++
			case o.State != Refused || o.Code != codeNotWaiting:
				t.Errorf("somebody else: %s: %s", o.Line(), o.Reason)
			}
		}
		if ok != 1 || ran() != started+1 {
			t.Errorf("%d have done it, %d guests ran; want one", ok, ran()-started)
		}
		if n := len(d.rows(t, "desk.db", refundRows)); n != before+1 {
			t.Errorf("%d rows were written", n-before)
		}
		wantStanding(t, hosts[1], a.ID, state.Done, "")
	}
	for _, h := range hosts {
		d.shut(t, h)
	}
	d.wantVerified(t)
}

// Two approvals that each pass, and together do not: the second is refused by
// the rules, and what was paid back is exact.
func TestTwoApprovalsThatTogetherDoNotPass(t *testing.T) {
	const one, two = `{"order_id":"LK-500000","amount":60.05}`, `{"order_id":"LK-500000","amount":40.01}`
	t.Run("one after the other", func(t *testing.T) {
		d := refundDesk(t)
		h := d.openAs(t, nil)
		a, b := proposes(t, h, asker(), "issue_refund", one), proposes(t, h, asker(), "issue_refund", two)
		wantOutcome(t, agree(t, h, "usr-grace", a), "ok")
		started := h.Stats().Runs["issue_refund"]
		wantOutcome(t, agree(t, h, "usr-mara", b), "refused: write_refused (rules)")
		wantStanding(t, h, b.ID, state.Failed, codeWriteRefused)
		if h.Stats().Runs["issue_refund"] != started {
			t.Error("a guest ran for what the rules refuse")
		}
		// What is left exactly is paid; one cent more is not even proposed.
		c := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":40.00}`)
		wantOutcome(t, agree(t, h, "usr-grace", c), "ok")
		wantOutcome(t, h.Call(t.Context(), asker(), ask("issue_refund", `{"order_id":"LK-500000","amount":0.01}`)), "refused: write_refused (rules)")
		d.wantRows(t, "LK-500000|40.00|larkfield|usr-grace", "LK-500000|60.05|larkfield|usr-grace")
	})
	t.Run("side by side", func(t *testing.T) {
		d := refundDesk(t)
		hosts := []*Host{d.openAs(t, nil), d.openAs(t, nil)}
		for n := range rounds(8, 300) {
			order := []string{"LK-500000", "LK-500003", "LK-500006", "LK-500009"}[n%4]
			if n >= 4 {
				d.sql(t, "DELETE FROM refunds WHERE order_id = '"+order+"'")
			}
			// 60 and 60 of a little more than 100
			a := proposes(t, hosts[0], asker(), "issue_refund", `{"order_id":"`+order+`","amount":60.00}`)
			b := proposes(t, hosts[1], asker(), "issue_refund", `{"order_id":"`+order+`","amount":60.01}`)
			outcomes := make([]Outcome, 2)
			var wait sync.WaitGroup
			wait.Go(func() { outcomes[0] = agree(t, hosts[0], "usr-grace", a) })
			wait.Go(func() { outcomes[1] = agree(t, hosts[1], "usr-mara", b) })
			wait.Wait()
			ok := 0
			for i, o := range outcomes {
				switch {
				case o.State == OK:
					ok++
				case o.Code != codeWriteRefused && o.Code != codeOvertaken:
					t.Errorf("%d: %s: %s", i, o.Line(), o.Reason)
				}
			}
			if got := d.rows(t, "desk.db", "SELECT amount FROM refunds WHERE order_id = '"+order+"'"); ok != 1 || len(got) != 1 || !strings.HasPrefix(got[0], "60.0") {
				t.Errorf("%d were done, paid back were %v", ok, got)
			}
		}
	})
	// Both have passed every gate, and both guests have run: only the transaction
	// is left, and the second finds there what the first has written.
	t.Run("both ran already", func(t *testing.T) {
		d := refundDesk(t)
		met := make(chan struct{}, 2)
		both := make(chan struct{})
		var once sync.Once
		wait := func(step string) {
			if step != "answered" {
				return
			}
			met <- struct{}{}
			if len(met) == 2 {
				once.Do(func() { close(both) })
			}
			select {
			case <-both:
			case <-time.After(30 * time.Second):
				t.Error("the other never came")
			}
		}
		hosts := []*Host{d.openAs(t, func(o *Options) { o.Step = wait }), d.openAs(t, func(o *Options) { o.Step = wait })}
		a, b := proposes(t, hosts[0], asker(), "issue_refund", one), proposes(t, hosts[1], asker(), "issue_refund", two)
		outcomes := make([]Outcome, 2)
		var group sync.WaitGroup
		group.Go(func() { outcomes[0] = agree(t, hosts[0], "usr-grace", a) })
		group.Go(func() { outcomes[1] = agree(t, hosts[1], "usr-mara", b) })
		group.Wait()
		if outcomes[0].State == OK {
			wantOutcome(t, outcomes[1], "failed: overtaken (result)")
			wantStanding(t, hosts[0], b.ID, state.Failed, codeOvertaken)
			d.wantRows(t, "LK-500000|60.05|larkfield|usr-grace")
		} else {
			wantOutcome(t, outcomes[0], "failed: overtaken (result)")
			wantOutcome(t, outcomes[1], "ok")
			d.wantRows(t, "LK-500000|40.01|larkfield|usr-mara")
		}
	})
}
