package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/state"
)

// What else an attacker would try.

// An amount is the decimal that was written, or none. What SQL or a sum would
// read otherwise never waits.
func TestFormsOfANumber(t *testing.T) {
	d := refundDesk(t)
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	ids := map[string]bool{}
	for _, amount := range []string{"5", "5.0", "5.00", "5.000000"} { // four proposals, of which each says what it is
		a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":`+amount+`}`)
		row, _ := a.Shown.Row.Get("amount")
		if ids[a.ID] || shownJSON(row) != amount {
			t.Errorf("%s is shown as %s, as approval %s", amount, shownJSON(row), a.ID)
		}
		ids[a.ID] = true
		if o := agree(t, h, "usr-grace", approvalOf(t, h, a.ID)); o.State != OK {
			t.Errorf("%s: %s, %s", amount, o.Line(), o.Reason)
		}
	}
	d.wantRows(t, "LK-500000|5|larkfield|usr-grace", "LK-500000|5.0|larkfield|usr-grace", "LK-500000|5.00|larkfield|usr-grace", "LK-500000|5.000000|larkfield|usr-grace")
	for amount, want := range map[string]string{
		"5e0": "refused: no_row (approval)", "5E0": "refused: no_row (approval)", "50e-1": "refused: no_row (approval)", "0.5e1": "refused: no_row (approval)",
		"5.001": "refused: invalid_argument (contract)", "-5": "refused: invalid_argument (contract)", "-0": "refused: invalid_argument (contract)", "0": "refused: invalid_argument (contract)",
		"+5": "refused: invalid_argument (contract)", "05": "refused: invalid_argument (contract)", "5.": "refused: invalid_argument (contract)", ".5": "refused: invalid_argument (contract)",
		"NaN": "refused: invalid_argument (contract)", "1e400": "refused: invalid_argument (contract)", "0x5": "refused: invalid_argument (contract)", "٥": "refused: invalid_argument (contract)",
		"5.0000000000000000000000000000000000000000000000000000000000000000000001": "refused: invalid_argument (contract)",
	} {
		o := h.Call(t.Context(), asker(), ask("issue_refund", `{"order_id":"LK-500000","amount":`+amount+`}`))
		if o.Line() != want {
			t.Errorf("%s: %s, %s; want %s", amount, o.Line(), o.Reason, want)
		}
		if o.Code == codeNoRow && (string(o.Result) != `{"ok":false,"error":"The value of amount cannot be taken."}` || o.Field != "amount") {
			t.Errorf("%s: the model hears %s", amount, o.Result)
		}
	}
	// 20 were paid back: what is left is exact, and no cent more is proposed.
	wantOutcome(t, h.Call(t.Context(), asker(), ask("issue_refund", `{"order_id":"LK-500000","amount":80.06}`)), "refused: write_refused (rules)")
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":80.05}`)
	wantOutcome(t, agree(t, h, "usr-grace", a), "ok")
}

// Whether somebody else's approval is there, nobody can tell: the bytes are those
// of one that is not (I6), whatever has become of it.
func TestStatusTellsNothingOfOthers(t *testing.T) {
	d := refundDesk(t)
	d.sql(t, "INSERT INTO people VALUES ('usr-tom', 'larkfield', 'staff'), ('usr-sam', 'bramble', 'staff'), ('usr-sam', 'larkfield', 'owner')")
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(1000) })
	others := map[string]Session{}
	for name, change := range map[string]func(*Session){
		"subject":       func(s *Session) { s.Subject = "usr-tom" },
		"tenant":        func(s *Session) { s.Tenant = "bramble" },
		"role":          func(s *Session) { s.Role = "owner" },
		"customer":      func(s *Session) { s.Attributes = map[string]string{"customer": "C-20001"} },
		"no customer":   func(s *Session) { s.Attributes = nil },
		"more":          func(s *Session) { s.Attributes = map[string]string{"customer": "C-20000", "ticket": "T-1"} },
		"looks like it": func(s *Session) { s.Attributes = map[string]string{"customer": `C-20000","ticket":"`} },
	} {
		s := asker()
		change(&s)
		others[name] = s
	}
	status := func(s Session, id string) string {
		o := h.Call(t.Context(), s, ask(StatusTool, `{"approval":"`+id+`"}`))
		return strings.ReplaceAll(string(o.Result), id, "ID") + " " + o.Line()
	}
	const missing = "AAAAAAAAAAAAAAAA"
	want := status(asker(), missing)
	if !strings.Contains(want, "There is no approval ID for you.") {
		t.Fatal(want)
	}
	look := func(what string, a Approval) {
		t.Helper()
		for name, s := range others {
			if got := status(s, a.ID); got != want {
				t.Errorf("%s, another %s hears %s", what, name, got)
			}
		}
		mine := asker()
		mine.ID = "another loop"
		if got := status(mine, a.ID); got == want {
			t.Errorf("%s, who asked hears %s", what, got)
		}
		for _, id := range []string{a.ID[:15], strings.ToLower(a.ID), a.ID[:15] + "%"} {
			o := h.Call(t.Context(), asker(), ask(StatusTool, `{"approval":"`+id+`"}`))
			if o.State == OK {
				t.Errorf("%s is taken for %s", id, a.ID)
			}
		}
	}
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
	look("waiting", a)
	wantOutcome(t, agree(t, h, "usr-grace", a), "ok")
	look("done", a)
	b := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":6.00}`)
	wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-grace"), b.ID, b.Digest), "ok")
	look("denied", b)
	d.sqlIn(t, "state/state.db", "UPDATE approval SET content = NULL WHERE id = '"+a.ID+"'")
	if got := status(asker(), a.ID); got != want {
		t.Errorf("of what is forgotten who asked hears %s", got)
	}
	// A role that proposes nothing has no such tool.
	if o := h.Call(t.Context(), tom(), ask(StatusTool, `{"approval":"`+a.ID+`"}`)); !o.NoSuchTool() {
		t.Errorf("a customer hears %s", o.Result)
	}
}

// A beginning of an id names one approval, or none.
func TestBeginningsOfIDs(t *testing.T) {
	d := refundDesk(t)
	n := 0
	h := d.openAs(t, func(o *Options) {
		o.Recorder = NewMemoryRecorder(100)
		o.NewID = func() string { n++; return fmt.Sprintf("ABCD%022d", n*100_000_000_000_000) }
	})
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
	if got := approvalOf(t, h, strings.ToLower(a.ID[:6])); got.ID != a.ID {
		t.Errorf("%s is %s", a.ID[:6], got.ID)
	}
	proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":6.00}`)
	for _, id := range []string{"ABCD", "ABC", "", "ABCE", "%BCD", "A_CD", a.ID + "0"} {
		if got, err := h.Approval(t.Context(), id); err == nil {
			t.Errorf("%q names %s", id, got.ID)
		}
		// Nor does a digest help where an id names two.
		o, _ := h.Approve(t.Context(), approver(t, h, "usr-grace"), id, a.Digest)
		wantOutcome(t, o, "refused: not_waiting (approval)")
	}
	d.wantRows(t)
}

// What is shown between two looks cannot be swapped: a proposal that is made
// again with other facts, or another one, is another digest.
func TestSwappedBetweenShowAndApprove(t *testing.T) {
	d := refundDesk(t)
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00,"reason":"first"}`)
	d.sql(t, "UPDATE orders SET total = '50.00' WHERE order_id = 'LK-500000'")
	again := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00,"reason":"first"}`)
	if again.ID != a.ID || again.Digest == a.Digest {
		t.Errorf("the same again is %s with %s", again.ID, again.Digest)
	}
	wantOutcome(t, agree(t, h, "usr-grace", a), factsChanged)
	other := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00,"reason":"second"}`)
	if other.ID == a.ID {
		t.Error("another reason is the same proposal")
	}
	for _, pair := range [][2]Approval{{a, other}, {other, a}, {again, other}} {
		o, _ := h.Approve(t.Context(), approver(t, h, "usr-grace"), pair[0].ID, pair[1].Digest)
		wantOutcome(t, o, factsChanged)
	}
	d.wantRows(t)
	wantOutcome(t, agree(t, h, "usr-grace", again), "ok")
	wantStanding(t, h, other.ID, state.Waiting, "")
}
