package host

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/state"
)

const notRecorded = "refused: not_recorded (approval)"

// Who can write the state database, and has not the log's key, makes up nothing:
// what an approval shows must stand in the log as proposed, also after it was
// tried, looked at and tried again.
func TestMadeUpApprovalIsNotRecorded(t *testing.T) {
	w := waitingRefund(t)
	h := w.openLogged(t)
	for name, pairs := range parts() {
		t.Run(name, func(t *testing.T) {
			w.proposeOver(t, h)
			w.tamper(t, true, pairs...)
			for range 3 {
				if o := agree(t, h, "usr-grace", w.kept); o.State != Refused {
					t.Errorf("the yes to what was shown first: %s", o.Line())
				}
				now := approvalOf(t, h, w.kept.ID)
				if !now.Waits() {
					break
				}
				if o := agree(t, h, "usr-grace", now); o.State != Refused || o.Code != codeNotRecorded && o.Code != codeNotAllowed {
					t.Errorf("the yes to what is shown now: %s: %s", o.Line(), o.Reason)
				}
			}
			if w.written(t) != 0 {
				t.Error("a row was written")
			}
		})
	}
	t.Run("another-id", func(t *testing.T) {
		w.proposeOver(t, h)
		w.state(t, `INSERT INTO approval (id, state, recorded, tool, same, who, digest, content, call, asked, expires)
			SELECT 'AAAAAAAAAAAAAAAA', state, 1, tool, same, who, digest, content, call, asked, expires FROM approval`)
		for range 2 {
			wantOutcome(t, agree(t, h, "usr-grace", approvalOf(t, h, "AAAAAAAAAAAAAAAA")), notRecorded)
		}
	})
	// Nothing of all this kept the true one from being approved.
	wantOutcome(t, agree(t, h, "usr-grace", w.kept), "ok")
	w.wantRows(t, fiveBack)
}

// What has ended by the log does not come back.
func TestEndedByTheLog(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w *writing, h *Host){
		"denied": func(t *testing.T, w *writing, h *Host) {
			wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-grace"), w.kept.ID, w.kept.Digest), "ok")
		},
		"done": func(t *testing.T, w *writing, h *Host) {
			wantOutcome(t, agree(t, h, "usr-grace", w.kept), "ok")
			w.sql(t, "DELETE FROM refunds") // so that its own row is no fact that has changed
		},
		"failed": func(t *testing.T, w *writing, h *Host) {
			w.sql(t, "CREATE TRIGGER closed BEFORE INSERT ON refunds BEGIN SELECT RAISE(ABORT, 'closed'); END")
			wantOutcome(t, agree(t, h, "usr-grace", w.kept), "failed: not_written (result)")
			w.sql(t, "DROP TRIGGER closed")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := waitingRefund(t)
			h := w.openLogged(t)
			w.proposeOver(t, h)
			end(t, w, h)
			w.state(t, "UPDATE approval SET state = 'waiting', ended = 0, token = '', code = ''")
			wantOutcome(t, agree(t, h, "usr-grace", w.kept), notRecorded)
			if w.written(t) != 0 {
				t.Error("a row was written")
			}
			wantStanding(t, h, w.kept.ID, state.Waiting, "")
		})
	}
}

// What it shows anew, as the facts have changed, is in the log as well, and is
// approved as any other; so is one that was given back after a yes.
func TestShownAnewIsRecorded(t *testing.T) {
	w := waitingRefund(t)
	h := w.openLogged(t)
	w.proposeOver(t, h)
	w.sql(t, "UPDATE orders SET total = '100.06' WHERE order_id = 'LK-500000'")
	wantOutcome(t, agree(t, h, "usr-grace", w.kept), factsChanged)
	w.sql(t, "UPDATE orders SET total = '100.07' WHERE order_id = 'LK-500000'")
	again := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00,"reason":"a broken leg"}`) // the same, which shows what is new
	if again.ID != w.kept.ID {
		t.Fatalf("%s is not %s", again.ID, w.kept.ID)
	}
	wantOutcome(t, agree(t, h, "usr-grace", again), "ok")
	w.wantRows(t, fiveBack)
}

// openLogged opens the desk with the log of its config.
func (w *writing) openLogged(t testing.TB) *Host {
	t.Helper()
	return w.openAs(t, func(o *Options) {
		o.Env = func(name string) (string, bool) { v, ok := w.env[name]; return v, ok }
	})
}

// proposeOver makes the one proposal anew, so that the log has it.
func (w *writing) proposeOver(t testing.TB, h *Host) {
	t.Helper()
	w.state(t, "DELETE FROM approval")
	w.kept = proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00,"reason":"a broken leg"}`)
}

// A line that does not carry the stamp of the log's key is of no host: what it
// says was never proposed.
func TestUnstampedLineIsNoProposal(t *testing.T) {
	const forged = "AAAAAAAAAAAAAAAA"
	w := waitingRefund(t)
	h := w.openLogged(t)
	w.proposeOver(t, h)
	w.shut(t, h)
	path := w.path("var/audit/entries.jsonl")
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "var/audit/entries.jsonl", strings.ReplaceAll(string(lines), w.kept.ID, forged)) // as long as it was
	if err := os.Remove(w.path("var/audit/index.db")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	w.state(t, "UPDATE approval SET id = '"+forged+"'")
	o := Options{Env: func(name string) (string, bool) { v, ok := w.env[name]; return v, ok }}
	h, err = Open(t.Context(), w.path("config.toml"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	got := agree(t, h, "usr-grace", approvalOf(t, h, forged))
	if got.State != Refused || got.Code != codeNotRecorded && got.Code != codeAuditUnavailable {
		t.Errorf("%s: %s", got.Line(), got.Reason)
	}
	if w.written(t) != 0 {
		t.Error("a row was written")
	}
}
