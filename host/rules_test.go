package host

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

const (
	paid = `{"order_id":"LK-500000","amount":5}` // 100.05 of larkfield, shipped
	told = `{"ok":false,"error":"No."}`
)

// payCase is a call that a rule must not let through, or must.
type payCase struct {
	facts, condition string
	sql              string // before the host opens
	session          Session
	args             string
	passes           bool
	reason           string // of the refusal
	unavailable      bool
}

func undecidedCases() map[string]payCase {
	long := staff()
	long.Attributes = map[string]string{"customer": strings.Repeat("x", 3<<20)}
	stranger := staff()
	stranger.Tenant = ""
	with := func(more string) string { return strings.TrimSuffix(paid, "}") + more + "}" }
	return map[string]payCase{
		"it-holds":                       {condition: "args.amount == 5", passes: true},
		"it-is-false":                    {condition: "args.amount != 5", reason: "r"},
		"null-column":                    {facts: payOrder, condition: `facts.order.shipped_on == date("2026-10-01")`, reason: "facts.order.shipped_on has no value"},
		"null-column-is-not-unequal":     {facts: payOrder, condition: `facts.order.shipped_on != date("2026-10-01")`, reason: "facts.order.shipped_on has no value"},
		"null-column-negated":            {facts: payOrder, condition: `!(facts.order.shipped_on == date("2026-10-01"))`, reason: "facts.order.shipped_on has no value"},
		"missing-row":                    {facts: payOrder, condition: "facts.order.total > 0", args: `{"order_id":"LK-999999","amount":5}`, reason: "facts.order has no value"},
		"missing-row-asked-for":          {facts: payOrder, condition: "has(facts.order)", args: `{"order_id":"LK-999999","amount":5}`, reason: "r"},
		"row-of-another-tenant":          {facts: payOrder, condition: "facts.order.total > 0", sql: "UPDATE orders SET tenant = 'bramble'", reason: "facts.order has no value"},
		"row-in-another-case":            {facts: payOrder, condition: "facts.order.total > 0", args: `{"order_id":"lk-500000","amount":5}`, reason: "facts.order has no value"},
		"session-without-a-tenant":       {facts: payOrder, condition: "facts.order.total > 0", session: stranger, reason: "facts.order has no value"},
		"sum-without-a-tenant":           {facts: paySpent, condition: "facts.spent == 0", session: stranger, reason: "facts.spent has no value"},
		"absent-session-attribute":       {condition: `session.customer != "C-1"`, reason: "session.customer has no value"},
		"absent-argument":                {condition: `args.note != "x"`, reason: "args.note has no value"},
		"absent-argument-or-true":        {condition: `args.note == "x" || args.amount == 5`, reason: "args.note has no value"},
		"absent-list":                    {condition: `args.lines.all(l, l > 0)`, reason: "args.lines has no value"},
		"too-many-digits":                {condition: "args.amount * 1e190 * 1e60 > 0", reason: "not exact"},
		"division-by-zero":               {condition: "1 / (args.amount - 5) > 0", reason: "division by zero"},
		"remainder-by-zero":              {condition: "1 % (args.amount - 5) == 0", reason: "division by zero"},
		"inexact-division":               {condition: "args.amount / 3 > 0", reason: "not exact"},
		"unlimited-minus-unlimited":      {facts: payLimit, condition: "values.limit - values.limit >= 0", session: owner(), reason: "undefined"},
		"unlimited-allows":               {facts: payLimit, condition: "args.amount <= values.limit", session: owner(), args: `{"order_id":"LK-500000","amount":100000}`, passes: true},
		"limit-is-inclusive":             {facts: payLimit, condition: "args.amount <= values.limit", args: `{"order_id":"LK-500000","amount":100.000}`, passes: true},
		"limit-of-the-role":              {facts: payLimit, condition: "args.amount <= values.limit", args: `{"order_id":"LK-500000","amount":100.0000001}`, reason: "r"},
		"over-cost":                      {condition: `session.customer.lowerAscii() == session.customer`, session: long, reason: "cost"},
		"day-out-of-range":               {condition: `args.on - days(1) < date(now)`, args: with(`,"on":"0001-01-01"`), reason: "out of range"},
		"long-ago-is-not-far-ahead":      {condition: `date("1734-07-01") - date("2026-10-15") >= days(2)`, reason: "r"},
		"error-in-a-loop":                {condition: `args.lines.exists(l, 1 / l > 0)`, args: with(`,"lines":[1,0]`), passes: true},
		"error-in-a-loop-stays-an-error": {condition: `args.lines.all(l, 1 / l > 0)`, args: with(`,"lines":[1,0]`), reason: "division by zero"},
		"sum-of-no-rows-is-0":            {facts: paySpent, condition: "facts.spent == 0", passes: true},
		"sum-is-exact":                   {facts: paySpent, condition: "facts.spent == 0.3", sql: "INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('a','LK-500000','0.1','larkfield'),('b','LK-500000','0.20','larkfield')", passes: true},
		"rows-of-another-tenant":         {facts: paySpent, condition: "facts.spent == 1", sql: "INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('a','LK-500000','1','larkfield'),('b','LK-500000','1000','bramble'),('c','LK-500000','1000',NULL),('d','LK-500000','1000','LARKFIELD')", passes: true},
		"rows-of-another-order":          {facts: payCount, condition: "facts.spent == 1", sql: "INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('a','LK-500000','x','larkfield'),('b','lk-500000','1','larkfield'),('c',NULL,'1','larkfield')", passes: true},
		"sum-over-null":                  {facts: paySpent, condition: "facts.spent < 1000", sql: "INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('a','LK-500000',NULL,'larkfield')", unavailable: true, reason: "is NULL"},
		"sum-over-a-text":                {facts: paySpent, condition: "facts.spent < 1000", sql: "INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('a','LK-500000','1,00','larkfield')", unavailable: true, reason: "a text that is no decimal"},
		"sum-over-infinity":              {facts: paySpent, condition: "facts.spent < 1000", sql: "INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('a','LK-500000','-Infinity','larkfield')", unavailable: true, reason: "a text that is no decimal"},
		"sum-over-a-float":               {facts: payPoints, condition: "facts.spent < 1000", sql: "INSERT INTO points VALUES ('a','x',0.5)", unavailable: true, reason: "a float"},
		"sum-over-too-many-rows": {
			facts: payPoints, condition: "facts.spent < 1000000", unavailable: true, reason: "more than 10000 rows",
			sql: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 10001) INSERT INTO points SELECT 'p' || i, 'x', 1 FROM n",
		},
		"sum-over-as-many-rows-as-may-be": {
			facts: payPoints, condition: "facts.spent == 10000", passes: true,
			sql: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 10000) INSERT INTO points SELECT 'p' || i, 'x', 1 FROM n",
		},
		"where-by-a-fraction-of-an-integer": {facts: payWhere, condition: "facts.spent == 0", args: `{"order_id":"LK-500000","amount":5.5}`, reason: "cannot be compared with its column exactly"},
		"where-by-an-integer":               {facts: payWhere, condition: "facts.spent == 1", args: `{"order_id":"LK-500000","amount":5}`, sql: "INSERT INTO points VALUES ('a','x',5),('b','x',6)", passes: true},
		"column-that-is-not-what-it-says":   {facts: payOrder, condition: "facts.order.total > 0", sql: "UPDATE orders SET total = 'many'", unavailable: true, reason: "no decimal"},
	}
}

// A rule that cannot be decided refuses, whatever it is that keeps it from it
// (I3); no guest starts, of a read or a write, and the model gets the words.
func TestNoRuleOpensAGate(t *testing.T) {
	for name, c := range undecidedCases() {
		for effect, code := range map[string]string{effectRead: codeRuleRefused, effectWrite: codeWriteRefused} {
			t.Run(name+"/"+effect, func(t *testing.T) {
				d := newPayDesk(t, effect, c.facts+payRule("r", c.condition, `words = "No."`))
				if c.sql != "" {
					d.sql(t, c.sql)
				}
				c.hold(t, d.open(t), code)
			})
		}
	}
}

// hold makes the call and holds the outcome against what was to come.
func (c payCase) hold(t *testing.T, h *Host, code string) {
	t.Helper()
	s, args, words := c.session, c.args, told
	if s.Role == "" {
		s = staff()
	}
	if args == "" {
		args = paid
	}
	if c.unavailable {
		code, words = codeUnavailable, `{"ok":false,"error":"`+wordsUnavailable+`"}`
	}
	o := h.Call(t.Context(), s, ask("pay", args))
	switch {
	case c.passes:
		if !passesRules(h, o, 0) {
			t.Errorf("%s: %s", o.Line(), o.Reason)
		}
		return
	case o.State != Refused || o.Gate != GateRules || o.Code != code || !strings.Contains(o.Reason, c.reason):
		t.Errorf("%s: %s, want %s and %s", o.Line(), o.Reason, code, c.reason)
	}
	if strings.Contains(o.Reason, "could not be decided") { // the rule's own words would say that it is false
		words = `{"ok":false,"error":"` + wordsRules + `"}`
	}
	if string(o.Result) != words {
		t.Errorf("the model gets %s", o.Result)
	}
	if n := h.Stats().Runs["pay"]; n != 0 {
		t.Errorf("%d guests were made", n)
	}
}

// While a writer holds the database, or a table is gone, what rules need cannot
// be known.
func TestRulesWithoutTheirDatabase(t *testing.T) {
	c := payCase{unavailable: true}
	t.Run("locked", func(t *testing.T) {
		d := newPayDesk(t, effectWrite, paySpent+payRule("r", "facts.spent == 0", ""))
		h := d.open(t)
		writer, err := sql.Open("sqlite", filepath.Join(d.dir, "var", "desk.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		writer.SetMaxOpenConns(1)
		if _, err := writer.Exec("BEGIN EXCLUSIVE"); err != nil {
			t.Fatal(err)
		}
		c.reason = "database is locked"
		c.hold(t, h, "")
		if _, err := writer.Exec("COMMIT"); err != nil {
			t.Fatal(err)
		}
		if o := h.Call(t.Context(), staff(), ask("pay", paid)); !passesRules(h, o, 0) {
			t.Errorf("afterwards: %s %s", o.Line(), o.Reason)
		}
	})
	t.Run("without-its-table", func(t *testing.T) {
		d := newPayDesk(t, effectRead, paySpent+payRule("r", "facts.spent == 0", ""))
		h := d.open(t)
		d.sql(t, "DROP TABLE refunds")
		c.reason = "no such table"
		c.hold(t, h, "")
	})
	t.Run("with-another-database-in-its-place", func(t *testing.T) {
		d := newPayDesk(t, effectRead, paySpent+payRule("r", "facts.spent == 0", ""))
		h := d.open(t)
		d.sql(t, "ALTER TABLE refunds RENAME COLUMN tenant TO other")
		c.reason = "no such column"
		c.hold(t, h, "")
	})
}
