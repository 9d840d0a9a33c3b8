package host

import (
	"context"
	"strings"
	"testing"
	"time"
)

// BenchmarkRules is the rules gate: three rules and two facts, the facts alone,
// which are two queries, and one rule. What the database does not take is the
// first less the second.
func BenchmarkRules(b *testing.B) {
	d := newPayDesk(b, effectWrite, payLimit+payOrder+strings.TrimPrefix(paySpent, "[tools.pay.facts]\n")+
		payRule("within_limit", "args.amount <= values.limit", "")+
		payRule("still_refundable", "args.amount <= facts.order.total - facts.spent", "")+
		payRule("is_shipped", `facts.order.status in ["shipped", "delivered"]`, ""))
	d.sql(b, "CREATE INDEX refunds_by_order ON refunds (tenant, order_id); INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('RF-1', 'LK-500000', '9.95', 'larkfield')")
	h := d.open(b)
	e, _ := h.enterSession(staff(), ask("pay", `{"order_id":"LK-500000","amount":5.00}`), &Record{CallID: "id"}, &trail{})
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
	for i := range a.tool.rules.rules {
		rule := &a.tool.rules.rules[i]
		b.Run("one-rule/"+rule.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if holds, err := rule.compiled.Holds(in); !holds {
					b.Fatal(err)
				}
			}
		})
	}
}
