package host

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// payRules are several rules of one tool, in order.
func payRules(conditions ...string) string {
	var b strings.Builder
	for i, c := range conditions {
		b.WriteString(payRule(fmt.Sprintf("rule_%d", i+1), c, fmt.Sprintf("words = \"Rule %d.\"", i+1)))
	}
	return b.String()
}

// The first rule that fails, in the order of the config, is the one that is
// recorded and whose words the model gets, whether it is false or errs.
func TestFirstRuleIsTheOne(t *testing.T) {
	const no, err, yes = "args.amount == 0", `args.note == "x"`, "args.amount == 5"
	for name, c := range map[string]struct {
		rules []string
		want  int // 0: all hold
	}{
		"all-hold":              {[]string{yes, yes, yes}, 0},
		"first":                 {[]string{no, no, err}, 1},
		"last":                  {[]string{yes, yes, no}, 3},
		"error-before-a-false":  {[]string{yes, err, no}, 2},
		"false-before-an-error": {[]string{no, err, yes}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPayDesk(t, effectRead, payRules(c.rules...))
			h := d.open(t)
			o := h.Call(t.Context(), staff(), ask("pay", paid))
			if c.want == 0 {
				if !passesRules(h, o, 0) {
					t.Errorf("%s: %s", o.Line(), o.Reason)
				}
				return
			}
			words := fmt.Sprintf("Rule %d.", c.want)
			if c.rules[c.want-1] == err { // the rule's words say that it is false, which nobody knows
				words = wordsRules
			}
			if string(o.Result) != `{"ok":false,"error":"`+words+`"}` {
				t.Errorf("the model gets %s", o.Result)
			}
			records := d.recorder.Records()
			last := records[len(records)-1]
			if last.Code != codeRuleRefused || !strings.HasPrefix(last.Reason, fmt.Sprintf("rule_%d", c.want)) || last.Started {
				t.Errorf("recorded: %s %s", last.Code, last.Reason)
			}
			config := strings.Split(payConfig+payRules(c.rules...), "\n")
			if line := config[o.Place.Line-1]; !strings.HasPrefix(line, "require =") || strings.Count(strings.Join(config[:o.Place.Line], "\n"), "require =") != c.want {
				t.Errorf("the place is line %d: %s", o.Place.Line, line)
			}
		})
	}
}

// Each fact is fetched once for a decision, however many rules read it; a tool
// without rules asks nothing, and a call that ends earlier neither.
func TestFactsAreFetchedOnce(t *testing.T) {
	const both = payOrder + `spent = { from = "refunds", sum = "amount", where = { order_id = "{args.order_id}" } }` + "\n"
	for name, c := range map[string]struct {
		config, args string
		session      Session
		reads        uint64
	}{
		"two-facts-of-three-rules":    {both + payRules("facts.order.total > facts.spent", "facts.order.total >= 0 && facts.order.total < 1000", "facts.spent == 0"), paid, staff(), 2},
		"first-rule-refuses":          {both + payRules("args.amount == 0", "facts.order.total > facts.spent"), paid, staff(), 2},
		"rules-without-facts":         {payRules("args.amount == 5"), paid, staff(), 0},
		"no-rules":                    {"", paid, staff(), 0},
		"contract-refuses-before":     {both + payRules("facts.order.total > facts.spent"), `{"order_id":"x"}`, staff(), 0},
		"caller-refuses-before":       {both + payRules("facts.order.total > facts.spent"), paid, tom(), 0},
		"session-without-the-tenant":  {both + payRules("facts.order.total > facts.spent"), paid, Session{Role: "staff"}, 0},
		"a-row-that-is-not-there-too": {both + payRules("facts.order.total > facts.spent"), `{"order_id":"x","amount":5}`, staff(), 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newPayDesk(t, effectRead, c.config).open(t)
			for i := range 3 {
				before := h.Stats().Reads["desk"]
				o := h.Call(t.Context(), c.session, ask("pay", c.args))
				if n := h.Stats().Reads["desk"] - before; n != c.reads {
					t.Errorf("call %d: %d queries, want %d; %s", i, n, c.reads, o.Line())
				}
			}
		})
	}
}

// The facts of a decision are those of the moment: nothing is kept for the next.
func TestFactsAreOfTheMoment(t *testing.T) {
	d := newPayDesk(t, effectWrite, paySpent+payRule("r", "facts.spent + args.amount <= 10", ""))
	h := d.open(t)
	for i, passes := range []bool{true, true, false} {
		if o := h.Call(t.Context(), staff(), ask("pay", paid)); passesRules(h, o, 0) != passes {
			t.Errorf("call %d: %s %s", i, o.Line(), o.Reason)
		}
		d.sql(t, fmt.Sprintf("INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('R%d', 'LK-500000', '5.00', 'larkfield')", i))
	}
}

// What the model is told: the rule's words with their values, in which nothing
// is read again, or the host's own where a value is not there.
func TestWordsOfARule(t *testing.T) {
	own := `{"ok":false,"error":"` + wordsRules + `"}`
	for name, c := range map[string]struct{ words, args, want string }{
		"none":                              {"", paid, own},
		"with-arguments":                    {`words = "{args.amount} of {args.order_id}."`, paid, `{"ok":false,"error":"5 of LK-500000."}`},
		"digits-as-written":                 {`words = "{args.amount}"`, `{"order_id":"LK-500000","amount":5.500}`, `{"ok":false,"error":"5.500"}`},
		"absent-argument":                   {`words = "{args.amount}: {args.note}"`, paid, own},
		"value-that-looks-like-a-reference": {`words = "{args.note}"`, `{"order_id":"LK-500000","amount":5,"note":"{facts.order.total}\""}`, `{"ok":false,"error":"{facts.order.total}\""}`},
		"column-that-may-leave":             {`words = "It is {facts.order.status}."`, paid, `{"ok":false,"error":"It is shipped."}`},
		"column-that-is-null":               {`words = "Shipped on {facts.order.shipped_on}."`, paid, own},
		"row-that-is-not-there":             {`words = "It is {facts.order.status}."`, `{"order_id":"LK-999999","amount":5}`, own},
	} {
		t.Run(name, func(t *testing.T) {
			h := newPayDesk(t, effectRead, payOrder+payRule("r", "facts.order.total == 0", c.words)).open(t)
			if o := h.Call(t.Context(), staff(), ask("pay", c.args)); string(o.Result) != c.want || o.Code != codeRuleRefused {
				t.Errorf("%s: %s", o.Line(), o.Result)
			}
		})
	}
}

// A rule that gives no reason has for one what of it is false, with the values.
func TestReasonOfARuleWithoutOne(t *testing.T) {
	for condition, want := range map[string]string{
		"args.amount > 100":                        "args.amount > 100: 5 > 100 are false",
		"args.amount < 9 && args.amount > 100":     "args.amount > 100: 5 > 100 are false",
		`args.amount == 1 || args.order_id == "x"`: `args.amount == 1: 5 == 1; args.order_id == "x": "LK-500000" == "x" are false`,
		`!args.order_id.startsWith("LK-")`:         "it is false",
	} {
		d := newPayDesk(t, effectWrite, payRule("r", condition, ""))
		o := d.open(t).Call(t.Context(), staff(), ask("pay", paid))
		first := "r: args.amount == -1: 5 == -1" // of payRule itself
		if want == "it is false" {               // a clause that is true has made it so
			want = "r: " + want
		} else {
			want = first + "; " + want
		}
		if o.Reason != want {
			t.Errorf("%s: %s", condition, o.Reason)
		}
	}
}

// The record and the reason have everything; the model none of it.
func TestReasonOfARule(t *testing.T) {
	d := newPayDesk(t, effectWrite, payLimit+paySpent+payRule("r", "args.amount + facts.spent <= values.limit",
		`reason = "{args.amount} and {facts.spent} of {values.limit} for {session.role}, {args.note}"`))
	d.sql(t, "INSERT INTO refunds (refund_id, order_id, amount, tenant) VALUES ('a', 'LK-500000', '95.01', 'larkfield')")
	h := d.open(t)
	o := h.Call(t.Context(), staff(), ask("pay", paid))
	if want := "r: 5 and 95.01 of 100.00 for staff, (absent)"; o.Reason != want {
		t.Errorf("the reason is %s", o.Reason)
	}
	if string(o.Result) != `{"ok":false,"error":"`+wordsRules+`"}` {
		t.Errorf("the model gets %s", o.Result)
	}
	records := d.recorder.Records()
	if last := records[len(records)-1]; string(last.Facts) != `{"spent":95.01}` {
		t.Errorf("recorded: %s", last.Facts)
	}
}

// A secret argument may be compared; no record, answer or word has it.
func TestSecretInARule(t *testing.T) {
	d := newPayDesk(t, effectRead, payOrder+payRule("r", "args.pin == facts.order.status", `reason = "the pin is not {facts.order.status}"`))
	d.sql(t, "UPDATE orders SET status = 'hunter2xy'")
	h := d.open(t)
	args := `{"order_id":"LK-500000","amount":5,"pin":"hunter2xy"}`
	if o := h.Call(t.Context(), staff(), ask("pay", args)); !passesRules(h, o, 0) {
		t.Errorf("%s: %s", o.Line(), o.Reason)
	}
	o, answers := h.Explain(t.Context(), staff(), ask("pay", strings.Replace(args, "hunter2xy", "hunter2", 1)), true)
	shown := fmt.Sprintf("%s %s %+v", o.Result, o.Reason, answers)
	for _, r := range d.recorder.Records() {
		shown += fmt.Sprintf("\n%+v %s %s %s", r, r.Facts, r.Result, r.Arguments.AppendJSON(nil))
	}
	if o.Code != codeRuleRefused || strings.Contains(shown, "hunter2") {
		t.Errorf("%s: %s", o.Line(), shown)
	}
}

// Several hosts of one config decide side by side; run with -race.
func TestRulesSideBySide(t *testing.T) {
	d := newPayDesk(t, effectWrite, payLimit+payOrder+payRules("args.amount <= values.limit", "args.amount <= facts.order.total", `args.order_id.matches("^LK-[0-9]{6}$")`))
	hosts := []*Host{d.open(t), d.open(t), d.open(t)}
	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			h, s := hosts[i%3], []Session{staff(), owner()}[i%2]
			for j := range 20 {
				amount := 90 + j // the order has 100.05, staff may 100.00
				passes := amount <= 100
				s.Subject = fmt.Sprint("usr-", i, "-", j) // whose refusals lock nobody else
				o := h.Call(context.Background(), s, ask("pay", fmt.Sprintf(`{"order_id":"LK-500000","amount":%d}`, amount)))
				rule := map[string]string{"staff": "rule_1", "owner": "rule_2"}[s.Role]
				if passes != (o.Code == codeWaiting) || !passes && !strings.HasPrefix(o.Reason, rule) {
					t.Errorf("%s %d: %s %s", s.Role, amount, o.Line(), o.Reason)
				}
			}
		})
	}
	wait.Wait()
}
