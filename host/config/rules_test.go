package config

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/decimal"
)

// ruled is testdata/good.toml, which has 35 lines, with values, facts and rules.
const ruled = `[values.limit]
type = "decimal"
roles = { customer = "100.00", staff = "unlimited" }
[tools.refund]
plugin = "plugins/refund"
effect = "read"
callers = ["staff"]
[tools.refund.facts]
order = { from = "orders", key = "{args.order_id}" }
spent = { from = "orders", sum = "total", where = { order_id = "{args.order_id}", status = "paid" } }
count = { from = "orders", count = true }
[[tools.refund.rules]]
name = "within_limit"
require = """args.amount <= values.limit
	&& args.amount > 0"""
words = "{args.amount} is too much for {facts.order.total}"
reason = "{args.amount} of {facts.spent} for {session.role}: {values.limit}"
examples = [
  { expect = "allow", args = '{"amount":1}', session = { role = "staff", customer = "C-1" }, facts = { order = { total = "1.00" }, spent = 2, paid = true }, now = "2026-10-15T09:00:00Z" },
  { expect = "refuse", args = '{"amount":2}' },
]
`

const ruledStart = 35 // lines before it

func number(t *testing.T, text string) decimal.Number {
	t.Helper()
	n, err := decimal.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Every key of values, facts and rules stands in what is read.
func TestRulesAreReadWhole(t *testing.T) {
	c, err := Parse("config.toml", []byte(readGood(t)+ruled), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	at := func(line int) Place { return Place{File: "config.toml", Line: ruledStart + line} }
	values := []Value{{
		Place: at(1), Name: "limit", Type: "decimal", lines: keyLines{"type": ruledStart + 2, "roles": ruledStart + 3},
		Roles: map[string]RoleValue{
			"customer": {Number: number(t, "100.00"), Shown: "100.00"},
			"staff":    {Number: decimal.Unlimited(), Shown: "unlimited"},
		},
	}}
	if !reflect.DeepEqual(c.Values, values) {
		t.Errorf("values\n%+v\nwant\n%+v", c.Values, values)
	}
	args := func(name string) Template {
		return Template{source: "{args." + name + "}", parts: []piece{{ref: Ref{SpaceArgs, name}}}}
	}
	facts := []Fact{
		{Place: at(9), Name: "order", From: "orders", Key: args("order_id"), lines: keyLines{"from": 44, "key": 44}},
		{Place: at(10), Name: "spent", From: "orders", Sum: "total", lines: keyLines{"from": 45, "sum": 45, "where": 45}, Where: []Condition{
			{Place: at(10), Column: "order_id", Is: args("order_id")},
			{Place: at(10), Column: "status", Is: Template{source: "paid", parts: []piece{{text: "paid"}}}},
		}},
		{Place: at(11), Name: "count", From: "orders", Count: true, lines: keyLines{"from": 46, "count": 46}},
	}
	tool := c.Tools[1]
	if !reflect.DeepEqual(tool.Facts, facts) {
		t.Errorf("facts\n%+v\nwant\n%+v", tool.Facts, facts)
	}
	if len(tool.Rules) != 1 {
		t.Fatalf("%d rules", len(tool.Rules))
	}
	r := tool.Rules[0]
	if r.Name != "within_limit" || r.Require != "args.amount <= values.limit\n\t&& args.amount > 0" || r.Place != at(12) || r.At("reason") != at(17) {
		t.Errorf("rule %+v", r)
	}
	if want := []Ref{{SpaceArgs, "amount"}, {SpaceFacts, "order.total"}}; !reflect.DeepEqual(r.Words.Refs(), want) {
		t.Errorf("words name %v", r.Words.Refs())
	}
	if want := []Ref{{SpaceArgs, "amount"}, {SpaceFacts, "spent"}, {SpaceSession, "role"}, {SpaceValues, "limit"}}; !reflect.DeepEqual(r.Reason.Refs(), want) {
		t.Errorf("reason names %v", r.Reason.Refs())
	}
	examples := []Example{
		{
			Place: at(19), Expect: "allow", Args: `{"amount":1}`, Session: map[string]string{"role": "staff", "customer": "C-1"},
			Facts: map[string]any{"order": map[string]any{"total": "1.00"}, "spent": int64(2), "paid": true}, Now: "2026-10-15T09:00:00Z",
		},
		{Place: at(20), Expect: "refuse", Args: `{"amount":2}`, Session: map[string]string{}},
	}
	if !reflect.DeepEqual(r.Examples, examples) {
		t.Errorf("examples\n%+v\nwant\n%+v", r.Examples, examples)
	}
}

// ruledRefusals is testRefusals for changes of ruled; the lines count in it.
func ruledRefusals(t *testing.T, section string, cases []refusal) {
	t.Helper()
	good := readGood(t)
	for i := range cases {
		c := &cases[i]
		if strings.Count(ruled, c.old) != 1 {
			t.Fatalf("%s: %q stands %d times", c.rule, c.old, strings.Count(ruled, c.old))
		}
		for j, want := range c.want {
			line, text, _ := strings.Cut(want, ":")
			n, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			c.want[j] = "config.toml:" + strconv.Itoa(ruledStart+n) + ": " + section + text
		}
		t.Run(c.rule, func(t *testing.T) {
			config, err := Parse("config.toml", []byte(good+strings.Replace(ruled, c.old, c.new, 1)), testOptions())
			if config != nil {
				t.Error("a config with faults was loaded")
			}
			checkFaults(t, err, c.want)
		})
	}
}

func TestRefusedFacts(t *testing.T) {
	const order, spent, count = `order = { from = "orders", key = "{args.order_id}" }`, `sum = "total", where = { order_id = "{args.order_id}", status = "paid" }`, `count = { from = "orders", count = true }`
	const forms = `needs one of key = "{args.x}" (a row), sum = "column" and count = true`
	ruledRefusals(t, "[tools.refund] facts", []refusal{
		{"no-from", order, `order = { key = "{args.order_id}" }`, []string{`9:.order.from: missing; for example from = "orders"`}},
		{"unknown-capability-suggests", order, `order = { from = "order", key = "x" }`, []string{`9:.order.from: no capability "order" (did you mean "orders"?)`}},
		{"no-form", order, `order = { from = "orders" }`, []string{"9:.order: " + forms}},
		{"key-and-sum", order, `order = { from = "orders", key = "x", sum = "total" }`, []string{"9:.order: " + forms}},
		{"sum-and-count", order, `order = { from = "orders", sum = "total", count = true }`, []string{"9:.order: " + forms}},
		{"where-with-key", order, `order = { from = "orders", key = "x", where = { a = "b" } }`, []string{"9:.order: a row is named by its key alone, without where and within"}},
		{"within-with-key", order, `order = { from = "orders", key = "x", within = { column = "b", days = 1 } }`, []string{"9:.order: a row is named by its key alone, without where and within"}},
		{"within-without-days", spent, `sum = "total", within = { column = "b" }`, []string{"10:.spent.within.days: missing; for example days = 1, which is today"}},
		{"within-of-no-day", spent, `sum = "total", within = { column = "b", days = 0 }`, []string{"10:.spent.within.days: 0 is out of bounds, from 1 to 3660"}},
		{"within-in-no-zone", spent, `sum = "total", within = { column = "b", days = 1, zone = "Local" }`, []string{`10:.spent.within.zone: "Local" is no time zone like "Europe/Paris"`}},
		{"within-misspelt", spent, `sum = "total", within = { columm = "b", days = 1 }`, []string{`10:.spent.within.columm: unknown key (did you mean "column"?); known here: column, days, zone`, `10:.spent.within.column: missing; for example column = "refunded_on"`}},
		{"count-false", count, `count = { from = "orders", count = false }`, []string{"11:.count.count: can only be true"}},
		{"count-as-a-string", count, `count = { from = "orders", count = "total" }`, []string{"11:.count.count: can only be true"}},
		{"sum-that-is-no-name", spent, `sum = "total*2"`, []string{`10:.spent.sum: "total*2" is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$`}},
		{"where-that-is-no-name", spent, `sum = "total", where = { "a b" = "x" }`, []string{`10:.spent.where."a b": "a b" is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$`}},
		{"where-as-a-string", spent, `sum = "total", where = "x"`, []string{"10:.spent.where: found a string, expected a table"}},
		{"where-as-an-integer", spent, `sum = "total", where = { a = 1 }`, []string{"10:.spent.where.a: found an integer, expected a string"}},
		{"values-in-where", spent, `sum = "total", where = { a = "{values.limit}" }`, []string{`10:.spent.where.a: "{values.limit}" may not stand here; this key takes {args.x} or {session.x}`}},
		{"facts-in-a-key", order, `order = { from = "orders", key = "{facts.spent}" }`, []string{`9:.order.key: "{facts.spent}" may not stand here; this key takes {args.x} or {session.x}`}},
		{"unknown-session-value-in-a-key", order, `order = { from = "orders", key = "{session.custmer}" }`, []string{`9:.order.key: "{session.custmer}" is no session value (customer, ticket, subject, tenant, role, id); did you mean "{session.customer}"?`}},
		{"key-without-braces", order, `order = { from = "orders", key = "args.order_id" }`, []string{`9:.order.key: "args.order_id" is literal text; write "{args.order_id}" for the value`}},
		{"unknown-key", order, `order = { from = "orders", kee = "x", key = "x" }`, []string{`9:.order.kee: unknown key (did you mean "key"?); known here: from, key, sum, count, where, within`}},
		{"fact-with-a-dash", order, `or-der = { from = "orders", key = "x" }`, []string{`9:.or-der: "or-der" is not a name ^[a-z][a-z0-9_]{0,63}$`}},
		{"fact-as-a-string", order, `order = "orders"`, []string{`9:.order: found a string, expected a table`}},
		{"facts-as-an-array", "[tools.refund.facts]\n", "[[tools.refund.facts]]\n", []string{"8:: found an array, expected a table"}},
		{"too-many-facts", count, count + "\n" + manyFacts(15), []string{"8:: 18 facts, at most 16"}},
	})
}

func manyFacts(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("f" + strconv.Itoa(i) + " = { from = \"orders\", count = true }\n")
	}
	return b.String()
}
