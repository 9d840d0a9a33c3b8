package host

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

// boundDesk is a desk whose config has these bounds.
func boundDesk(t *testing.T, session string) *desk {
	t.Helper()
	d := newDesk(t, "", "get_order")
	text, err := os.ReadFile(d.path("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "[session]")
	d.write(t, "config.toml", before+"[session]\n"+session)
	return d
}

const wideBounds = "steps = 1000\nrepeats = 1000\nrefusals = { count = 3, within = \"10m\" }\n"

// order asks for a row of tom's (his own), of another, of another shop, or for none.
func order(id string) Proposal { return ask("get_order", `{"order_id":"`+id+`"}`) }

const ownOrder, othersOrder, noOrder = "LK-500000", "LK-500060", "LK-999999"

func inSession(id string) Session {
	s := tom()
	s.ID = id
	return s
}

// locked calls have one answer.
const wantLocked = `{"ok":false,"error":"No more calls can be made for now."}`

// I6, I7: who is locked hears the same of everything, and costs the same work.
func TestLockedProberSeesTheSameBytes(t *testing.T) {
	d := boundDesk(t, wideBounds)
	d.sql(t, `UPDATE orders SET tenant = 'bramble' WHERE order_id = 'LK-500030'`)
	h := d.open(t)
	for range 3 {
		if o := h.Call(t.Context(), inSession("probing"), order(noOrder)); o.Code != "not_found" {
			t.Fatal(o.Line(), o.Reason)
		}
	}
	visitor := tom()
	visitor.Role = "visitor"
	before := h.Stats()
	for name, c := range map[string]struct {
		s Session
		p Proposal
	}{
		"own-row":              {tom(), order(ownOrder)},
		"another-customers":    {tom(), order(othersOrder)},
		"another-shops":        {tom(), order("LK-500030")},
		"absent":               {tom(), order(noOrder)},
		"no-such-tool":         {tom(), ask("no_such_tool", "{}")},
		"not-json":             {tom(), ask("get_order", "not json")},
		"in-the-old-session":   {inSession("probing"), order(ownOrder)},
		"in-a-new-session":     {inSession("new"), order(noOrder)},
		"role-that-may-not":    {visitor, order(ownOrder)},
		"role-and-no-tool":     {visitor, ask("no_such_tool", "{}")},
		"role-in-a-new-loop":   {func() Session { s := visitor; s.ID = "v"; return s }(), order(othersOrder)},
		"with-another-ticket":  {func() Session { s := tom(); s.Attributes["ticket"] = "T-1"; return s }(), order(ownOrder)},
		"explained-afterwards": {inSession("new"), order(ownOrder)},
	} {
		o := h.Call(t.Context(), c.s, c.p)
		if o.State != Refused || o.Gate != GateSession || o.Code != codeLocked || string(o.Result) != wantLocked || o.Field != "" {
			t.Errorf("%s: %s %s", name, o.Line(), o.Result)
		}
		if e, _ := h.Explain(t.Context(), c.s, c.p, false); e.Code != codeLocked || !bytes.Equal(e.Result, o.Result) {
			t.Errorf("%s, explained: %s %s", name, e.Line(), e.Result)
		}
	}
	if o := h.Unreadable(t.Context(), inSession("new"), []byte("{"), "no message"); string(o.Result) != wantLocked {
		t.Errorf("a message that cannot be read: %s", o.Result)
	}
	if after := h.Stats(); after.Reads["desk"] != before.Reads["desk"] || after.Runs["get_order"] != before.Runs["get_order"] {
		t.Errorf("counters went from %v to %v", before, after)
	}
	for name, s := range map[string]Session{
		"a-subject-of-that-name": {Subject: "C-20000", Tenant: "larkfield", Role: "customer", Attributes: map[string]string{"customer": "C-20000"}},
		"another-customer":       {Tenant: "larkfield", Role: "customer", Attributes: map[string]string{"customer": "C-20001"}},
	} {
		if o := h.Call(t.Context(), s, order(noOrder)); o.Code != "not_found" {
			t.Errorf("%s: %s", name, o.Line())
		}
	}
}

// I14: neither lawful calls in between, nor new session ids, nor another host on the
// same database bring a lock down.
func TestNothingResetsRefusals(t *testing.T) {
	d := boundDesk(t, wideBounds)
	a, b := d.open(t), d.open(t)
	for n := range 3 {
		s := inSession(fmt.Sprint("loop-", n))
		if o := a.Call(t.Context(), s, order(ownOrder)); o.State != OK {
			t.Fatal(o.Line(), o.Reason)
		}
		if o := b.Call(t.Context(), s, order(othersOrder)); o.Code != "other_customer" {
			t.Fatal(o.Line(), o.Reason)
		}
	}
	for _, h := range []*Host{a, b} {
		if o := h.Call(t.Context(), inSession("fresh"), order(ownOrder)); o.Code != codeLocked {
			t.Error(o.Line())
		}
	}
}

// I14: two hosts, and probers side by side: no more refusals leave in words of their
// own than one prober would get, and the rest is the one answer.
func TestProbersSideBySide(t *testing.T) {
	d := boundDesk(t, strings.Replace(wideBounds, "count = 3", "count = 20", 1))
	hosts := []*Host{d.open(t), d.open(t)}
	var told, locked atomic.Int64
	var wait sync.WaitGroup
	for n := range 64 {
		wait.Go(func() {
			for m := range 2 {
				id := []string{othersOrder, noOrder}[(n+m)%2]
				o := hosts[n%2].Call(context.Background(), inSession(fmt.Sprint(n, m)), order(id))
				switch {
				case o.Code == codeLocked && string(o.Result) == wantLocked && o.Field == "":
					locked.Add(1)
				case o.State == Refused && o.Gate == GateCaller:
					told.Add(1)
				default:
					t.Errorf("%s %s", o.Line(), o.Reason)
				}
			}
		})
	}
	wait.Wait()
	if told.Load() != 20 || locked.Load() != 108 {
		t.Errorf("%d refusals have left, and %d were locked", told.Load(), locked.Load())
	}
}

// A refusal that is locked at its end leaves as any locked call does; the record
// has both, and its entry in the log is whole.
func TestRefusalThatIsLockedAtItsEnd(t *testing.T) {
	d := boundDesk(t, strings.Replace(wideBounds, "count = 3", "count = 1", 1))
	h := d.openAudited(t)
	p, trail := order(othersOrder), &trail{}
	rec := h.begin(inSession("loop"), p)
	_, refused := h.admit(t.Context(), rec.Session, p, rec, trail)
	if refused == nil {
		t.Fatal("another's order is not refused")
	}
	if o := h.Call(t.Context(), tom(), order(noOrder)); o.Code != "not_found" { // side by side
		t.Fatal(o.Line())
	}
	o := h.end(t.Context(), p, rec, trail, nil, refused)
	if o.Gate != GateSession || o.Code != codeLocked || string(o.Result) != wantLocked || o.Field != "" || o.Place.File != "" {
		t.Errorf("%+v", o)
	}
	mustDo(t, h.Close())
	r, err := audit.Verify(d.path("var/audit"), audit.VerifyOptions{KeyFile: d.path("var/keys/audit.key")})
	if err != nil || len(r.Findings) > 0 {
		t.Fatalf("verify: %v %v", err, r.Findings)
	}
	found := d.read(t, audit.Filter{Code: codeLocked})
	if len(found) != 1 {
		t.Fatalf("%d entries", len(found))
	}
	const want = `^\{"session":"locked: 1 call of this customer refused within 10m, until 20[0-9: -]+ UTC; this one was other_customer \(caller\): orders: the row's customer_id is not \{session.customer\}",` +
		`"contract":"fits the closed contract: order_id","caller":"other_customer: orders: the row's customer_id is not \{session.customer\}"\}$`
	if got := value(found[0], "answers"); !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("the record has %s", got)
	}
}

// What the host could not decide is not held against who asked, and neither is
// what a guest did.
func TestFaultsOfTheHostAreNotCounted(t *testing.T) {
	for name, c := range map[string]struct {
		o    Outcome
		want bool
	}{
		"unknown-tool":      {Outcome{Gate: GateContract, Code: codeUnknownTool}, true},
		"bad-arguments":     {Outcome{Gate: GateContract, Code: codeInvalidArgument}, true},
		"forbidden":         {Outcome{Gate: GateCaller, Code: codeForbidden}, true},
		"a-scope-of-config": {Outcome{Gate: GateCaller, Code: "other_customer"}, true},
		"a-file":            {Outcome{Gate: GateCapability, Code: codeFileDenied}, true},
		"no-database":       {Outcome{Gate: GateCaller, Code: codeUnavailable}, false},
		"no-log":            {Outcome{Gate: GateAudit, Code: codeAuditUnavailable}, false},
		"repeated":          {Outcome{Gate: GateSession, Code: codeRepeatedCall}, false},
		"locked":            {Outcome{Gate: GateSession, Code: codeLocked}, false},
		"a-failure":         {Outcome{State: Failed, Gate: GatePlugin, Code: codeTrap}, false},
		"ok":                {Outcome{State: OK}, false},
		"waiting":           {Outcome{State: Pending, Gate: GateApproval}, false},
	} {
		if got := isCounted(c.o); got != c.want {
			t.Errorf("%s is counted: %t", name, got)
		}
	}
}

// dump is all that the state database counts.
func (d *desk) dump(t *testing.T) string {
	t.Helper()
	db, err := sql.Open("sqlite", d.path("var/state/state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all string
	if err := db.QueryRow(`SELECT (SELECT group_concat(concat_ws(' ', hex(tag), began, seen, calls), char(10)) FROM session)
		|| '/' || (SELECT group_concat(concat_ws(' ', hex(session), hex(tag), times), char(10)) FROM session_call)
		|| '/' || (SELECT group_concat(concat_ws(' ', hex(who), at, salt), char(10)) FROM refusal)`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// An explanation says what a call would give, and counts nothing.
func TestExplainCountsNothing(t *testing.T) {
	d := boundDesk(t, "steps = 3\nrepeats = 2\n")
	h := d.open(t)
	h.Call(t.Context(), inSession("loop"), order(ownOrder))
	h.Call(t.Context(), inSession("loop"), order(othersOrder))
	before := d.dump(t)
	for range 5 {
		for _, p := range []Proposal{order(ownOrder), order(othersOrder), ask("no_such_tool", "{}")} {
			h.Explain(t.Context(), inSession("loop"), p, false)
			h.Explain(t.Context(), inSession("another"), p, false)
			h.Explain(t.Context(), tom(), p, false)
		}
	}
	if after := d.dump(t); after != before || len(before) < 100 {
		t.Errorf("explained away:\n%s\nhas become\n%s", before, after)
	}
	for n, want := range map[string]string{"loop": "call 3 of 3", "another": "call 1 of 3", "": "a call of its own"} {
		if _, answers := h.Explain(t.Context(), inSession(n), order(ownOrder), false); answers[0].Text != want {
			t.Errorf("session %q: %q, want %q", n, answers[0].Text, want)
		}
	}
}

// I1, I3: without its state database a host runs nothing, and goes on when the
// database is there again.
func TestStateThatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"is-a-folder": func(t *testing.T, path string) { mustDo(t, os.MkdirAll(path, 0o700)) },
		"is-a-text": func(t *testing.T, path string) {
			mustDo(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600))
		},
		"is-in-no-folder": func(t *testing.T, path string) {
			mustDo(t, os.RemoveAll(filepath.Dir(path)))
			mustDo(t, os.WriteFile(filepath.Dir(path), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := boundDesk(t, wideBounds)
			path := d.path("var/state/state.db")
			mustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
			spoil(t, path)
			h := d.open(t)
			for _, s := range []Session{tom(), inSession("loop")} {
				o := h.Call(t.Context(), s, order(ownOrder))
				if o.State != Refused || o.Gate != GateSession || o.Code != codeUnavailable || bytes.Contains(o.Result, []byte("state")) {
					t.Errorf("%s %s", o.Line(), o.Result)
				}
			}
			if n := h.Stats(); n.Runs["get_order"] != 0 || n.Reads["desk"] != 0 {
				t.Errorf("it has gone on: %v", n)
			}
			mustDo(t, os.RemoveAll(filepath.Dir(path)))
			time.Sleep(again)
			if o := h.Call(t.Context(), inSession("loop"), order(ownOrder)); o.State != OK {
				t.Errorf("afterwards: %s %s", o.Line(), o.Reason)
			}
		})
	}
}

// I3: a refusal that cannot be counted does not leave as it is.
func TestRefusalThatCannotBeCounted(t *testing.T) {
	d := boundDesk(t, wideBounds)
	h := d.open(t)
	if o := h.Call(t.Context(), tom(), order(ownOrder)); o.State != OK {
		t.Fatal(o.Line(), o.Reason)
	}
	d.sqlIn(t, "state/state.db", `CREATE TRIGGER full BEFORE INSERT ON refusal BEGIN SELECT RAISE(ABORT, 'full'); END`)
	for _, id := range []string{othersOrder, noOrder} {
		o := h.Call(t.Context(), tom(), order(id))
		if o.Gate != GateSession || o.Code != codeUnavailable || string(o.Result) != `{"ok":false,"error":"The tool cannot be used at the moment."}` {
			t.Errorf("%s %s", o.Line(), o.Result)
		}
	}
}

// A session's calls, and its time by the host's clock.
func TestSessionsEnd(t *testing.T) {
	d := boundDesk(t, "steps = 4\ntime = \"5m\"\nrepeats = 2\n")
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	h, err := Open(context.Background(), d.path("config.toml"), Options{Recorder: d.recorder, Clock: func() time.Time { return now }})
	mustDo(t, err)
	defer h.Close()
	for n, want := range []string{"", "", codeRepeatedCall, codeRepeatedCall, codeTooManySteps} {
		if o := h.Call(t.Context(), inSession("loop"), order(ownOrder)); o.Code != want {
			t.Errorf("call %d: %s", n+1, o.Line())
		}
	}
	h.Call(t.Context(), inSession("short"), order(ownOrder))
	now = now.Add(-time.Hour) // a clock that is set back
	if o := h.Call(t.Context(), inSession("short"), order(ownOrder)); o.State != OK {
		t.Error(o.Line())
	}
	now = now.Add(time.Hour + 5*time.Minute)
	if o := h.Call(t.Context(), inSession("short"), order(ownOrder)); o.Code != codeSessionExpired {
		t.Error(o.Line())
	}
	if o := h.Call(t.Context(), tom(), order(ownOrder)); o.State != OK {
		t.Error("a call of its own: ", o.Line())
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
