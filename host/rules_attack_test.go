package host

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

// vaultConfig is a tool with one rule over a row of the session's own.
const vaultConfig = `[databases.desk]
url = "sqlite:var/desk.db"
[capabilities.vaults]
kind = "records"
database = "desk"
table = "vaults"
key = "id"
columns = ["id", "token", "pin", "barred_on"]
types = { pin = "decimal" }
scope = [{ column = "tenant", is = "{session.tenant}", else = "out_of_scope" }]
[tools.open_vault]
plugin = "plugins/open_vault"
effect = "read"
callers = ["customer"]
[tools.open_vault.facts]
vault = { from = "vaults", key = "{session.customer}" }
[[tools.open_vault.rules]]
name = "r"
require = '''REQUIRE'''
reason = "stored is {facts.vault.token}"
examples = [
  { expect = "allow", args = '{}', facts = { vault = { barred_on = "x" } }, now = "2026-10-15T09:00:01Z" },
  { expect = "refuse", args = '{"s":EXAMPLE}', facts = { vault = { token = "t", pin = "5" } }, now = "2026-10-15T09:00:01Z" },
]
`

// vault is a desk with that tool, whose contract has one property, s, and an
// example of it.
func vault(t *testing.T, property, example, require, token, pin string) *desk {
	t.Helper()
	d := newDesk(t, strings.NewReplacer("REQUIRE", require, "EXAMPLE", example).Replace(vaultConfig))
	d.write(t, "plugins/open_vault/contract.json", `{"name":"open_vault","description":"Opens.","inputSchema":{"type":"object","additionalProperties":false,"properties":{"s":`+property+`}},
"outputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`)
	d.write(t, "plugins/open_vault/plugin.wasm", wasm(nil, nil))
	d.sql(t, `CREATE TABLE vaults (id TEXT NOT NULL PRIMARY KEY, tenant TEXT, token TEXT, pin TEXT, barred_on TEXT);
		INSERT INTO vaults VALUES ('C-20000', 'larkfield', '`+token+`', '`+pin+`', NULL)`)
	return d
}

// No part of a secret argument is shown or stored where a rule holds it against
// something: not what is left of a long one, not another way to write it, not
// what is made of it, and not what it equals.
func TestAttackSecretsInRules(t *testing.T) {
	const (
		text    = `{"type":"string","maxLength":900,"x-secret":true}`
		number  = `{"type":"number","minimum":0,"maximum":1000000000,"x-secret":true}`
		instant = `{"type":"string","format":"date-time","x-secret":true}`
	)
	examples := map[string]string{text: `"a"`, number: "5", instant: `"2026-10-15T09:00:00Z"`}
	long, jwt := strings.Repeat("eyJhbGciOiJIUzI1NiJ9.", 30), "eyJhbGci"
	for name, tt := range map[string]struct{ property, require, secret, token, pin, never string }{
		"long":             {text, `args.s == "x"`, `"` + long + `"`, "", "1", jwt},
		"long-fact":        {text, `facts.vault.token == "x"`, `"` + long + `"`, long, "1", jwt},
		"long-in-a-longer": {text, `facts.vault.token == "x"`, `"` + long + `"`, strings.Repeat("x", 180) + long, "1", jwt},
		"both-sides":       {text, `args.s + "!" == facts.vault.token + "x"`, `"` + long + `"`, long + "!", "1", jwt},
		"zero-width":       {text, `args.s == "x"`, `"hunter\u200b2xyz"`, "", "1", "2xyz"},
		"zero-width-fact":  {text, `facts.vault.token == "x"`, `"hunter\u200b2xyz"`, "hunter\u200b2xyz", "1", "2xyz"},
		"lower":            {text, `args.s.lowerAscii() == "x"`, `"HUNTER2XYZ"`, "", "1", "hunter2xyz"},
		"in-a-list":        {text, `args.s + "y" in ["x", args.s.lowerAscii()]`, `"Hunter2xyz"`, "", "1", "unter2xyz"},
		"in-a-loop":        {text, `[args.s].all(s, s + "y" in [s])`, `"Hunter2xyz"`, "", "1", "unter2xyz"},
		"short":            {text, `args.s == facts.vault.token`, `"pin"`, "pen", "1", `\"pin\"`},
		"exponent":         {number, `args.s == 0`, `1.2345e3`, "", "1", "1234.5"},
		"sum":              {number, `args.s + 1 == 0`, `471100.25`, "", "1", "471101.25"},
		"what-it-equals":   {number, `args.s != facts.vault.pin`, `4711.50`, "", "4711.5000", "!= 4711.5"},
		"another-zone":     {instant, `args.s == now`, `"2026-10-15T09:00:00+05:30"`, "", "1", "03:30"},
	} {
		t.Run(name, func(t *testing.T) {
			d := vault(t, tt.property, examples[tt.property], "has(facts.vault.barred_on) || "+tt.require, tt.token, tt.pin)
			h := d.openAudited(t)
			p := ask("open_vault", `{"s":`+tt.secret+`}`)
			o := h.Call(t.Context(), tom(), p)
			e, answers := h.Explain(t.Context(), tom(), p, true)
			if o.Code != codeRuleRefused || e.Code != codeRuleRefused {
				t.Fatal(o.Line(), o.Reason, e.Reason)
			}
			all := fmt.Sprintf("%s %s %s %s %+v", o.Reason, o.Result, e.Reason, e.Result, answers)
			mustDo(t, h.Close())
			for _, rec := range d.read(t, audit.Filter{}) {
				for _, v := range rec.Values {
					all += "\n" + v.Name + " " + string(v.JSON)
				}
			}
			if i := strings.Index(all, tt.never); i >= 0 {
				t.Errorf("%q stands in ...%s", tt.never, all[max(0, i-150):min(len(all), i+100)])
			}
		})
	}
}

// What a refusal seals of its clauses does not grow with each clause that names
// a long list.
func TestAttackManyClausesOfALongList(t *testing.T) {
	d := vault(t, `{"type":"array","maxItems":20,"items":{"type":"string","maxLength":500}}`, `["a"]`,
		`has(facts.vault.barred_on) || (`+strings.Repeat(`"x" in args.s || `, 60)+`"y" in args.s)`, "t", "1")
	h := d.openAudited(t)
	item := strings.Repeat(`\u200b`, 500)
	o := h.Call(t.Context(), tom(), ask("open_vault", `{"s":["`+item+strings.Repeat(`","`+item[:480], 19)+`"]}`))
	if o.Code != codeRuleRefused {
		t.Fatal(o.Line(), o.Reason)
	}
	mustDo(t, h.Close())
	found := d.read(t, audit.Filter{Code: codeRuleRefused})
	if len(found) != 1 {
		t.Fatalf("%d entries", len(found))
	}
	if details := value(found[0], valueDetails); len(details) > 200_000 || strings.Count(details, ` in [\"`) != 61 {
		t.Errorf("%d bytes: %.300s", len(details), details)
	}
}

// A refusal is explained in little time, however many clauses name a long fact
// and however many secrets there are to look for in it.
func TestAttackManyClausesOfALongFact(t *testing.T) {
	d := vault(t, `{"type":"array","maxItems":90,"items":{"type":"string","maxLength":20},"x-secret":true}`, `["a"]`,
		`has(facts.vault.barred_on) || `+strings.Repeat(`facts.vault.token == "x" || `, 60)+`"y" in args.s`, strings.Repeat("é", 32_000), "1")
	h := d.open(t)
	var secrets []string
	for i := range 90 {
		secrets = append(secrets, fmt.Sprintf(`"é%08d"`, i))
	}
	start := time.Now()
	o := h.Call(t.Context(), tom(), ask("open_vault", `{"s":[`+strings.Join(secrets, ",")+`]}`))
	if took := time.Since(start); o.Code != codeRuleRefused || took > time.Second {
		t.Errorf("%s %s after %s", o.Line(), o.Reason, took)
	}
}

// A number that a contract lets through and that can be held
// against no integer of a table is refused by the rules and counted: as
// "unavailable" it would look like a fault of the host, and as an absent fact a
// model could open what a rule lets through where nothing is known.
func TestAttackArgumentsThatNoColumnHas(t *testing.T) {
	config := strings.NewReplacer(`vault = { from = "vaults", key = "{session.customer}" }`, `seen = { from = "vaults", count = true, where = { tries = "{args.s}" } }`,
		`"barred_on"]`, `"tries"]`, "REQUIRE", "!has(facts.seen) || facts.seen > 0", "stored is {facts.vault.token}", "{facts.seen} seen",
		`facts = { vault = { barred_on = "x" } }, now`, `facts = { seen = 1 }, now`, `facts = { vault = { token = "t", pin = "5" } }, now`, `facts = { seen = 0 }, now`,
		"args = '{}'", `args = '{"s":1}'`, "EXAMPLE", "1").Replace(vaultConfig) + "[session]\nrefusals = { count = 5, within = \"10m\" }\n"
	d := newDesk(t, config)
	d.write(t, "plugins/open_vault/contract.json", `{"name":"open_vault","description":"Opens.","inputSchema":{"type":"object","additionalProperties":false,"required":["s"],"properties":{"s":{"type":"number","minimum":0,"maximum":1e30}}},
"outputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`)
	d.write(t, "plugins/open_vault/plugin.wasm", wasm(nil, nil))
	d.sql(t, `CREATE TABLE vaults (id TEXT NOT NULL PRIMARY KEY, tenant TEXT, token TEXT, pin TEXT, tries INTEGER); INSERT INTO vaults VALUES ('C-1', 'larkfield', '', '', 1000)`)
	h := d.open(t)
	for _, s := range []struct{ argument, code string }{
		{"1000", codeInvalidResult},
		{"1e3", codeRuleRefused},
		{"1000.0", codeRuleRefused},
		{"9223372036854775808", codeRuleRefused},
		{"99999999999999999999", codeRuleRefused},
		{"7", codeRuleRefused},
		{"1000", codeLocked},
	} {
		if o := h.Call(t.Context(), tom(), ask("open_vault", `{"s":`+s.argument+`}`)); o.Code != s.code {
			t.Errorf("%s: %s %s", s.argument, o.Line(), o.Reason)
		}
	}
}
