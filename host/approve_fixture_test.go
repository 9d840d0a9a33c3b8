package host

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/hosttest"
	"github.com/toolhost/toolhost/host/state"
)

// What the tests of approvals share: a desk whose tools write, people who may
// agree, and a clock that can be moved.

// tokenOf is the token of a person of the desk.
func tokenOf(subject string) string { return "the token of " + subject + " and of nobody else" }

func hashOfToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// compiled is a folder of compiled modules for all tests of this process.
var compiled = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("toolhost-host-test-modules-%d", os.Getuid()))
	return dir, os.MkdirAll(dir, 0o700)
})

// writingConfig is the config of the root with these tools alone, whose
// approvers have the tokens of tokenOf.
func writingConfig(t testing.TB, tools ...string) string {
	t.Helper()
	raw, err := os.ReadFile("../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, who := range []string{"usr-grace", "usr-mara", "E001"} {
		text = replaceOnce(t, text, fmt.Sprintf(`"file:var/keys/%s.sha256"`, who), fmt.Sprintf("%q", hashOfToken(tokenOf(who))))
	}
	return hosttest.WideBounds(hosttest.OnlyTools(text, tools...))
}

func replaceOnce(t testing.TB, text, old, now string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q stands %d times in the text", old, n)
	}
	return strings.Replace(text, old, now, 1)
}

// A writingDesk is a desk whose tools write.
type writingDesk struct {
	*desk
	ahead  atomic.Int64 // of the clock, in nanoseconds
	closed map[*Host]bool
}

// newWritingDesk makes a desk with the given config and plugins. A plugin
// "issue_refund=asks_twice" is issue_refund with the module of another.
func newWritingDesk(t testing.TB, config string, plugins ...string) *writingDesk {
	t.Helper()
	d := &writingDesk{desk: newDesk(t, config), closed: map[*Host]bool{}}
	d.notices(t)
	for _, name := range plugins {
		tool, other, replaced := strings.Cut(name, "=")
		d.plugin(t, tool)
		if replaced {
			guest, err := hosttest.Build("..", other)
			if err != nil {
				t.Fatal(err)
			}
			d.write(t, "plugins/"+tool+"/plugin.wasm", string(guest.Module))
		}
	}
	d.sql(t, `INSERT INTO people VALUES ('usr-grace', 'larkfield', 'owner'), ('usr-mara', 'larkfield', 'owner'), ('usr-ines', 'bramble', 'owner');
		INSERT INTO orders VALUES ('BB-640436', 'bramble', 'C-99', 'delivered', '2026-10-01', NULL, NULL, '9.95', '99.00', 'CAD', '"a table"');
		INSERT INTO customers VALUES ('C-20000', 'larkfield', 'Nadia', 'nadia@example.net')`)
	return d
}

// refundDesk is a desk that pays back.
func refundDesk(t testing.TB) *writingDesk {
	t.Helper()
	return newWritingDesk(t, writingConfig(t, "issue_refund"), "issue_refund")
}

// asker is who asks; the order LK-500000 of 100.05 is of his customer.
func asker() Session {
	return Session{ID: "loop-1", Subject: "usr-sam", Tenant: "larkfield", Role: "staff", Attributes: map[string]string{"customer": "C-20000"}}
}

func (d *writingDesk) options(t testing.TB) Options {
	t.Helper()
	cache, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Program: "a test", Cache: cache, Clock: func() time.Time { return time.Now().Add(time.Duration(d.ahead.Load())) }}
}

// pass lets time pass.
func (d *writingDesk) pass(by time.Duration) { d.ahead.Add(int64(by)) }

// openAs opens the desk with the log of its config.
func (d *writingDesk) openAs(t testing.TB, change func(*Options)) *Host {
	t.Helper()
	o := d.options(t)
	if change != nil {
		change(&o)
	}
	h, err := Open(t.Context(), d.path("config.toml"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.shut(t, h) })
	return h
}

// shut closes a host, once.
func (d *writingDesk) shut(t testing.TB, h *Host) {
	t.Helper()
	if d.closed[h] {
		return
	}
	d.closed[h] = true
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// edit changes the config in one place.
func (d *writingDesk) edit(t testing.TB, old, now string) {
	t.Helper()
	raw, err := os.ReadFile(d.path("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "config.toml", replaceOnce(t, string(raw), old, now))
}

// rows gives the lines of a query on a database of the desk.
func (d *writingDesk) rows(t testing.TB, file, query string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", d.path("var/"+file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		parts := make([]string, len(values))
		for i, v := range values {
			parts[i] = v.String
		}
		out = append(out, strings.Join(parts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

const fiveBack = "LK-500000|5.00|larkfield|usr-grace"

const refundRows = "SELECT order_id, amount, tenant, approved_by FROM refunds ORDER BY order_id, amount"

func (d *writingDesk) wantRows(t testing.TB, want ...string) {
	t.Helper()
	if got := d.rows(t, "desk.db", refundRows); !slices.Equal(got, want) {
		t.Errorf("the rows are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// proposes makes a proposal that must wait, and gives its approval as it is shown.
func proposes(t testing.TB, h *Host, s Session, tool, args string) Approval {
	t.Helper()
	o := h.Call(t.Context(), s, ask(tool, args))
	if o.State != Pending || o.Approval == "" {
		t.Fatalf("%s %s: %s, %s", tool, args, o.Line(), o.Reason)
	}
	return approvalOf(t, h, o.Approval)
}

func approvalOf(t testing.TB, h *Host, id string) Approval {
	t.Helper()
	a, err := h.Approval(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func approver(t testing.TB, h *Host, subject string) Approver {
	t.Helper()
	who, err := h.Approver(tokenOf(subject))
	if err != nil {
		t.Fatal(subject, err)
	}
	return who
}

// agree is the yes of a person to what was shown.
func agree(t testing.TB, h *Host, subject string, a Approval) Outcome {
	t.Helper()
	o, _ := h.Approve(t.Context(), approver(t, h, subject), a.ID, a.Digest)
	return o
}

func wantStanding(t testing.TB, h *Host, id string, want state.ApprovalState, code string) {
	t.Helper()
	if a := approvalOf(t, h, id); a.State != want || a.Code != code {
		t.Errorf("the approval is %s %q, want %s %q", a.State, a.Code, want, code)
	}
}

func wantOutcome(t testing.TB, o Outcome, want string) {
	t.Helper()
	if o.Line() != want {
		t.Errorf("%s: %s; want %s", o.Line(), o.Reason, want)
	}
}

// wantVerified holds the desk's log against itself. No host has it open.
func (d *writingDesk) wantVerified(t testing.TB) {
	t.Helper()
	report, err := audit.Verify(d.path("var/audit"), audit.VerifyOptions{KeyFile: d.path("var/keys/audit.key")})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) > 0 {
		t.Errorf("the log does not hold: %v", report.Findings)
	}
}

// said gives what the log says of approvals, oldest first: "ended pending",
// "decided approved", "started", "ended ok".
func (d *writingDesk) said(t testing.TB, id string) []string {
	t.Helper()
	var out []string
	for _, rec := range d.read(t, audit.Filter{}) {
		e := rec.Entry
		if e.Call == nil || e.Call.Approval == nil || e.Call.Approval.ID != id {
			continue
		}
		word := string(e.Kind)
		if e.Kind == audit.Decided {
			word += " " + e.Call.Approval.Word
		}
		if e.Kind == audit.Ended {
			word += " " + e.Call.Outcome
		}
		out = append(out, word)
	}
	return out
}

// rounds is how often a race is run: more in the nightly run.
func rounds(now, nightly int) int {
	if os.Getenv("TOOLHOST_NIGHTLY") == "1" {
		return nightly
	}
	return now
}

// proved is somebody who has proved who they are, whether the config has a token
// of them or not.
func proved(h *Host, subject string) Approver {
	if subject == "" {
		return Approver{}
	}
	hash := strings.TrimPrefix(hashOfToken(tokenOf(subject)), "sha256:")
	if !h.holdsToken(Approver{subject, hash}) {
		h.config.Approvers = append(h.config.Approvers, config.Approver{Subject: subject, Hash: hash})
	}
	return Approver{subject, hash}
}
