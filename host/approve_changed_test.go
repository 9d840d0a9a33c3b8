package host

import (
	"database/sql"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// What a person agrees to is what runs. One byte of it that is another when it
// runs, wherever it stands, and no guest starts and no row is written.

// A writing is a desk with a proposal that waits.
type writing struct {
	*writingDesk
	env    map[string]string
	kept   Approval
	before map[string]string // of files that tests change
}

// open opens the desk with the variables of its environment.
func (w *writing) open(t testing.TB) *Host {
	t.Helper()
	return w.openAs(t, func(o *Options) {
		o.Recorder = NewMemoryRecorder(100)
		o.Env = func(name string) (string, bool) { v, ok := w.env[name]; return v, ok }
	})
}

// propose makes the proposal, over a host of its own.
func (w *writing) propose(t testing.TB, s Session, tool, args string) {
	t.Helper()
	h := w.open(t)
	w.kept = proposes(t, h, s, tool, args)
	w.shut(t, h)
	w.before = map[string]string{}
	for _, name := range []string{"config.toml", "plugins/" + tool + "/plugin.wasm", "plugins/" + tool + "/contract.json"} {
		raw, err := os.ReadFile(w.path(name))
		if err != nil {
			t.Fatal(err)
		}
		w.before[name] = string(raw)
	}
}

// restore lets the proposal wait again, on the desk as it was proposed. What
// was added to the databases stays: nobody names it any more.
func (w *writing) restore(t testing.TB, env map[string]string) {
	t.Helper()
	for name, text := range w.before {
		w.write(t, name, text)
	}
	w.env = env
	w.state(t, `UPDATE approval SET state = 'waiting', code = '', ended = 0, decided = 0, approver = '', token = '', until = 0, run = '', digest = ?, content = ?, tool = ?`,
		w.kept.Digest, w.kept.Content, w.kept.Tool)
}

// within changes the config in the section that begins so.
func (w *writing) within(t testing.TB, header, old, now string) {
	t.Helper()
	raw, err := os.ReadFile(w.path("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	before, section, found := strings.Cut(string(raw), "\n"+header+"\n")
	if !found || !strings.Contains(section, old) {
		t.Fatalf("no %q in %s", old, header)
	}
	w.write(t, "config.toml", before+"\n"+header+"\n"+strings.Replace(section, old, now, 1))
}

// state runs a statement on the state database, as whoever can write its file.
func (w *writing) state(t testing.TB, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", w.path("var/state/state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// tamper changes what is kept, and its digest with it where it says so.
func (w *writing) tamper(t testing.TB, digest bool, pairs ...string) {
	t.Helper()
	content := string(w.kept.Content)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(content, pairs[i]) {
			t.Fatalf("no %q in %s", pairs[i], content)
		}
		content = strings.ReplaceAll(content, pairs[i], pairs[i+1])
	}
	w.state(t, "UPDATE approval SET content = ? WHERE id = ?", []byte(content), w.kept.ID)
	if digest {
		w.state(t, "UPDATE approval SET digest = ? WHERE id = ?", digestOf([]byte(content)), w.kept.ID)
	}
}

func waitingRefund(t testing.TB) *writing {
	t.Helper()
	w := &writing{writingDesk: refundDesk(t), env: map[string]string{"DESK": "var/desk.db"}}
	w.edit(t, `url = "sqlite:var/desk.db"`, `url = "sqlite:{env.DESK}"`)
	w.propose(t, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00,"reason":"a broken leg"}`)
	return w
}

func waitingMail(t testing.TB) *writing {
	t.Helper()
	w := &writing{writingDesk: newWritingDesk(t, writingConfig(t, "send_email"), "send_email"), env: map[string]string{"RELAY": "127.0.0.1:1"}}
	w.edit(t, `server = "127.0.0.1:8432"`, `server = "{env.RELAY}"`)
	w.propose(t, asker(), "send_email", `{"to":"nadia@example.net","subject":"Your chairs","body":"They come on Monday."}`)
	return w
}

func waitingLeave(t testing.TB) *writing {
	t.Helper()
	w := &writing{writingDesk: newWritingDesk(t, strings.ReplaceAll(writingConfig(t, "creer_demande_conges"), "127.0.0.1:8431", "127.0.0.1:1"), "creer_demande_conges")}
	w.sql(t, "INSERT INTO people VALUES ('E001', NULL, 'employee')")
	next := time.Now().AddDate(0, 1, 0).Format(time.DateOnly)
	w.propose(t, Session{Subject: "E001", Role: "employee"}, "creer_demande_conges", `{"employe_id":"E001","date_debut":"`+next+`","date_fin":"`+next+`","type_conge":"rtt"}`)
	return w
}

// written is how many rows the outboxes of the desk have.
func (w *writing) written(t testing.TB) int {
	t.Helper()
	count := len(w.rows(t, "leave.db", "SELECT id FROM demandes"))
	for _, table := range []string{"refunds", "emails", "labels"} {
		count += len(w.rows(t, "desk.db", "SELECT * FROM "+table))
	}
	return count
}

// A change is one byte, or little more, that is another since it was proposed.
type change struct {
	name string
	make func(t *testing.T, w *writing)
	want string // the outcome
	left state.ApprovalState
}

const (
	policyChanged = "refused: policy_changed (approval)"
	factsChanged  = "refused: facts_changed (approval)"
)

// inConfig is a change of one place of the config.
func inConfig(name, header, old, now string) change {
	return change{name, func(t *testing.T, w *writing) { w.within(t, header, old, now) }, policyChanged, state.Failed}
}

// run makes the change on a desk, and puts it back.
func (c change) run(t *testing.T, w *writing, subject string) {
	t.Helper()
	env := maps.Clone(w.env)
	defer w.restore(t, env)
	c.make(t, w)
	h := w.open(t)
	defer w.shut(t, h)
	o, _ := h.Approve(t.Context(), approver(t, h, subject), w.kept.ID, w.kept.Digest)
	if o.Line() != c.want {
		t.Errorf("%s: %s; want %s", o.Line(), o.Reason, c.want)
	}
	for tool, n := range h.Stats().Runs {
		if n != 0 {
			t.Errorf("%d guests of %s ran", n, tool)
		}
	}
	if n := w.written(t); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	a, err := h.Approval(t.Context(), w.kept.ID)
	if err != nil || a.State != c.left {
		t.Errorf("it is %s, %v; want %s", a.State, err, c.left)
	}
	if c.left == state.Failed && err == nil { // for good, whatever is put back
		o, _ := h.Approve(t.Context(), approver(t, h, subject), w.kept.ID, a.Digest)
		wantOutcome(t, o, "refused: not_waiting (approval)")
	}
}

const (
	theTool   = "[tools.issue_refund]"
	theGrants = "[tools.issue_refund.grants]"
	theFacts  = "[tools.issue_refund.facts]"
	theOutbox = "[capabilities.refunds]"
	theOrders = "[capabilities.orders]"
	thePast   = "[capabilities.past_refunds]"
)

// tailOf is a custom section, which changes a module and nothing that it does.
const tailOf = "\x00\x02\x01x"

func TestOneChangeOfPolicyStopsIt(t *testing.T) {
	w := waitingRefund(t)
	for _, c := range []change{
		{"module", func(t *testing.T, w *writing) {
			raw, err := os.ReadFile(w.path("plugins/issue_refund/plugin.wasm"))
			if err != nil {
				t.Fatal(err)
			}
			w.write(t, "plugins/issue_refund/plugin.wasm", string(raw)+tailOf)
		}, policyChanged, state.Failed},
		{"contract", func(t *testing.T, w *writing) {
			raw, err := os.ReadFile(w.path("plugins/issue_refund/contract.json"))
			if err != nil {
				t.Fatal(err)
			}
			w.write(t, "plugins/issue_refund/contract.json", string(raw)+" ")
		}, policyChanged, state.Failed},
		inConfig("callers", theTool, `callers = ["staff", "owner"]`, `callers = ["owner", "staff"]`),
		inConfig("approve-requester", theTool, "requester = false", "requester = true"),
		inConfig("approve-expires", theTool, `expires = "15m"`, `expires = "16m"`),
		{"approve-role", func(t *testing.T, w *writing) {
			w.within(t, theTool, `role = "owner"`, `role = "staff"`)
			w.sql(t, "INSERT INTO people VALUES ('usr-grace', 'larkfield', 'staff')")
		}, policyChanged, state.Failed},
		inConfig("not-available", theTool, "is available", "is there"),
		inConfig("limit-time", theTool, `effect = "write"`, "effect = \"write\"\nlimits = { time = \"1s\" }"),
		inConfig("limit-fuel", theTool, `effect = "write"`, "effect = \"write\"\nlimits = { fuel = 499_999_999 }"),
		inConfig("limit-memory", theTool, `effect = "write"`, "effect = \"write\"\nlimits = { memory = \"31MiB\" }"),
		inConfig("limit-argument-chars", theTool, `effect = "write"`, "effect = \"write\"\nlimits = { argument_chars = 16383 }"),
		inConfig("limit-result-chars", theTool, `effect = "write"`, "effect = \"write\"\nlimits = { result_chars = 3999 }"),
		inConfig("limit-host-calls", theTool, `effect = "write"`, "effect = \"write\"\nlimits = { host_calls = 63 }"),
		inConfig("limit-log", theTool, `effect = "write"`, "effect = \"write\"\nlimits = { log = \"1KiB\" }"),
		{"grant-more", func(t *testing.T, w *writing) {
			w.within(t, theGrants, `refunds = {}`, "refunds = {}\nlabels = { only = \"{args.order_id}\" }")
		}, "refused: not_found (caller)", state.Failed},
		inConfig("grant-less", theGrants, `orders = { only = "{args.order_id}" }`, ""),
		inConfig("fact-where", theFacts, `where = { order_id = "{args.order_id}" }`, `where = { refund_id = "{args.order_id}" }`),
		inConfig("fact-key", theFacts, `key = "{args.order_id}"`, `key = "LK-500000"`),
		inConfig("rule-name", theTool, `name = "still_refundable"`, `name = "still_refundables"`),
		inConfig("rule-words", theTool, "than you may propose", "than you can propose"),
		inConfig("rule-reason", theTool, "may refund", "can refund"),
		inConfig("rule-require", theTool, `require = "args.amount <= values.refund_limit"`, `require = "args.amount <= values.refund_limit "`),
		{"value", func(t *testing.T, w *writing) { w.edit(t, `staff = "100.00"`, `staff = "100.005"`) }, policyChanged, state.Failed},
		{"value-of-another-role", func(t *testing.T, w *writing) { w.edit(t, `owner = "unlimited"`, `owner = "100000.00"`) }, policyChanged, state.Failed},
		inConfig("outbox-row", theOutbox, `tenant = "{session.tenant}"`, `tenant = "larkfield"`),
		inConfig("outbox-row-approver", theOutbox, `"{approval.approver}"`, `"{approval.time}"`),
		inConfig("outbox-row-less", theOutbox, `, approved_by = "{approval.approver}"`, ""),
		inConfig("outbox-row-order", theOutbox, `order_id = "{args.order_id}", amount = "{args.amount}"`, `amount = "{args.amount}", order_id = "{args.order_id}"`),
		{"outbox-table", func(t *testing.T, w *writing) {
			w.sql(t, "CREATE TABLE refunds2 (refund_id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT, tenant TEXT, approved_by TEXT) STRICT")
			w.within(t, theOutbox, `table = "refunds"`, `table = "refunds2"`)
		}, policyChanged, state.Failed},
		{"outbox-types", func(t *testing.T, w *writing) {
			w.within(t, theOutbox, `amount = "decimal"`, `amount = "json"`)
		}, policyChanged, state.Failed},
		inConfig("records-scope", theOrders, `{ column = "customer_id", is = "{session.customer}", else = "other_customer" },`, ""),
		inConfig("records-scope-code", theOrders, `else = "other_customer"`, `else = "another_customer"`),
		inConfig("records-scope-value", theOrders, `is = "{session.tenant}"`, `is = "larkfield"`),
		inConfig("records-columns", theOrders, `"currency", "items"]`, `"items", "currency"]`),
		inConfig("records-types", theOrders, `, items = "json"`, ""),
		inConfig("records-of-facts", thePast, `columns = ["refund_id", "order_id", "amount"]`, `columns = ["refund_id", "order_id", "amount", "tenant"]`),
		inConfig("records-scope-of-facts", thePast, `scope = [{ column = "tenant", is = "{session.tenant}", else = "out_of_scope" }]`, `scope = "everyone"`),
		{"database-address", func(t *testing.T, w *writing) {
			w.copyDesk(t, "var/desk2.db")
			w.edit(t, `"sqlite:{env.DESK}"`, `"sqlite:var/desk2.db"`)
		}, policyChanged, state.Failed},
		{"database-address-in-the-environment", func(t *testing.T, w *writing) {
			w.copyDesk(t, "var/desk2.db")
			w.env["DESK"] = "var/desk2.db"
		}, policyChanged, state.Failed},
		{"directory-table", func(t *testing.T, w *writing) {
			w.sql(t, "CREATE TABLE people2 AS SELECT * FROM people")
			w.edit(t, `table = "people"`, `table = "people2"`)
		}, policyChanged, state.Failed},
		{"directory-roles", func(t *testing.T, w *writing) {
			w.within(t, theTool, `callers = ["staff", "owner"]`, `callers = ["staff", "owner"]`)
			w.within(t, "[directory]", `roles = ["staff", "owner"]`, `roles = ["owner"]`)
		}, policyChanged, state.Failed},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, w, "usr-grace") })
	}
	wantOutcome(t, agree(t, w.open(t), "usr-grace", w.kept), "ok") // without a change
}

// copyDesk makes another database of the same content.
func (w *writing) copyDesk(t testing.TB, name string) {
	t.Helper()
	_ = os.Remove(w.path(name)) // of an earlier case
	w.sql(t, "VACUUM INTO '"+w.path(name)+"'")
}

// Where a row goes, and by what, is a part of what was agreed to.
func TestOneChangeOfTheDeliveryStopsIt(t *testing.T) {
	const outbox, server, goes, allow = "[capabilities.emails]", "[mail.shop]", "[capabilities.demandes.deliver]", "[capabilities.rh_ecrire]"
	mail, leave := waitingMail(t), waitingLeave(t)
	for _, c := range []change{
		inConfig("mail-server", server, `"{env.RELAY}"`, `"127.0.0.1:2"`),
		{"mail-server-in-the-environment", func(_ *testing.T, w *writing) { w.env["RELAY"] = "127.0.0.1:2" }, policyChanged, state.Failed},
		inConfig("mail-security", server, `security = "none"`, `security = "starttls"`),
		{"mail-user", func(t *testing.T, w *writing) {
			w.env["PASSWORD"] = "a password"
			w.within(t, server, `security = "none"`, "security = \"none\"\nuser = \"shop\"\npassword = \"{env.PASSWORD}\"")
		}, policyChanged, state.Failed},
		inConfig("mail-from", outbox, "help@larkfield.example", "hell@larkfield.example"),
		inConfig("mail-to", outbox, `to = "{row.recipient}"`, `to = "nadia@example.org"`),
		inConfig("mail-subject", outbox, `subject = "{row.subject}", text`, `subject = "Re: {row.subject}", text`),
		inConfig("mail-text", outbox, `text = "{row.body}"`, `text = "{row.body}."`),
		inConfig("mail-tries", outbox, `text = "{row.body}"`, `text = "{row.body}", tries = 3`),
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, mail, "usr-grace") })
	}
	for _, c := range []change{
		{"webhook-url", func(t *testing.T, w *writing) {
			w.within(t, allow, `url = "http://127.0.0.1:1/demandes"`, `url = "http://127.0.0.1:1/demande"`)
			w.within(t, goes, `url = "http://127.0.0.1:1/demandes"`, `url = "http://127.0.0.1:1/demande"`)
		}, policyChanged, state.Failed},
		{"webhook-method", func(t *testing.T, w *writing) {
			w.within(t, allow, `methods = ["POST"]`, `methods = ["POST", "PUT"]`)
			w.within(t, goes, `method = "POST"`, `method = "PUT"`)
		}, policyChanged, state.Failed},
		inConfig("webhook-body", goes, `type_conge = "{row.type_conge}"`, `type_conge = "{row.date_fin}"`),
		inConfig("webhook-body-less", goes, `, type_conge = "{row.type_conge}"`, ""),
		inConfig("webhook-header", allow, `X-Utilisateur = "{session.subject}"`, `X-Utilisateurs = "{session.subject}"`),
		{"webhook-echo", func(t *testing.T, w *writing) { w.within(t, allow, `may_echo = ["{session.subject}"]`, "") }, "refused: no_row (approval)", state.Failed},
		inConfig("webhook-addresses", allow, `addresses = ["127.0.0.1/32"]`, `addresses = ["127.0.0.0/8"]`),
		inConfig("webhook-another-entry", allow, `methods = ["DELETE"]`, `methods = ["DELETE", "PATCH"]`),
		inConfig("webhook-time", allow, `kind = "fetch"`, "kind = \"fetch\"\ntime = \"1s\""),
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, leave, "E001") })
	}
}

// What decides nothing of a write does not keep it from running.
func TestWhatDecidesNothingStopsNothing(t *testing.T) {
	w := waitingRefund(t)
	for name, make := range map[string]func(t *testing.T, w *writing){
		"nothing":   func(*testing.T, *writing) {},
		"a-comment": func(t *testing.T, w *writing) { w.edit(t, "# Who may say yes", "# Whoever may say yes") },
		"another-capability": func(t *testing.T, w *writing) {
			w.within(t, "[capabilities.documents]", `"title", "body"]`, `"body", "title"]`)
		},
		"an-example": func(t *testing.T, w *writing) { w.edit(t, `"amount":100.01}`, `"amount":100.02}`) },
		"somebody-else's-token": func(t *testing.T, w *writing) {
			w.edit(t, hashOfToken(tokenOf("usr-mara")), hashOfToken("another token of mara"))
		},
		"another-database":   func(t *testing.T, w *writing) { w.sqlIn(t, "leave2.db", "CREATE TABLE x (y)") },
		"bounds-of-sessions": func(t *testing.T, w *writing) { w.edit(t, "repeats = 10_000", "repeats = 9_999") },
		"another-row": func(t *testing.T, w *writing) {
			w.sql(t, "UPDATE orders SET total = '1.00' WHERE order_id = 'LK-500003'")
		},
		"a-column-nobody-reads": func(t *testing.T, w *writing) {
			w.sql(t, "UPDATE orders SET currency = 'EUR' WHERE order_id = 'LK-500000'")
		},
		"a-refund-of-another-one": func(t *testing.T, w *writing) {
			w.sql(t, "INSERT INTO refunds VALUES ('R', 'LK-500003', '1.00', 'larkfield', 'x')")
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer w.restore(t, maps.Clone(w.env))
			make(t, w)
			h := w.open(t)
			defer w.shut(t, h)
			wantOutcome(t, agree(t, h, "usr-grace", w.kept), "ok")
			if !slices.Contains(w.rows(t, "desk.db", refundRows), fiveBack) {
				t.Error("there is no row")
			}
			w.sql(t, "DELETE FROM refunds")
		})
	}
}

// Facts that are others now are shown, and what was agreed to does not run.
func TestOneChangeOfTheFactsStopsIt(t *testing.T) {
	for name, statement := range map[string]string{
		"a-total":       "UPDATE orders SET total = '100.06' WHERE order_id = 'LK-500000'",
		"as-many-cents": "UPDATE orders SET total = '100.050' WHERE order_id = 'LK-500000'",
		"a-refund":      "INSERT INTO refunds VALUES ('R', 'LK-500000', '0.01', 'larkfield', 'x')",
	} {
		t.Run(name, func(t *testing.T) {
			w := waitingRefund(t)
			h := w.open(t)
			w.sql(t, statement)
			wantOutcome(t, agree(t, h, "usr-grace", w.kept), factsChanged)
			if slices.Contains(w.rows(t, "desk.db", refundRows), fiveBack) || h.Stats().Runs["issue_refund"] != 0 {
				t.Error("it ran")
			}
			again := approvalOf(t, h, w.kept.ID)
			if !again.Waits() || again.Digest == w.kept.Digest || again.Broken != "" {
				t.Errorf("it is %s with %s, %s", again.State, again.Digest, again.Broken)
			}
			wantOutcome(t, agree(t, h, "usr-grace", w.kept), factsChanged) // the old yes
			wantOutcome(t, agree(t, h, "usr-grace", again), "ok")
		})
	}
}

// parts are places in what is kept of the refund, and what somebody may put there.
func parts() map[string][]string {
	return map[string][]string{
		"arguments":            {`"amount":5.00,"reason"`, `"amount":9.00,"reason"`},
		"arguments-equal":      {`"amount":5.00,"reason"`, `"amount":5.0,"reason"`},
		"arguments-unread":     {`a broken leg`, `a broken egg`},
		"session-id":           {`"id":"loop-1"`, `"id":"loop-2"`},
		"session-role":         {`"role":"staff"`, `"role":"owner"`},
		"session-subject":      {`"subject":"usr-sam"`, `"subject":"usr-tom"`},
		"session-tenant":       {`"subject":"usr-sam","tenant":"larkfield"`, `"subject":"usr-sam","tenant":"larkfeild"`},
		"session-no-tenant":    {`"subject":"usr-sam","tenant":"larkfield"`, `"subject":"usr-sam","tenant":""`},
		"session-attribute":    {`"customer":"C-20000"`, `"customer":"C-20001"`},
		"session-no-attribute": {`"customer":"C-20000"`, ``},
		"session-more":         {`"customer":"C-20000"`, `"customer":"C-20000","ticket":"T-1"`},
		"facts":                {`"total":100.05`, `"total":999.05`},
		"facts-sum":            {`"refunded":0`, `"refunded":1`},
		"row":                  {`"amount":5.00,"tenant"`, `"amount":4.00,"tenant"`},
		"row-tenant":           {`"tenant":"larkfield"},"session"`, `"tenant":"bramble"},"session"`},
		"row-approver":         {`"approved_by":"{approval.approver}"`, `"approved_by":"usr-grace"`},
		"row-id":               {`"refund_id":"{approval.id}"`, `"refund_id":"{approval.time}"`},
		"row-more":             {`"row":{`, `"row":{"note":"x",`},
		"delivery":             {`,"facts"`, `,"delivery":{"mail":"x"},"facts"`},
		"policy":               {`"policy":"sha256:`, `"policy":"sha512:`},
		"table":                {`"table":"desk.refunds"`, `"table":"desk.emails"`},
		"tool":                 {`"tool":"issue_refund"`, `"tool":"send_email"`},
		"a-space":              {`,"facts"`, `, "facts"`},
		"a-second-name":        {`"amount":5.00,"reason"`, `"amount":5.00,"amount":5.00,"reason"`},
		"no-json":              {`{"arguments"`, `{{"arguments"`},
	}
}

// A byte of what is kept that somebody has changed is found by its digest.
func TestOneByteOfWhatIsKeptStopsIt(t *testing.T) {
	w := waitingRefund(t)
	// Where it is who asked that was changed nobody may approve it, and it waits
	// for nobody until it expires.
	nobodys := []string{"session-tenant", "session-no-tenant", "a-second-name", "no-json"}
	for name, pairs := range parts() {
		t.Run(name, func(t *testing.T) {
			c := change{name, func(t *testing.T, w *writing) { w.tamper(t, false, pairs...) }, policyChanged, state.Failed}
			if slices.Contains(nobodys, name) {
				c.want, c.left = "refused: not_allowed (approval)", state.Waiting
			}
			c.run(t, w, "usr-grace")
		})
	}
	for name, statement := range map[string]string{
		"digest": "UPDATE approval SET digest = 'sha256:00'",
		"tool":   "UPDATE approval SET tool = 'issue_refunds'",
		"empty":  "UPDATE approval SET content = x''",
	} {
		t.Run("column-"+name, func(t *testing.T) {
			defer w.restore(t, w.env)
			w.state(t, statement)
			h := w.open(t)
			defer w.shut(t, h)
			if o := agree(t, h, "usr-grace", w.kept); o.State != Refused || h.Stats().Runs["issue_refund"] != 0 || w.written(t) != 0 {
				t.Errorf("%s, %d rows", o.Line(), w.written(t))
			}
		})
	}
}

// Who changes what is kept and its digest too cannot change what a person has
// seen: their yes names the digest of that.
func TestWhatIsKeptIsChangedWithItsDigest(t *testing.T) {
	// Whoever looks again sees what was put there. These alone could then be
	// approved: they are proposals that somebody could have made.
	possible := []string{"arguments-unread", "session-id", "session-more"}
	w := waitingRefund(t)
	h := w.open(t)
	for name, pairs := range parts() {
		t.Run(name, func(t *testing.T) {
			defer w.restore(t, w.env)
			defer w.sql(t, "DELETE FROM refunds")
			w.tamper(t, true, pairs...)
			started := h.Stats().Runs["issue_refund"]
			o := agree(t, h, "usr-grace", w.kept)
			if o.State != Refused || h.Stats().Runs["issue_refund"] != started || w.written(t) != 0 {
				t.Errorf("the yes to what was shown first: %s: %s, %d rows", o.Line(), o.Reason, w.written(t))
			}
			now := approvalOf(t, h, w.kept.ID)
			if !now.Waits() {
				return
			}
			o = agree(t, h, "usr-grace", now)
			if (o.State == OK) != slices.Contains(possible, name) {
				t.Errorf("the yes to what is shown now: %s: %s", o.Line(), o.Reason)
			}
			if o.State != OK && w.written(t) != 0 {
				t.Error("a row was written")
			}
		})
	}
	// All that follows from another amount is changed with it: it is a proposal
	// that nobody has made, and is shown as what it is. See docs/threat-model.md.
	t.Run("a-whole-proposal", func(t *testing.T) {
		w := waitingRefund(t)
		w.tamper(t, true, "5.00", "9.00")
		h := w.open(t)
		wantOutcome(t, agree(t, h, "usr-grace", w.kept), factsChanged)
		now := approvalOf(t, h, w.kept.ID)
		if amount, _ := now.Shown.Row.Get("amount"); shownJSON(amount) != "9.00" {
			t.Errorf("shown is %s", shownJSON(amount))
		}
		w.tamper(t, true, "5.00", "900.00") // the rules hold for what is put there, too
		now = approvalOf(t, h, w.kept.ID)
		wantOutcome(t, agree(t, h, "usr-grace", now), "refused: write_refused (rules)")
		if w.written(t) != 0 {
			t.Error("a row was written")
		}
	})
}

// Who sets what has ended back to waiting gets no second row: the table has one
// for this id already.
func TestReplayedApprovalWritesNothing(t *testing.T) {
	w := waitingRefund(t)
	h := w.open(t)
	wantOutcome(t, agree(t, h, "usr-grace", w.kept), "ok")
	w.state(t, "UPDATE approval SET state = 'waiting', ended = 0, token = '', content = ?, digest = ?", w.kept.Content, w.kept.Digest)
	wantOutcome(t, agree(t, h, "usr-grace", w.kept), factsChanged) // what it has paid back itself is a fact
	again := approvalOf(t, h, w.kept.ID)
	wantOutcome(t, agree(t, h, "usr-grace", again), "failed: overtaken (result)")
	w.wantRows(t, fiveBack)
	wantStanding(t, h, w.kept.ID, state.Done, "")
}

// Each kept part stands in the content under its name, and two that differ give
// two digests, however they are cut.
func TestDigestsDiffer(t *testing.T) {
	d := refundDesk(t)
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	seen := map[string]string{}
	for _, s := range []Session{
		asker(),
		{ID: "loop-1", Subject: "usr-sam", Tenant: "larkfield", Role: "staff", Attributes: map[string]string{"customer": "C-20000", "ticket": "T"}},
		{ID: "loop-1", Subject: "usr-sam", Tenant: "larkfield", Role: "staff", Attributes: map[string]string{"customer": "C-20000", "ticket": "T\""}},
		{ID: "loop-1T", Subject: "usr-sam", Tenant: "larkfield", Role: "staff", Attributes: map[string]string{"customer": "C-20000"}},
	} {
		for _, amount := range []string{"5", "5.0", "5.00", "5.000", "6"} {
			a := proposes(t, h, s, "issue_refund", `{"order_id":"LK-500000","amount":`+amount+`}`)
			if other, taken := seen[a.Digest]; taken {
				t.Errorf("%v of %s has the digest of %s", s, amount, other)
			}
			seen[a.Digest] = fmt.Sprint(s, amount)
			wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-grace"), a.ID, a.Digest), "ok")
		}
	}
	if len(slices.Collect(maps.Keys(seen))) != 20 {
		t.Errorf("%d digests of 20", len(seen))
	}
}

// Nor is a mail sent again by itself, of which nobody knows whether it was sent.
func TestReplayedMailIsNotSentAgain(t *testing.T) {
	d := newWritingDesk(t, writingConfig(t, "send_email"), "send_email")
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) }) // the log would know that it has ended
	a := proposes(t, h, asker(), "send_email", `{"to":"nadia@example.net","subject":"Your chairs","body":"On Monday."}`)
	wantOutcome(t, agree(t, h, "usr-grace", a), "ok")
	d.sqlIn(t, "state/state.db", "UPDATE approval SET state = 'waiting', ended = 0, token = '', delivery = ''")
	wantOutcome(t, agree(t, h, "usr-grace", a), "failed: overtaken (result)")
	wantStanding(t, h, a.ID, state.Unknown, codeDeliveryUnknown)
	if all := deliverDue(t, h); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}
