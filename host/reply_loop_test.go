package host

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// What a loop's calls returned is found by the session's id with all of who
// asked, and nothing else is: no refusal, no explanation, no loop of long ago.
func TestReturned(t *testing.T) {
	d := newReplyDesk(t)
	d.sql(t, `INSERT INTO orders VALUES ('LK-581106', 'larkfield', 'C-81265', 'shipped', NULL, NULL, NULL, '0.00', '899.00', 'CAD', '[]')`)
	now := time.Now()
	h, err := Open(context.Background(), filepath.Join(d.dir, "config.toml"), Options{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	loop := func() Session {
		return Session{ID: "loop-1", Subject: "C-81265", Tenant: "larkfield", Role: "customer", Attributes: map[string]string{"customer": "C-81265", "ticket": "T-80008"}}
	}
	call := func(s Session, want State) {
		t.Helper()
		if o := h.Call(t.Context(), s, ask("get_order", `{"order_id":"LK-581106"}`)); o.State != want {
			t.Fatalf("%s: %s", o.Line(), o.Reason)
		}
	}
	call(loop(), OK)
	for name, change := range map[string]func(*Session){
		"another id":            func(s *Session) { s.ID = "loop-2" },
		"no id":                 func(s *Session) { s.ID = "" },
		"another subject":       func(s *Session) { s.Subject = "usr-sam" },
		"no subject":            func(s *Session) { s.Subject = "" },
		"another role":          func(s *Session) { s.Role = "owner" },
		"another ticket":        func(s *Session) { s.Attributes["ticket"] = "T-80001" },
		"an attribute more":     func(s *Session) { s.Attributes["shop"] = "x" },
		"an attribute less":     func(s *Session) { delete(s.Attributes, "ticket") },
		"an attribute is empty": func(s *Session) { s.Attributes["shop"] = "" },
	} {
		s := loop()
		change(&s)
		o, err := h.Returned(s)
		if (err != nil) != (s.ID == "") || len(o) > 0 {
			t.Errorf("%s: %d results, %v", name, len(o), err)
		}
		if s.Role == "customer" && s.ID != "" {
			call(s, OK)
		}
	}
	other := loop()
	other.Attributes["customer"] = "C-20417"
	call(other, Refused)
	h.Explain(t.Context(), loop(), ask("get_order", `{"order_id":"LK-581106"}`), false)
	h.Call(t.Context(), loop(), ask("get_order", `{"order_id":"LK-000000"}`))
	call(loop(), OK)
	found, err := h.Returned(loop())
	if err != nil || len(found) != 2 || found[0].State != OK || found[0].Tool != "get_order" || found[0].CallID == found[1].CallID {
		t.Fatalf("%+v, %v", found, err)
	}
	valid := Reply{Text: []byte(answerOf(shippedAnswer)), Ticket: "LK-581106", Results: found}
	if o := h.CheckReply(loop(), valid); !o.Valid {
		t.Error(o.Line(), o.Reason)
	}
	now = now.Add(h.config.Session.Time + forgotten + time.Hour)
	if found, err := h.Returned(loop()); err != nil || len(found) > 0 {
		t.Errorf("a loop of long ago has %d results, %v", len(found), err)
	}
}

// A host whose calls are recorded elsewhere knows nothing of a loop.
func TestReturnedWithoutALog(t *testing.T) {
	d := replyDesk(t)
	s := tom()
	s.ID = "loop-1"
	if found, err := d.host.Returned(s); err == nil || len(found) > 0 {
		t.Errorf("%d results, %v", len(found), err)
	}
}
