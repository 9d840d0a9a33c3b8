package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A refusedRule is a config of pay that must not load: its one fault stands on
// the line that holds at.
type refusedRule struct {
	config, at, want string
}

// payExample is a rule of a true condition with the examples given.
func payExample(require, examples string) string {
	return fmt.Sprintf("[[tools.pay.rules]]\nname = \"r\"\nrequire = '''%s'''\nexamples = [\n  %s\n]\n", require, strings.ReplaceAll(examples, "; ", "\n  "))
}

const (
	allowed = `{ expect = "allow", args = '{"order_id":"x","amount":1}' },`
	refused = `{ expect = "refuse", args = '{"order_id":"x","amount":9}' },`
)

func refusedRules() map[string]refusedRule {
	rule := func(condition string) string { return payRule("r", condition, "") }
	said := func(key, text string) string {
		return payRule("r", "args.amount > 0 && facts.spent > 0", key+` = "`+text+`"`)
	}
	return map[string]refusedRule{
		"misspelt-argument":        {rule("args.amont > 5"), "require =", "rules.r: require: column 48: args has no \"amont\""},
		"misspelt-fact":            {payOrder + rule("facts.ordr.total > 5"), "require =", "rules.r: require: column 49: facts has no \"ordr\""},
		"misspelt-column":          {payOrder + rule("facts.order.totl > 5"), "require =", `facts.order has no "totl" (did you mean "total"?)`},
		"misspelt-value":           {payLimit + rule("args.amount <= values.limt"), "require =", `values has no "limt"`},
		"misspelt-attribute":       {rule(`session.custmer == "C-1"`), "require =", `session has no "custmer" (did you mean "customer"?)`},
		"fact-without-a-table":     {rule("facts.order.total > 5"), "require =", `facts has no "order"`},
		"column-not-granted":       {payOrder + rule(`facts.order.customer_id == "C-1"`), "require =", `facts.order has no "customer_id"; it has `},
		"json-column":              {payOrder + rule(`facts.order.items == "x"`), "require =", "facts.order.items is a json column, which has no one type"},
		"argument-of-two-kinds":    {rule(`args.either == "x"`), "require =", "args.either may be of several kinds, and a rule needs one"},
		"text-with-a-number":       {rule(`args.order_id > 5`), "require =", "does not take"},
		"text-that-is-a-number":    {rule(`args.amount == "5"`), "require =", "does not take"},
		"day-with-a-time":          {rule(`args.on > now`), "require =", "does not take"},
		"row-as-a-number":          {payOrder + rule(`facts.order > 5`), "require =", "does not take"},
		"rule-that-is-a-number":    {payExample("args.amount", allowed+"; "+refused), "require =", "rules.r: require: is of type number, and a rule is true or false"},
		"nested-loops":             {rule("args.lines.all(a, args.lines.all(b, args.lines.all(c, a + b > c)))"), "require =", "could cost"},
		"pattern-of-many-steps":    {rule(`args.note.matches("((a{30}){30}){1000}")`), "require =", "no pattern"},
		"pattern-over-cost":        {payOrder + rule(`facts.order.status.matches("(a|b|c|d|e|f){90}")`), "require =", "could cost"},
		"rules-over-cost-together": {payOrder + payRules(slices.Repeat([]string{`facts.order.status.contains("abc")`}, 13)...), "[[tools.pay.rules]]", "together they could cost 340964, more than the 300000"},
		"value-without-the-role":   {strings.Replace(payLimit, `, owner = "unlimited"`, "", 1) + rule("args.amount <= values.limit"), "roles = { staff", `roles: "owner" may call pay, whose rules use this value, and has none`},
		"value-that-nobody-reads":  {payLimit + rule("args.amount > 0"), "[values.limit]", "no rule reads it"},
		"fact-that-nobody-reads":   {payOrder + rule("args.amount > 0"), "order = { from", "facts.order: no rule reads it"},
		"facts-without-rules":      {payOrder, "order = { from", "facts.order: no rule reads it"},
		"key-that-is-optional":     {strings.Replace(payOrder, "args.order_id", "args.note", 1) + rule("facts.order.total > 0"), "order = { from", "key: {args.note} must be a required argument of type string"},
		"key-that-is-a-number":     {strings.Replace(payOrder, "args.order_id", "args.amount", 1) + rule("facts.order.total > 0"), "order = { from", "key: {args.amount} must be a required argument of type string"},
		"sum-of-a-text":            {strings.Replace(paySpent, `"amount"`, `"order_id"`, 1) + rule("facts.spent > 0"), "spent = { from", `sum: column "order_id" is text; it must be one of decimal, integer, minor`},
		"sum-of-what-may-not":      {strings.Replace(paySpent, `"amount"`, `"tenant"`, 1) + rule("facts.spent > 0"), "spent = { from", `sum: column "tenant" is not in the columns of refunds`},
		"where-that-may-not":       {strings.Replace(paySpent, "order_id =", "tenant =", 1) + rule("facts.spent > 0"), "spent = { from", `where: column "tenant" is not in the columns of refunds`},
		"where-by-a-decimal":       {strings.Replace(paySpent, `order_id = "{args.order_id}"`, `amount = "{args.amount}"`, 1) + rule("facts.spent > 0"), "spent = { from", `it must be one of text, integer, date, boolean, minor`},
		"where-of-another-kind":    {strings.Replace(paySpent, "args.order_id", "args.amount", 1) + rule("facts.spent > 0"), "spent = { from", "where.order_id: {args.amount} must be a required argument of the column's type, text"},
		"secret-in-words":          {paySpent + said("words", "{args.pin}"), "words =", "rules.r: words: {args.pin} is marked x-secret, and texts are recorded"},
		"secret-in-a-reason":       {paySpent + said("reason", "{args.pin}"), "reason =", "rules.r: reason: {args.pin} is marked x-secret, and texts are recorded"},
		"sum-in-words":             {paySpent + said("words", "{facts.spent}"), "words =", "{facts.spent} is computed; a model may be told columns that may leave"},
		"list-in-words":            {paySpent + said("words", "{args.lines}"), "words =", "{args.lines} names no single value"},
		"misspelt-in-words":        {paySpent + said("words", "{args.amont}"), "words =", `{args.amont} names no value (did you mean "amount"?)`},
		"misspelt-in-a-reason":     {paySpent + said("reason", "{facts.spnt}"), "reason =", `{facts.spnt} names no value (did you mean "spent"?)`},
	}
}

func refusedExamples() map[string]refusedRule {
	const within = "args.amount < 5"
	return map[string]refusedRule{
		"that-comes-out-otherwise":    {payExample(within, allowed+"; "+refused+"; "+`{ expect = "allow", args = '{"order_id":"x","amount":5}' },`), `"amount":5`, "rules.r: examples: expected allow, the rule gives refuse"},
		"that-is-allowed-after-all":   {payExample(within, allowed+"; "+refused+"; "+`{ expect = "refuse", args = '{"order_id":"x","amount":4.99}' },`), `4.99`, "expected refuse, the rule gives allow"},
		"that-errs":                   {payExample(`args.amount < 5 && (args.amount == 1 || args.note != "x")`, allowed+"; "+refused+"; "+`{ expect = "refuse", args = '{"order_id":"x","amount":2}' },`), `"amount":2`, `expected refuse, the rule gives error (args.note has no value: it was not given; give what it reads, or expect = "error")`},
		"without-a-role":              {payLimit + payExample("args.amount <= values.limit", allowed+"; "+`{ expect = "refuse", args = '{"order_id":"x","amount":101}', session = { role = "staff" } },`), `"amount":1}`, `the rule reads values, which a role has; give session = { role = "..." }`},
		"with-another-role":           {payExample(within, allowed+"; "+`{ expect = "refuse", args = '{"order_id":"x","amount":101}', session = { role = "customer" } },`), `"amount":101}`, `session.role: "customer" is none of the tool's callers`},
		"without-now":                 {payExample(`now > timestamp("2026-10-15T00:00:00Z") && args.amount < 5`, strings.Replace(allowed, " },", `, now = "2026-10-16T00:00:00Z" },`, 1)+"; "+refused), `"amount":9}`, `the rule reads now; give now = "2026-10-15T09:00:00Z"`},
		"with-a-bad-now":              {payExample(within, allowed+"; "+strings.Replace(refused, " },", `, now = "yesterday" },`, 1)), `"amount":9}`, `now: "yesterday" is no time like 2026-10-15T09:00:00Z`},
		"without-its-fact":            {payOrder + payExample("args.amount < facts.order.total", strings.Replace(allowed, " },", `, facts = { order = { total = "2" } } },`, 1)+"; "+refused), `"amount":9}`, "facts.order has no value"},
		"with-a-fact-that-is-not":     {payExample(within, allowed+"; "+strings.Replace(refused, " },", `, facts = { ordr = {} } },`, 1)), `"amount":9}`, `facts: the tool has no fact "ordr"`},
		"with-a-column-that-is-not":   {payOrder + payExample("args.amount < facts.order.total", strings.Replace(allowed, " },", `, facts = { order = { total = "2" } } },`, 1)+"; "+strings.Replace(refused, " },", `, facts = { order = { totl = "2" } } },`, 1)), `"amount":9}`, `facts.order: no column "totl"`},
		"with-a-fact-of-another-type": {payOrder + payExample("args.amount < facts.order.total", strings.Replace(allowed, " },", `, facts = { order = { total = "2" } } },`, 1)+"; "+strings.Replace(refused, " },", `, facts = { order = { total = true } } },`, 1)), `"amount":9}`, `facts.order: total is no number`},
		"whose-args-do-not-fit":       {payExample(within, allowed+"; "+`{ expect = "refuse", args = '{"order_id":"x"}' },`), `"x"}'`, "args do not fit the contract"},
		"whose-args-are-no-json":      {payExample(within, allowed+"; "+`{ expect = "refuse", args = '{amount:9}' },`), `{amount`, "args do not fit the contract"},
	}
}

// Each is told with its line and key, and nothing loads.
func TestRulesThatDoNotLoad(t *testing.T) {
	all := refusedRules()
	for name, c := range refusedExamples() {
		all["example-"+name] = c
	}
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			d := newPayDesk(t, effectRead, c.config)
			line := 1 + strings.Count(payConfig, "\n")
			before, _, found := strings.Cut(c.config, c.at)
			if !found {
				t.Fatalf("%q stands nowhere", c.at)
			}
			line += strings.Count(before, "\n")
			h, err := d.tryOpen(t)
			if err == nil {
				h.Close()
				t.Fatal("loads")
			}
			got := err.Error()
			if !strings.HasPrefix(got, fmt.Sprintf("config.toml:%d: [", line)) || !strings.Contains(got, c.want) || !strings.HasSuffix(got, "\n1 fault; nothing was loaded") {
				t.Errorf("got\n%s\nwant %s in line %d", got, c.want, line)
			}
		})
	}
}

// The faults of all rules are told at once.
func TestEveryFaultOfTheRulesIsTold(t *testing.T) {
	d := newPayDesk(t, effectRead, payRule("one", "args.amont > 5", `words = "{args.pin}"`)+payRule("two", "args.note > args.amount", `reason = "{args.lines}"`))
	h, err := d.tryOpen(t)
	if err == nil {
		h.Close()
		t.Fatal("loads")
	}
	for _, want := range []string{"rules.one: require: column", "rules.one: words: {args.pin}", "rules.two: require: column", "rules.two: reason: {args.lines}", "4 faults"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in\n%v", want, err)
		}
	}
}
