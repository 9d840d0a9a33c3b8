package host

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/state"
)

// A hostile guest with a valid approval for 5.00 gets that row, or none.

// hostileDesk is a desk whose issue_refund is another module.
func hostileDesk(t testing.TB, module string) *writingDesk {
	t.Helper()
	d := newWritingDesk(t, writingConfig(t, "issue_refund"), "issue_refund="+module)
	d.edit(t, "effect = \"write\"\ncallers = [\"staff\", \"owner\"]\napprove = { role = \"owner\", requester = false, expires = \"15m\" }\nnot_available = \"No order",
		"effect = \"write\"\nlimits = { time = \"300ms\", fuel = 400_000_000 }\ncallers = [\"staff\", \"owner\"]\napprove = { role = \"owner\", requester = false, expires = \"15m\" }\nnot_available = \"No order")
	return d
}

// A guest that asks for its row and does not end well has written nothing.
func TestGuestThatAsksAndDoesNotEndWell(t *testing.T) {
	d := hostileDesk(t, "asks_and_ends")
	h := d.openAs(t, nil)
	for reason, want := range map[string]string{
		"traps":            codeTrap,
		"panics":           codePluginError,
		"exits":            codeTrap,
		"exits-well":       codeTrap,
		"errs":             codePluginError,
		"loops":            "",
		"sleeps":           codeDeadline,
		"fills":            codeOutOfMemory,
		"asks-without-end": codeTooManyHostCalls,
		"huge":             codeResultTooLarge,
		"other-shape":      codeInvalidResult,
		"more":             codeInvalidResult,
		"no-object":        codeInvalidResult,
	} {
		t.Run(reason, func(t *testing.T) {
			a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00,"reason":"`+reason+`"}`)
			o := agree(t, h, "usr-grace", a)
			if o.State != Failed || want != "" && o.Code != want {
				t.Errorf("%s: %s; want %s", o.Line(), o.Reason, want)
			}
			d.wantRows(t)
			wantStanding(t, h, a.ID, state.Failed, o.Code)
			wantOutcome(t, agree(t, h, "usr-mara", a), "refused: not_waiting (approval)") // it is used up
			status := h.Call(t.Context(), asker(), ask(StatusTool, `{"approval":"`+a.ID+`"}`))
			if want := `"state":"failed","says":"It could not be done; nothing was written."}`; !strings.HasSuffix(string(status.Result), want) {
				t.Errorf("the model hears %s", status.Result)
			}
		})
	}
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00,"reason":"well"}`)
	wantOutcome(t, agree(t, h, "usr-grace", a), "ok")
	d.wantRows(t, fiveBack)
}

// A guest that asks for more, for other rows, or for none.
func TestGuestThatBendsItsRow(t *testing.T) {
	for module, want := range map[string]string{
		"asks_twice":     "ok",
		"bends_row":      "ok", // it has panicked if it was given anything
		"writes_nothing": "failed: no_effect (result)",
	} {
		t.Run(module, func(t *testing.T) {
			d := hostileDesk(t, module)
			h := d.openAs(t, nil)
			a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			wantOutcome(t, agree(t, h, "usr-grace", a), want)
			if want == "ok" {
				d.wantRows(t, fiveBack)
			} else {
				d.wantRows(t)
			}
			if others := d.rows(t, "desk.db", "SELECT email_id FROM emails UNION ALL SELECT label_id FROM labels"); len(others) > 0 {
				t.Errorf("other outboxes have %v", others)
			}
			if n := d.rows(t, "desk.db", "SELECT count(*), sum(total != '100.05') FROM orders WHERE order_id = 'LK-500000'"); n[0] != "1|0" {
				t.Errorf("the order is %v", n)
			}
		})
	}
}

// Before a person has agreed no guest of a tool that writes runs at all, whatever
// is asked of it.
func TestNoGuestBeforeAPerson(t *testing.T) {
	d := hostileDesk(t, "asks_and_ends")
	h := d.openAs(t, nil)
	for _, args := range []string{
		`{"order_id":"LK-500000","amount":5.00}`, `{"order_id":"LK-500000","amount":500.00}`, `{"order_id":"BB-640436","amount":5.00}`,
		`{"order_id":"LK-500000","amount":-5}`, `{"order_id":"LK-500000","amount":5.00,"approval":"x"}`, `{"order_id":"LK-500000","amount":5.00,"amount":6.00}`,
		`{"order_id":"LK-500000","amount":5e0}`, `{"order_id":"LK-500000","amount":5.001}`, `{"order_id":"LK-500000","amount":"5.00"}`,
	} {
		if o := h.Call(t.Context(), asker(), ask("issue_refund", args)); o.State == OK || o.State == Failed {
			t.Errorf("%s: %s", args, o.Line())
		}
		_, _ = h.Explain(t.Context(), asker(), ask("issue_refund", args), true)
	}
	if n := h.Stats().Runs["issue_refund"]; n != 0 {
		t.Errorf("%d guests ran", n)
	}
	d.wantRows(t)
}
