package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/stricturl"
)

// I6: whether a row is missing, another customer's or another shop's, the
// model gets the same bytes and the database the same queries.
func TestSameBytesAndSameWork(t *testing.T) {
	d := newDesk(t, "", "get_order")
	d.sql(t, `UPDATE orders SET tenant = 'bramble' WHERE order_id = 'LK-500030'`)
	h := d.open(t)
	var words []byte
	for _, tt := range []struct{ id, code string }{
		{"LK-999999", "not_found"},
		{"LK-500060", "other_customer"},
		{"LK-500030", "out_of_scope"},
	} {
		before := h.Stats().Reads["desk"]
		o := h.Call(t.Context(), tom(), ask("get_order", `{"order_id":"`+tt.id+`"}`))
		if o.State != Refused || o.Gate != GateCaller || o.Code != tt.code {
			t.Errorf("%s: %s", tt.id, o.Line())
		}
		if n := h.Stats().Reads["desk"] - before; n != 1 {
			t.Errorf("%s: %d queries", tt.id, n)
		}
		said := bytes.ReplaceAll(o.Result, []byte(tt.id), []byte("ID"))
		if words == nil {
			words = said
		}
		if !bytes.Equal(said, words) {
			t.Errorf("%s: %s, not %s", tt.id, said, words)
		}
	}
	if n := h.Stats().Runs["get_order"]; n != 0 {
		t.Errorf("%d guests were made", n)
	}
}

// I1: a refused call makes no guest, and where a gate before the caller gate
// refused, it asks no table.
func TestRefusedCallsTouchNothing(t *testing.T) {
	h := newDesk(t, "", "get_order").open(t)
	visitor := tom()
	visitor.Role = "visitor"
	nobody := Session{}
	for name, tt := range map[string]struct {
		s Session
		p Proposal
	}{
		"unknown-tool":        {tom(), ask("refund_order", `{"order_id":"LK-500000"}`)},
		"tool-in-other-case":  {tom(), ask("Get_Order", `{"order_id":"LK-500000"}`)},
		"tool-with-space":     {tom(), ask("get_order ", `{"order_id":"LK-500000"}`)},
		"no-tool":             {tom(), ask("", `{}`)},
		"no-arguments":        {tom(), ask("get_order", ``)},
		"null":                {tom(), ask("get_order", `null`)},
		"array":               {tom(), ask("get_order", `[]`)},
		"string-of-an-object": {tom(), ask("get_order", `"{\"order_id\":\"LK-500000\"}"`)},
		"deep":                {tom(), ask("get_order", strings.Repeat("[", 100_000))},
		"long":                {tom(), ask("get_order", `{"order_id":"`+strings.Repeat("9", 20_000)+`"}`)},
		"huge-exponent":       {tom(), ask("get_order", `{"order_id":1e-10000000}`)},
		"role-of-nobody":      {visitor, ask("get_order", `{"order_id":"LK-500000"}`)},
		"zero-session":        {nobody, ask("get_order", `{"order_id":"LK-500000"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			before := h.Stats()
			o := h.Call(t.Context(), tt.s, tt.p)
			after := h.Stats()
			if o.State != Refused || o.Code == "" || len(o.Result) == 0 {
				t.Errorf("outcome %+v", o)
			}
			if after.Runs["get_order"] != before.Runs["get_order"] || after.Reads["desk"] != before.Reads["desk"] {
				t.Errorf("counters went from %v to %v", before, after)
			}
		})
	}
}

// I2: zero values deny.
func TestZeroValuesDeny(t *testing.T) {
	if (Outcome{}).State != Refused {
		t.Error("the zero outcome is no refusal")
	}
	if _, err := (&filesGrant{config: &config.Files{}}).folder(Session{}); err == nil {
		t.Error("files without a folder reach one")
	}
	var u stricturl.URL
	if u.Covers(stricturl.URL{Scheme: "https", Host: "a.example", Port: 443, Path: "/"}) {
		t.Error("the zero URL covers one")
	}
	d := newDesk(t, `[tools.get_order]
plugin = "plugins/get_order"
effect = "read"
callers = []
[databases.desk]
url = "sqlite:var/desk.db"
[capabilities.orders]
kind = "records"
database = "desk"
table = "orders"
key = "order_id"
columns = ["order_id"]
scope = "everyone"
[tools.get_order.grants]
orders = { only = "{args.order_id}" }
`, "get_order")
	h := d.open(t)
	for _, role := range []string{"", "customer", "owner"} {
		o := h.Call(t.Context(), Session{Role: role}, ask("get_order", `{"order_id":"LK-500000"}`))
		if o.Code != "forbidden" || !bytes.Contains(o.Result, []byte(WordsUnknownTool)) {
			t.Errorf("role %q: %s %s", role, o.Line(), o.Result)
		}
		if tools := h.Tools(t.Context(), Session{Role: role}); len(tools) != 0 {
			t.Errorf("role %q sees %v", role, tools)
		}
	}
}

// I8: the guest sees the value that the gates saw, digit by digit.
func TestOneParsedValue(t *testing.T) {
	d := newDesk(t, "", "get_order")
	h := d.open(t)
	o := h.Call(t.Context(), tom(), ask("get_order", "\t{ \"order\\u005fid\" : \"LK-50000\\u0030\" }\n"))
	if o.State != OK {
		t.Fatal(o.Line(), o.Reason)
	}
	if !bytes.Contains(o.Result, []byte(`"total":100.05`)) {
		t.Errorf("the total is not the decimal of the database: %s", o.Result)
	}
	records := d.recorder.Records()
	if got := string(records[len(records)-1].Arguments.AppendJSON(nil)); got != `{"order_id":"LK-500000"}` {
		t.Errorf("the record has %s", got)
	}
}

type failingRecorder struct {
	*MemoryRecorder
	started, ended error
}

func (f failingRecorder) Started(r *Record) error {
	return errors.Join(f.started, f.MemoryRecorder.Started(r))
}

func (f failingRecorder) Ended(r *Record) error {
	return errors.Join(f.ended, f.MemoryRecorder.Ended(r))
}

// I10: no guest starts and no answer leaves that cannot be recorded.
func TestNothingUnrecorded(t *testing.T) {
	full := errors.New("disk full")
	for name, tt := range map[string]struct {
		recorder failingRecorder
		guests   uint64
	}{
		"before-the-guest":  {failingRecorder{started: full}, 0},
		"before-the-answer": {failingRecorder{ended: full}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newDesk(t, "", "get_order").open(t)
			tt.recorder.MemoryRecorder = NewMemoryRecorder(10)
			h.recorder = tt.recorder
			o := h.Call(t.Context(), tom(), ask("get_order", `{"order_id":"LK-500000"}`))
			if o.State != Refused || o.Gate != GateAudit || o.Code != "audit_unavailable" || bytes.Contains(o.Result, []byte("LK-")) {
				t.Errorf("%s %s", o.Line(), o.Result)
			}
			if n := h.Stats().Runs["get_order"]; n != tt.guests {
				t.Errorf("%d guests", n)
			}
		})
	}
}

// Calls run side by side, each with its own session; run with -race.
func TestCallsSideBySide(t *testing.T) {
	d := newDesk(t, "", "get_order")
	h := d.open(t)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			s := tom()
			s.Attributes = map[string]string{"customer": fmt.Sprintf("C-%05d", 20000+i)}
			for j := range 6 {
				own := fmt.Sprintf("LK-%06d", 500000+(i*4+j%4)*3)
				other := fmt.Sprintf("LK-%06d", 500000+((i+1)*4)*3)
				if o := h.Call(context.Background(), s, ask("get_order", `{"order_id":"`+own+`"}`)); o.State != OK || !bytes.Contains(o.Result, []byte(own)) {
					t.Errorf("own order: %s %s", o.Line(), o.Reason)
				}
				if o := h.Call(context.Background(), s, ask("get_order", `{"order_id":"`+other+`"}`)); o.Code != "other_customer" {
					t.Errorf("other order: %s", o.Line())
				}
			}
		})
	}
	wait.Wait()
	if n := len(d.recorder.Records()); n != 8*6*2 {
		t.Errorf("%d records", n)
	}
}

// A recorder in memory keeps the last records and no more.
func TestRecordsAreBounded(t *testing.T) {
	m := NewMemoryRecorder(3)
	for i := range 10 {
		if err := m.Ended(&Record{CallID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Records(); len(got) != 3 || got[0].CallID != "7" || got[2].CallID != "9" {
		t.Errorf("kept %v", got)
	}
}

// I3, I7: while the directory cannot be read, a tool that exists and one that
// does not are the same to the model.
func TestDirectoryThatCannotBeRead(t *testing.T) {
	d := newDesk(t, "", "get_order")
	h := d.open(t)
	d.sql(t, "DROP TABLE people")
	sam := Session{Subject: "usr-sam", Tenant: "larkfield", Role: "staff", Attributes: map[string]string{"customer": "C-20000"}}
	good := h.Call(t.Context(), sam, ask("get_order", `{"order_id":"LK-500000"}`))
	bad := h.Call(t.Context(), sam, ask("get_order", `{}`))
	unknown := h.Call(t.Context(), sam, ask("no_such_tool", `{}`))
	if good.Code != "unavailable" || bad.Code != "invalid_argument" || unknown.Code != "unknown_tool" {
		t.Errorf("%s, %s, %s", good.Line(), bad.Line(), unknown.Line())
	}
	if !bytes.Equal(good.Result, unknown.Result) || !bytes.Equal(bad.Result, unknown.Result) {
		t.Errorf("%s\n%s\n%s", good.Result, bad.Result, unknown.Result)
	}
	if tools := h.Tools(t.Context(), sam); len(tools) != 0 {
		t.Errorf("the session sees %v", tools)
	}
}

// The directory compares byte for byte, whatever collation its columns have.
func TestDirectoryFoldsNoCase(t *testing.T) {
	d := newDesk(t, "", "get_order")
	d.sql(t, `DROP TABLE people;
		CREATE TABLE people (subject TEXT COLLATE NOCASE, tenant TEXT COLLATE NOCASE, role TEXT COLLATE NOCASE);
		INSERT INTO people VALUES ('USR-SAM', 'larkfield', 'staff'), ('usr-sam', 'larkfield', 'staff'), ('usr-zoe', 'larkfield', 'STAFF')`)
	h := d.open(t)
	for subject, want := range map[string]State{"usr-sam": OK, "USR-SAM": OK, "Usr-Sam": Refused, "usr-zoe": Refused} {
		s := Session{Subject: subject, Tenant: "larkfield", Role: "staff", Attributes: map[string]string{"customer": "C-20000"}}
		if o := h.Call(t.Context(), s, ask("get_order", `{"order_id":"LK-500000"}`)); o.State != want {
			t.Errorf("%s: %s %s", subject, o.Line(), o.Reason)
		}
	}
}

const secretContract = `{"name":"plain","description":"d","inputSchema":{"type":"object","properties":{"id":{"type":"string","maxLength":9,"x-secret":true}},"required":["id"],"additionalProperties":false},
"outputSchema":{"type":"object","properties":{},"additionalProperties":false}}`

func TestSecretMayNotStandInWords(t *testing.T) {
	d := newDesk(t, loadConfig+"not_available = \"No {args.id}.\"\n")
	d.write(t, "plugins/plain/plugin.wasm", wasm(nil, nil))
	d.write(t, "plugins/plain/contract.json", secretContract)
	if _, err := d.tryOpen(t); err == nil || !strings.Contains(err.Error(), "{args.id} is marked x-secret") {
		t.Error(err)
	}
}

// What a guest says goes out without the secrets of its call, quoted, by line.
func TestGuestTextIsHiddenAndQuoted(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &out})
	hide := newHider([]string{"1234"})
	g := &guest{log: log, hide: hide, output: &guestOutput{log: log, hide: hide}}
	for _, part := range []string{"pin ", "12", "34\n", "\x1b[2J\u202e\nno end"} {
		if n, err := g.output.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	g.output.flush()
	g.logLine([]byte(`{"level":"info","message":"the pin is 1234\n[INFO] forged"}`))
	g.logLine([]byte("1234 raw"))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
	for _, bad := range []string{"1234", "\x1b", "\u202e", "\n[INFO] forged"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("the log holds %q:\n%s", bad, out.String())
		}
	}
	if _, _, err := g.Call(t.Context(), "toolhost", "error", []byte("first 1234")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.Call(t.Context(), "toolhost", "error", nil); err != nil {
		t.Fatal(err)
	}
	if g.text != "first (secret)" || g.ended(0, nil) == nil {
		t.Errorf("text %q, ended %v", g.text, g.ended(0, nil))
	}
}

func TestHider(t *testing.T) {
	repeated := slices.Repeat([]string{"secret"}, 50) // stands in "(secret)" itself
	for name, tt := range map[string]struct {
		secrets    []string
		said, want string
	}{
		"nothing-to-hide":          {nil, "all of it", "all of it"},
		"longest-first":            {[]string{"hunter", "hunter2xyz"}, "login with hunter2xyz failed", "login with (secret) failed"},
		"nothing-grows":            {repeated, "a secret e", "a (secret) e"},
		"short-withholds-the-text": {[]string{"2"}, "HTTP 402", "(withheld: it could hold a secret)"},
		"escaped-in-json":          {[]string{`pa"ss`}, `{"p":"pa\"ss"}`, `{"p":"(secret)"}`},
		"lines-of-a-key":           {[]string{"BEGIN\nMIIEv\nEND."}, "MIIEv", "(secret)"},
		"cut-after-hiding":         {[]string{strings.Repeat("s", 100)}, strings.Repeat("x", maxGuestText-50) + strings.Repeat("s", 100), strings.Repeat("x", maxGuestText-50) + "(secret)"},
		"empty":                    {[]string{"2"}, "", ""},
	} {
		if got := newHider(tt.secrets).text([]byte(tt.said)); got != tt.want {
			t.Errorf("%s: %.80q, want %.80q", name, got, tt.want)
		}
	}
}
