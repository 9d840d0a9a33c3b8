package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/decimal"
	"github.com/toolhost/toolhost/host/strictjson"
)

func testVars() []Field {
	line := Type{Kind: Object, Name: "args.lines", Fields: []Field{{"amount", Type{Kind: Number}}, {"note", Type{Kind: Text, Most: 50}}}}
	return []Field{
		{"args", Type{Kind: Object, Name: "args", Fields: []Field{
			{"order_id", Type{Kind: Text, Most: 20}},
			{"amount", Type{Kind: Number}},
			{"reason", Type{Kind: Text, Most: 200}},
			{"from", Type{Kind: Date}},
			{"to", Type{Kind: Date}},
			{"at", Type{Kind: Time}},
			{"sure", Type{Kind: Boolean}},
			{"tags", Type{Kind: List, Most: 10, Item: &Type{Kind: Text, Most: 30}}},
			{"lines", Type{Kind: List, Most: 50, Item: &line}},
			{"mixed", Type{Why: "may be a text or a number, and a rule needs one type"}},
		}}},
		{"session", Type{Kind: Object, Name: "session", Fields: []Field{{"role", Type{Kind: Text, Most: 200}}, {"customer", Type{Kind: Text, Most: 200}}}}},
		{"values", Type{Kind: Object, Name: "values", Fields: []Field{{"limit", Type{Kind: Number}}, {"top", Type{Kind: Number}}}}},
		{"facts", Type{Kind: Object, Name: "facts", Fields: []Field{
			{"order", Type{Kind: Object, Name: "facts.order", Fields: []Field{
				{"total", Type{Kind: Number}},
				{"status", Type{Kind: Text, Most: 100_000}},
				{"shipped_on", Type{Kind: Date}},
				{"items", Type{Why: "is a json column, which has no one type"}},
			}}},
			{"refunded", Type{Kind: Number}},
		}}},
		{"now", Type{Kind: Time}},
	}
}

func testEnv(t testing.TB) *Env {
	t.Helper()
	e, err := NewEnv(testVars())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func fromJSON(t testing.TB, of Type, text string) Value {
	t.Helper()
	v, err := strictjson.Read([]byte(text), strictjson.Default(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	value, err := FromJSON(of, v)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func testInput(t testing.TB) Input {
	t.Helper()
	vars := testVars()
	values := map[string]Value{"limit": NumberValue(mustParse(t, "100.00")), "top": NumberValue(decimal.Unlimited())}
	return Input{
		"args": fromJSON(t, vars[0].Type, `{"order_id":"LK-702219","amount":206.05,"from":"2026-10-16","to":"2026-11-16","at":"2026-10-15T09:00:00Z","sure":true,
			"tags":["a","b"],"lines":[{"amount":0.10,"note":"x"},{"amount":0.20,"note":null}],"mixed":1}`),
		"session": fromJSON(t, vars[1].Type, `{"role":"staff"}`),
		"values":  ObjectValue(vars[2].Type, func(f string) (Value, error) { return values[f], nil }),
		"facts":   fromJSON(t, vars[3].Type, `{"order":{"total":216.00,"status":"delivered","shipped_on":null},"refunded":9.95}`),
		"now":     TimeValue(time.Date(2026, 10, 15, 22, 30, 0, 0, time.UTC)),
	}
}

func mustParse(t testing.TB, s string) decimal.Number {
	t.Helper()
	n, err := decimal.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type ruleCase struct{ rule, want string }

// holding are rules with what they give: true, false or an error.
func holding() []ruleCase {
	return []ruleCase{
		// Numbers
		{"args.amount <= facts.order.total - facts.refunded", "true"},
		{"args.amount < facts.order.total - facts.refunded", "false"},
		{"args.amount == 206.050", "true"},
		{"args.amount + 0.01 <= facts.order.total - facts.refunded", "false"},
		{"0.1 + 0.2 == 0.3", "true"},
		{"1e2 == 100", "true"},
		{"9007199254740993 == 9007199254740992.0 + 1", "true"},
		{"- 9.95 < -9.94 && -5 < 0", "true"},
		{"10 / 4 == 2.5", "true"},
		{"10 / 3 > 0", "the result is not exact"},
		{"args.amount / (facts.refunded - 9.95) > 0", "division by zero"},
		{"args.amount % 0.05 == 0", "true"},
		{"args.amount <= values.top && 1e64 * 1e64 < values.top", "true"},
		{"values.top - values.top == 0", "undefined"},
		{"values.top == values.top", "true"},
		{"values.top <= args.amount", "false"},
		{strings.Repeat("1e60 * ", 5) + "1.5 > 0", "not exact"},
		// Texts and lists
		{`args.order_id.startsWith("LK-") && size(args.order_id) == 9`, "true"},
		{`args.order_id.matches("^(LK|BB)-[0-9]{6}$")`, "true"},
		{`args.order_id.matches(r"^LK-\d{6}$") && args.order_id.matches("^LK-\\d{6}$")`, "true"},
		{`args.order_id.lowerAscii() == "lk-702219" && "É".lowerAscii() == "É"`, "true"},
		{`args.order_id in ["LK-702219", "x"]`, "true"},
		{`args.amount in [206.05, 3]`, "true"},
		{`args.tags.all(t, t != "c") && args.tags.exists(t, t == "b") && args.tags.exists_one(t, t == "a")`, "true"},
		{`args.lines.sum(l, l.amount) == 0.3`, "true"},
		{`args.lines.all(l, has(l.note))`, "false"},
		{`args.lines.all(l, l.note == "x")`, "has no value"},
		{`args.tags.size() == 2`, "true"},
		// Dates
		{"args.to - args.from <= days(31)", "true"},
		{"args.to - args.from < days(31)", "false"},
		{"args.from >= date(now)", "true"},
		{`args.from > date(now, "Europe/Paris")`, "false"},
		{`date(now, "Europe/Paris") == date("2026-10-16")`, "true"},
		{`(date("9999-12-31") - date("0001-01-01")).getDays() > 0`, "out of range"},
		{`date("2026-10-15").getDayOfWeek() == 4`, "true"},
		{`now.getHours("Europe/Paris") == 0`, "true"},
		{`now - args.at > duration("13h") && now > timestamp("2026-10-15T00:00:00+02:00")`, "true"},
		{"date(now) + days(1) == args.from", "true"},
		{"date(now) + hours(1) == args.from", "whole days"},
		{"(args.to - args.from).getDays() <= values.top", "true"},
		{"days(1.5) > days(1)", "whole number"},
		{"days(106751) + days(106751) > days(1)", "out of range"},
		{"date(now) - days(106751) - date(now) >= days(2)", "false"}, // a difference of durations would not fit
		{"date(now) + days(106751) - date(now) > days(-2)", "true"},
		{`duration("1ns") - duration("-2562047h47m16.854775808s") > days(0)`, "out of range"},
		{`duration("-1ns") - duration("-2562047h47m16.854775808s") == duration("2562047h47m16.854775807s")`, "true"},
		{`now - duration("-2562047h47m16.854775808s") > now`, "out of range"},
		{`timestamp("9999-12-31T00:00:00Z") + days(1) > now`, "out of range"},
		{`date("0001-01-01") - days(1) < date(now)`, "out of range"},
		// What is absent
		{`has(args.reason) || args.amount > 0`, "true"},
		{`args.reason == "x" || args.amount > 0`, "args.reason has no value"},
		{`args.amount > 0 || args.reason == "x"`, "true"},
		{`args.reason == "x" && args.amount > 0`, "has no value"},
		{`!(args.reason == "x")`, "has no value"},
		{`args.reason != "x"`, "has no value"},
		{`session.customer != "C-1"`, "session.customer has no value"},
		{`has(facts.order.shipped_on)`, "false"},
		{`facts.order.shipped_on != date("2026-01-01")`, "facts.order.shipped_on has no value"},
		{`has(args.reason) ? args.reason != "" : true`, "true"},
		{"args.sure", "true"},
	}
}

func TestHolds(t *testing.T) {
	e, in := testEnv(t), testInput(t)
	for _, tt := range holding() {
		t.Run(tt.rule, func(t *testing.T) {
			r, faults := e.Compile(tt.rule)
			if faults != nil {
				t.Fatalf("does not compile: %v", faults)
			}
			holds, err := r.Holds(in)
			got := map[bool]string{true: "true", false: "false"}[holds]
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("gave %s, want %s (at most %d)", got, tt.want, r.Cost)
			}
			if err != nil && holds {
				t.Error("holds with an error")
			}
			for _, c := range r.Explain(in) {
				t.Logf("%s   %s", c, c.Is)
			}
		})
	}
}

// faulty are texts that are no rules, with what is said of them.
func faulty() []ruleCase {
	return []ruleCase{
		{"args.amont > 5", `args has no "amont" (did you mean "amount"?)`},
		{"arg.amount > 5", `there is no "arg" (did you mean "args"?)`},
		{"args.amount > '5'", "> does not take a number and a text; a number stands without quotes"},
		{"args.from >= now", `date(now, "Europe/Paris")`},
		{"args.order_id < 'b'", "texts have no order"},
		{"args.amount", "a rule is true or false"},
		{"args.amount >", "it ends where something must follow"},
		{"", "it ends where something must follow"},
		{"args.mixed == 1", "may be a text or a number"},
		{"size(facts.order.items) > 0", "json column"},
		{"dyn(args.amount) == 5", "there is no dyn: nothing is converted"},
		{"int(args.order_id) == 5", "there is no int: nothing is converted"},
		{"type(args.amount) == number", "there is no type"},
		{"args == args", "name one of its fields"},
		{"args.tags == ['a']", "ask a list by size"},
		{"{'a': 1}.a == 1", "no maps"},
		{"args{amount: 1}.amount == 1", "no maps and no objects"},
		{"null == null", "null is no value"},
		{"args.reason == null", "has(x) tells whether there is a value"},
		{"args.amount == 5u", "without u"},
		{"args.amount == .5", "exactly"},
		{"args.order_id == b'x'", "no bytes"},
		{"args.tags[0] == 'a'", "there is no index"},
		{"args.amount == 1e9999", "invalid double"},
		{"args.amount == 1e250", "exactly"},
		{"args.amount == 123456789012345678901234567890", "end it with .0"},
		{"args.order_id.matches(args.reason)", "the pattern must be a literal"},
		{"args.order_id.matches('(')", "no pattern"},
		{"args.order_id.matches('(a{1000}){1000}')", "no pattern"},
		{"args.order_id.matches('((a{30}){30}){1000}')", "no pattern"},
		{"args.order_id.namesOnlyFrom(args.order_id, args.reason)", "namesOnlyFrom does not take"},
		{"args.order_id.namesOnlyFrom(args.order_id, '(')", "no pattern"},
		{"args.order_id.namesOnlyFrom(args.order_id, 'a*')", "names nothing"},
		{"args.order_id.namesOnlyFrom(args.order_id, 'a|()|b+')", "names nothing"},
		{"args.order_id.namesOnlyFrom(args.order_id, '\\\\b')", "names nothing"},
		{"facts.order.status.namesOnlyFrom(facts.order.status, '(a|b|c|d|e|f){9}')", "could cost"},
		{"facts.order.status.matches('(a|b|c|d|e|f){90}')", "could cost"},
		{"facts.order.status.contains(facts.order.status)", "could cost"},
		{"args.lines.all(a, args.lines.all(b, args.lines.all(c, args.lines.all(d, a.amount < d.amount))))", "could cost"},
		{"args.tags.map(t, t + 'x').size() > 0", "there is no such map"},
		{"args.from > date('2026-02-30')", "no day"},
		{"args.from > date(args.order_id)", "write date("},
		{"now.getHours('Mars/Olympus') > 1", "no time zone"},
		{"now.getHours('Local') > 1", "no time zone"},
		{"now.getHours() > 1", "of a time in a zone"},
		{"now > timestamp('yesterday')", "timestamp"},
		{"now - now > duration('1 day')", "duration"},
		{strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100), "recursion"},
		{strings.Repeat("true && ", 400) + "true", "exceed"},
		{"true && " + strings.Repeat(" ", 3000) + "true", "exceeds"},
		{"@0 == 1", `"@" does not belong here`},
		{"has(args)", "has takes a field"},
		{"[facts.order].exists(o, o.total > 1)", "an object is read where it stands"},
		{"!has((args.sure ? facts.order : facts.order).total)", "an object is read where it stands"},
		{"1 && true", "a boolean is expected here, and not a number"},
		{"args.sure ? 1 : 2", "a rule is true or false"},
		{"session.role == 'a' ? args.amount > 1 : 2", "a ? b : c does not take a boolean and a boolean and a number"},
		{"args.amount > 5 and args.sure", "write &&"},
		{"args.amount = 5", "write =="},
		{"args.amount > 5 || ", "it ends where something must follow"},
		{"args.order_id.matches(\"^[A-Z]+\\d$\")", "a backslash in a text is written twice"},
		{"args.order_id == 'x", "a text has no closing quote"},
		{"date(args.from) > date(now)", "it is a date already"},
		{"args.from.getDayOfWeek('Europe/Paris') == 1", "a date has no zone"},
		{"args.to - args.from <= 31", "write days(31)"},
		{"args.from == '2026-10-15'", `write date("2026-10-15")`},
		{"args.lines.all(l, l.amont > 1)", `there is no field "amont"`},
		{"args.tags.sum(t)", "there is no such sum"},
		{"args.order_id.substring(0, 2) == 'LK'", `there is no "substring"`},
		{"args.at - now > duration('7d')", "days are written days(7)"},
		{"args.at > timestamp('2026-10-15')", "is no time like 2026-10-15T09:00:00Z"},
	}
}

func TestDoesNotCompile(t *testing.T) {
	e := testEnv(t)
	for _, tt := range faulty() {
		t.Run(tt.rule, func(t *testing.T) {
			r, faults := e.Compile(tt.rule)
			if r != nil || len(faults) == 0 {
				t.Fatalf("compiles, at a cost of %d", r.Cost)
			}
			var all []string
			for _, f := range faults {
				all = append(all, f.String())
			}
			if got := strings.Join(all, "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("says %s\nwant %s", got, tt.want)
			}
		})
	}
}
