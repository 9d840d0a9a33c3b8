package config

import (
	"strings"
	"testing"
)

func TestRefusedRules(t *testing.T) {
	const name, words = `name = "within_limit"`, `words = "{args.amount} is too much for {facts.order.total}"`
	const reason = `reason = "{args.amount} of {facts.spent} for {session.role}: {values.limit}"`
	const require = "require = \"\"\"args.amount <= values.limit\n\t&& args.amount > 0\"\"\""
	const table = "[[tools.refund.rules]]"
	const again = "name = \"within_limit\"\nrequire = \"true\"\nexamples = [{ expect = \"allow\", args = \"{}\" }, { expect = \"refuse\", args = \"{}\" }]\n"
	ruledRefusals(t, "[tools.refund] rules", []refusal{
		{"no-name", name + "\n", "\n", []string{`12:.name: missing; for example name = "still_refundable"`}},
		{"name-with-a-dash", name, `name = "within-limit"`, []string{`13:.name: "within-limit" is not a name ^[a-z][a-z0-9_]{0,63}$`}},
		{"two-of-one-name", table, table + "\n" + again + table, []string{`16:: the name "within_limit" stands in line 47 too`}},
		{"two-without-a-name", table + "\n" + name, table + "\n" + strings.TrimPrefix(again, name+"\n") + table, []string{
			`12:.name: missing; for example name = "still_refundable"`, `15:.name: missing; for example name = "still_refundable"`,
		}},
		{"no-require", require, "", []string{`12:.within_limit.require: missing; for example require = "args.amount <= values.refund_limit"`}},
		{"empty-require", require, `require = ""`, []string{"14:.within_limit.require: an empty string; write a value or remove the key"}},
		{"require-as-a-boolean", require, `require = true`, []string{"14:.within_limit.require: found a boolean, expected a string"}},
		{"long-require", require, `require = "` + strings.Repeat("é", 2001) + `"`, []string{"14:.within_limit.require: longer than 2000 characters"}},
		{"require-with-a-control-character", require, "require = \"\"\"true\n&& \\u001b[2Jtrue\"\"\"", []string{`14:.within_limit.require: "true\n&& \x1b[2Jtrue" holds a control character`}},
		{"require-with-a-bidi-mark", require, `require = "true \u202e"`, []string{`14:.within_limit.require: "true \u202e" holds a control character`}},
		{"unknown-key-suggests", words, `word = "x"`, []string{`16:.word: unknown key (did you mean "words"?); known here: name, require, words, reason, examples`}},
		{"rules-as-a-table", table, "[tools.refund.rules]", []string{"12:: found a table, expected tables [[tools.refund.rules]]"}},
		{"values-in-words", words, `words = "{values.limit}"`, []string{`16:.within_limit.words: "{values.limit}" may not stand here; this key takes {args.x} or {facts.x}`}},
		{"session-in-words", words, `words = "{session.role}"`, []string{`16:.within_limit.words: "{session.role}" may not stand here; this key takes {args.x} or {facts.x}`}},
		{"environment-in-a-reason", reason, `reason = "{env.DESK}"`, []string{`17:.within_limit.reason: "{env.DESK}" may not stand here; this key takes {args.x} or {facts.x} or {session.x} or {values.x}`}},
		{"approval-in-a-reason", reason, `reason = "{approval.id}"`, []string{`17:.within_limit.reason: "{approval.id}" may not stand here; this key takes {args.x} or {facts.x} or {session.x} or {values.x}`}},
		{"fact-of-three-names", reason, `reason = "{facts.order.total.x}"`, []string{`17:.within_limit.reason: "{facts.order.total.x}" holds a brace that names no value; a reference looks like {session.tenant}`}},
		{"value-of-two-names", reason, `reason = "{values.a.b}"`, []string{`17:.within_limit.reason: "{values.a.b}" names no value; only a column of a fact has two names, like {facts.order.total}`}},
		{"unknown-session-value", reason, `reason = "{session.custmer}"`, []string{`17:.within_limit.reason: "{session.custmer}" is no session value (customer, ticket, subject, tenant, role, id); did you mean "{session.customer}"?`}},
		{"words-without-braces", words, `words = "facts.order.total"`, []string{`16:.within_limit.words: "facts.order.total" is literal text; write "{facts.order.total}" for the value`}},
		{"long-words", words, `words = "` + strings.Repeat("é", 1001) + `"`, []string{"16:.within_limit.words: longer than 1000 characters"}},
		{"too-many", table, manyRules(32) + table, []string{"12:: 33 rules, at most 32"}},
	})
	t.Run("facts-in-not-available", func(t *testing.T) {
		_, err := Parse("config.toml", []byte(strings.Replace(readGood(t), "{args.order_id} is", "{facts.order.total} is", 1)), testOptions())
		checkFaults(t, err, []string{`config.toml:20: [tools.get_order] not_available: "{facts.order.total}" may not stand here; this key takes {args.x}`})
	})
	t.Run("rules-as-an-array-of-strings", func(t *testing.T) {
		_, err := Parse("config.toml", []byte(strings.Replace(readGood(t), `effect = "read"`, "effect = \"read\"\nrules = [\"true\"]", 1)), testOptions())
		checkFaults(t, err, []string{`config.toml:19: [tools.get_order] rules: found a string, expected a table with name and require`})
	})
}

func manyRules(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("[[tools.refund.rules]]\nname = \"r" + strings.Repeat("x", i) + "\"\nrequire = \"true\"\nexamples = [{ expect = \"allow\", args = \"{}\" }, { expect = \"refuse\", args = \"{}\" }]\n")
	}
	return b.String()
}

func TestRefusedExamples(t *testing.T) {
	const refuse = `{ expect = "refuse", args = '{"amount":2}' }`
	example := func(rule, text string, want ...string) refusal { return refusal{rule, refuse, text, want} }
	const with = `{ expect = "refuse", args = "{}", `
	ruledRefusals(t, "[tools.refund] rules.within_limit.examples", []refusal{
		example("none-that-refuses", `{ expect = "error", args = "{}" }`, `18:: none has expect = "refuse"; a rule shows what it allows and what it refuses`),
		example("no-expect", `{ args = "{}" }`, `20:.expect: missing; for example expect = "allow"`),
		example("misspelt-expect-suggests", refuse+`, { expect = "refused", args = "{}" }`, `20:.expect: "refused" is not one of allow, refuse, error (did you mean "refuse"?)`),
		example("no-args", `{ expect = "refuse" }`, `20:.args: missing; for example args = '{"order_id":"LK-702219"}'`),
		example("args-as-a-table", `{ expect = "refuse", args = { amount = 2 } }`, "20:.args: found a table, expected a string"),
		example("unknown-key-suggests", with+`fact = {} }`, `20:.fact: unknown key (did you mean "facts"?); known here: expect, args, session, facts, now`),
		example("example-as-a-string", refuse+`, "refuse"`, "20:: found a string, expected { expect, args }"),
		example("float-fact", with+`facts = { spent = 9.95 } }`, "20:.facts.spent: found a float, expected a string, an integer, a boolean or a table; write a decimal in a string"),
		example("float-in-a-row", with+`facts = { order = { total = 216.00 } } }`, "20:.facts.order.total: found a float, expected a string, an integer, a boolean or a table; write a decimal in a string"),
		example("day-that-is-no-string", with+`facts = { order = { on = 2026-10-15 } } }`, "20:.facts.order.on: found a date or time, expected a string, an integer, a boolean or a table; write a decimal in a string"),
		example("array-fact", with+`facts = { spent = [1] } }`, "20:.facts.spent: found an array, expected a string, an integer, a boolean or a table; write a decimal in a string"),
		example("facts-as-a-string", with+`facts = "x" }`, "20:.facts: found a string, expected a table"),
		example("unknown-session-value", with+`session = { custmer = "C-1" } }`, `20:.session.custmer: "{session.custmer}" is no session value (customer, ticket, subject, tenant, role, id); did you mean "{session.customer}"?`),
		example("session-as-an-integer", with+`session = { customer = 1 } }`, "20:.session.customer: found an integer, expected a string"),
		example("now-that-is-no-string", with+`now = 2026-10-15T09:00:00Z }`, "20:.now: found a date or time, expected a string"),
		example("too-many", refuse+strings.Repeat(", "+refuse, 49), "18:: found an array, expected an array of at most 50 { expect, args }"),
	})
	all := ruled[strings.Index(ruled, "examples = ["):]
	ruledRefusals(t, "[tools.refund] rules.within_limit", []refusal{
		{"no-examples", all, "", []string{`12:.examples: missing; for example examples = [{ expect = "allow", args = '{"x":1}' }, { expect = "refuse", args = '{"x":2}' }]`}},
		{"empty-examples", all, "examples = []\n", []string{
			`18:.examples: none has expect = "allow"; a rule shows what it allows and what it refuses`,
			`18:.examples: none has expect = "refuse"; a rule shows what it allows and what it refuses`,
		}},
		{"examples-as-a-string", all, "examples = \"x\"\n", []string{"18:.examples: found a string, expected an array of at most 50 { expect, args }"}},
	})
}
