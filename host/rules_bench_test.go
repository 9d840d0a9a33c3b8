package host

import (
	"context"
	"testing"
	"time"
)

// benchRules is a tool with three rules and two facts, as issue_refund has them.
const benchRules = `[databases.desk]
url = "sqlite:var/desk.db"
[capabilities.orders]
kind = "records"
database = "desk"
table = "orders"
key = "order_id"
columns = ["order_id", "status", "total"]
types = { total = "decimal" }
scope = [{ column = "tenant", is = "{session.tenant}", else = "out_of_scope" }]
[capabilities.past]
kind = "records"
database = "desk"
table = "past"
key = "refund_id"
columns = ["refund_id", "order_id", "amount"]
types = { amount = "decimal" }
scope = [{ column = "tenant", is = "{session.tenant}", else = "out_of_scope" }]
[values.refund_limit]
type = "decimal"
roles = { customer = "1000.00" }
[tools.refund]
plugin = "plugins/refund"
effect = "write"
callers = ["customer"]
[tools.refund.facts]
order = { from = "orders", key = "{args.order_id}" }
refunded = { from = "past", sum = "amount", where = { order_id = "{args.order_id}" } }
[[tools.refund.rules]]
name = "within_limit"
require = "args.amount <= values.refund_limit"
examples = [
  { expect = "allow", args = '{"order_id":"LK-500000","amount":5}', session = { role = "customer" } },
  { expect = "refuse", args = '{"order_id":"LK-500000","amount":5000}', session = { role = "customer" } },
]
[[tools.refund.rules]]
name = "still_refundable"
require = "args.amount <= facts.order.total - facts.refunded"
examples = [
  { expect = "allow", args = '{"order_id":"LK-500000","amount":5}', facts = { order = { total = "216.00" }, refunded = "9.95" } },
  { expect = "refuse", args = '{"order_id":"LK-500000","amount":500}', facts = { order = { total = "216.00" }, refunded = "9.95" } },
]
[[tools.refund.rules]]
name = "is_shipped"
require = 'facts.order.status in ["shipped", "delivered"]'
examples = [
  { expect = "allow", args = '{"order_id":"LK-500000","amount":5}', facts = { order = { status = "shipped" } } },
  { expect = "refuse", args = '{"order_id":"LK-500000","amount":5}', facts = { order = { status = "open" } } },
]
`

const refundContract = `{"name":"refund","description":"Pays back.","inputSchema":{"type":"object","additionalProperties":false,"required":["order_id","amount"],
"properties":{"order_id":{"type":"string","maxLength":9},"amount":{"type":"number","exclusiveMinimum":0,"maximum":100000}}},
"outputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`

// BenchmarkRules is the rules gate: its three rules and two facts, the facts
// alone, which are two queries, and one rule. What the database does not take
// is the first less the second.
func BenchmarkRules(b *testing.B) {
	d := newDesk(b, benchRules)
	d.sql(b, `CREATE TABLE past (refund_id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT, tenant TEXT) STRICT;
		CREATE INDEX past_by_order ON past (tenant, order_id);
		INSERT INTO past VALUES ('RF-1', 'LK-500000', '9.95', 'larkfield')`)
	d.write(b, "plugins/refund/contract.json", refundContract)
	h := d.open(b)
	e, _ := h.enterSession(tom(), ask("refund", `{"order_id":"LK-500000","amount":5.00}`), &Record{CallID: "id"}, &trail{})
	c, err := h.checkContract(e)
	if err != nil {
		b.Fatal(err)
	}
	a := asked{checked: c}
	b.Run("three-rules-two-facts", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a.trail = &trail{}
			if _, err := h.checkRules(b.Context(), a, &Record{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("two-facts-alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, cancel := context.WithTimeout(b.Context(), gateTime)
			if _, err := a.fetchFacts(ctx, time.Now()); err != nil {
				b.Fatal(err)
			}
			cancel()
		}
	})
	r := ruled{asked: a}
	in, err := h.ruleInput(b.Context(), &r)
	if err != nil {
		b.Fatal(err)
	}
	for name, i := range map[string]int{"one-rule-role-limit": 0, "one-rule-still-refundable": 1, "one-rule-in-list": 2} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := r.decide(&a.tool.rules.rules[i], in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
