//go:build unix

package host

import (
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// What a crash left is settled by whoever looks next, by the row alone. Where the
// config names another table or database by then, nobody can say that there is
// no row: a "failed" would be proposed again, and paid twice.
func TestSettledByAnotherConfig(t *testing.T) {
	const unknown = "unknown_end"
	for name, tt := range map[string]struct {
		change func(t *testing.T, w *writing)
		at     string
		state  state.ApprovalState
		code   string
	}{
		"the-same": {func(*testing.T, *writing) {}, "written", state.Done, ""},
		"another-table": {func(t *testing.T, w *writing) {
			w.sql(t, "CREATE TABLE refunds2 (refund_id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT, tenant TEXT, approved_by TEXT) STRICT")
			w.within(t, theOutbox, `table = "refunds"`, `table = "refunds2"`)
		}, "written", state.Unknown, unknown},
		"another-database": {func(t *testing.T, w *writing) {
			w.copyDesk(t, "var/desk2.db")
			w.sqlIn(t, "desk2.db", "DELETE FROM refunds")
			w.edit(t, `"sqlite:var/desk.db"`, `"sqlite:var/desk2.db"`)
		}, "written", state.Unknown, unknown},
		"moved-with-its-row": {func(t *testing.T, w *writing) {
			w.copyDesk(t, "var/desk2.db")
			w.edit(t, `"sqlite:var/desk.db"`, `"sqlite:var/desk2.db"`)
		}, "written", state.Done, ""},
		"no-row-and-another-database": {func(t *testing.T, w *writing) {
			w.copyDesk(t, "var/desk2.db")
			w.edit(t, `"sqlite:var/desk.db"`, `"sqlite:var/desk2.db"`)
		}, "ran", state.Unknown, unknown},
		"no-tool":            {func(t *testing.T, w *writing) { w.write(t, "config.toml", writingConfig(t, "create_return_label")) }, "written", state.Unknown, unknown},
		"a-rule-and-the-row": {func(t *testing.T, w *writing) { w.within(t, theTool, "may refund", "can refund") }, "written", state.Done, ""},
		"a-rule-and-no-row":  {func(t *testing.T, w *writing) { w.within(t, theTool, "may refund", "can refund") }, "ran", state.Failed, codeInterrupted},
		"never-began": {func(t *testing.T, w *writing) {
			w.within(t, theOutbox, `tenant = "{session.tenant}"`, `tenant = "larkfield"`)
		}, "claimed", state.Failed, codeInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			w := waitingRefund(t)
			w.plugin(t, "create_return_label")
			w.edit(t, `"sqlite:{env.DESK}"`, `"sqlite:var/desk.db"`) // the other process has no such variable
			w.state(t, "DELETE FROM approval")
			h := w.openLogged(t)
			w.kept = proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			w.shut(t, h)
			if said, killed := start(t, job{Dir: w.dir, Do: "approve", At: tt.at, ID: w.kept.ID, Digest: w.kept.Digest}).wait(t); !killed {
				t.Fatalf("it was not killed, and said %v", said)
			}
			tt.change(t, w)
			w.pass(5 * time.Minute)
			wantStanding(t, w.open(t), w.kept.ID, tt.state, tt.code)
		})
	}
}
