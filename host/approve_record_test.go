package host

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// A recorder that cannot keep some things. A nil error keeps them.
type failing struct {
	*MemoryRecorder
	started, ended, decided error
	words                   map[string]error // of Decided
}

func (f *failing) Started(r *Record) error {
	return errors.Join(f.started, f.MemoryRecorder.Started(r))
}

func (f *failing) Ended(r *Record) error { return errors.Join(f.ended, f.MemoryRecorder.Ended(r)) }

func (f *failing) Decided(r *Record, word string) error {
	return errors.Join(f.decided, f.words[word], f.MemoryRecorder.Decided(r, word))
}

var errFull = errors.New("the disk is full")

// openFailing opens a desk whose log can be made to fail.
func openFailing(t testing.TB, d *writingDesk) (*Host, *failing) {
	t.Helper()
	f := &failing{MemoryRecorder: NewMemoryRecorder(1000), words: map[string]error{}}
	return d.openAs(t, func(o *Options) { o.Recorder = f }), f
}

// A proposal that could not be recorded never waits: whoever knows its id cannot
// approve it (I10).
func TestUnrecordedProposalNeverWaits(t *testing.T) {
	d := refundDesk(t)
	h, log := openFailing(t, d)
	log.ended = errFull
	o := h.Call(t.Context(), asker(), ask("issue_refund", `{"order_id":"LK-500000","amount":5.00}`))
	wantOutcome(t, o, "refused: audit_unavailable (audit)")
	if o.Approval != "" {
		t.Errorf("what is refused names approval %s", o.Approval)
	}
	log.ended = nil
	if list, err := h.Approvals(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%d that nobody has recorded wait, %v", len(list), err)
	}
	kept := d.rows(t, "state/state.db", "SELECT id FROM approval")
	for _, id := range kept {
		o, _ := h.Approve(t.Context(), approver(t, h, "usr-grace"), id, "")
		wantOutcome(t, o, "refused: not_waiting (approval)")
	}
	d.wantRows(t)
}

// What of an approval cannot be recorded before it has an effect has none.
func TestUnrecordedApprovalHasNoEffect(t *testing.T) {
	for name, tt := range map[string]struct {
		fail  func(*failing)
		state state.ApprovalState
		code  string
	}{
		"the yes":   {func(f *failing) { f.decided = errFull }, state.Waiting, ""},
		"the start": {func(f *failing) { f.started = errFull }, state.Failed, codeAuditUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			d := refundDesk(t)
			h, log := openFailing(t, d)
			a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			tt.fail(log)
			wantOutcome(t, agree(t, h, "usr-grace", a), "refused: audit_unavailable (audit)")
			if n := h.Stats().Runs["issue_refund"]; n != 0 {
				t.Errorf("%d guests ran", n)
			}
			d.wantRows(t)
			wantStanding(t, h, a.ID, tt.state, tt.code)
			*log = failing{MemoryRecorder: log.MemoryRecorder}
			if tt.state == state.Waiting {
				wantOutcome(t, agree(t, h, "usr-grace", a), "ok")
				d.wantRows(t, fiveBack)
			}
		})
	}
}

// What has happened, and whose end cannot be recorded, is not called refused to
// who approves; the model hears of it as of what was done.
func TestUnrecordedEndIsTold(t *testing.T) {
	d := refundDesk(t)
	h, log := openFailing(t, d)
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
	log.ended = errFull
	o := agree(t, h, "usr-grace", a)
	wantOutcome(t, o, "failed: audit_unavailable (audit)")
	if !strings.HasPrefix(o.Reason, "the row is written, and its end could not be recorded: ") {
		t.Error(o.Reason)
	}
	d.wantRows(t, fiveBack)
	wantStanding(t, h, a.ID, state.Done, "")
}

// A host that is closed twice is closed.
func TestCloseTwice(t *testing.T) {
	h := refundDesk(t).openAs(t, nil)
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A no is recorded before it ends anything.
func TestUnrecordedDenialHasNoEffect(t *testing.T) {
	d := refundDesk(t)
	h, log := openFailing(t, d)
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
	log.words[wordDenied] = errFull
	wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-grace"), a.ID, a.Digest), "refused: audit_unavailable (audit)")
	wantStanding(t, h, a.ID, state.Waiting, "")
	d.pass(time.Hour)
	wantStanding(t, h, a.ID, state.Expiry, "")
}
