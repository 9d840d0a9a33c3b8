package host

import (
	"fmt"
	"strings"
	"testing"
)

// payContract is the contract of a tool whose arguments are of every kind that
// rules meet.
const payContract = `{"name":"pay","description":"d","inputSchema":{"type":"object","additionalProperties":false,"required":["order_id","amount"],"properties":{
	"order_id":{"type":"string","maxLength":9},"amount":{"type":"number","minimum":-1000,"maximum":100000},
	"note":{"type":"string","maxLength":200},"on":{"type":"string","format":"date"},"pin":{"type":"string","maxLength":9,"x-secret":true},
	"paid":{"type":"boolean"},"lines":{"type":"array","maxItems":100,"items":{"type":"number","minimum":0,"maximum":10}},
	"either":{"type":["string","number"],"maxLength":9,"minimum":0,"maximum":9},"must":{"type":"string","maxLength":9}}},
"outputSchema":{"type":"object","properties":{},"additionalProperties":false}}`

// payConfig is a config of the one tool pay.
const payConfig = `[host]
attributes = ["customer"]
[databases.desk]
url = "sqlite:var/desk.db"
[capabilities.orders]
kind = "records"
database = "desk"
table = "orders"
key = "order_id"
columns = ["order_id", "status", "shipped_on", "total", "items"]
types = { shipped_on = "date", total = "decimal", items = "json" }
scope = [{ column = "tenant", is = "{session.tenant}", else = "out_of_scope" }]
[capabilities.refunds]
kind = "records"
database = "desk"
table = "refunds"
key = "refund_id"
columns = ["refund_id", "order_id", "amount"]
types = { amount = "decimal" }
scope = [{ column = "tenant", is = "{session.tenant}", else = "out_of_scope" }]
[capabilities.points]
kind = "records"
database = "desk"
table = "points"
key = "id"
columns = ["id", "order_id", "n"]
scope = "everyone"
[tools.pay]
plugin = "plugins/pay"
effect = "EFFECT"
callers = ["staff", "owner"]
not_available = "Nothing of {args.order_id}."
`

// payRule is a rule that stands on its last line alone: the rest of it is true of
// -1 and false of -2, which its examples show. The call asks with another amount.
func payRule(name, condition, more string) string {
	return fmt.Sprintf(`[[tools.pay.rules]]
name = %q
%s
examples = [
  { expect = "allow", args = '{"order_id":"LK-500000","amount":-1}', session = { role = "staff" }, now = "2026-10-15T09:00:00Z" },
  { expect = "refuse", args = '{"order_id":"LK-500000","amount":-2}', session = { role = "staff" }, now = "2026-10-15T09:00:00Z" },
]
require = '''args.amount == -1 || args.amount != -2 && (%s)'''
`, name, more, condition)
}

const (
	payOrder  = "[tools.pay.facts]\norder = { from = \"orders\", key = \"{args.order_id}\" }\n"
	paySpent  = "[tools.pay.facts]\nspent = { from = \"refunds\", sum = \"amount\", where = { order_id = \"{args.order_id}\" } }\n"
	payCount  = "[tools.pay.facts]\nspent = { from = \"refunds\", count = true, where = { order_id = \"{args.order_id}\" } }\n"
	payPoints = "[tools.pay.facts]\nspent = { from = \"points\", sum = \"n\" }\n"
	payWhere  = "[tools.pay.facts]\nspent = { from = \"points\", count = true, where = { n = \"{args.amount}\" } }\n"
	payLimit  = "[values.limit]\ntype = \"decimal\"\nroles = { staff = \"100.00\", owner = \"unlimited\" }\n"
)

// newPayDesk makes a desk with the tool, as a read or a write, and what is put
// behind payConfig. The module is one that can start: if it does, Stats says so.
func newPayDesk(t testing.TB, effect, config string) *desk {
	t.Helper()
	contract, module := payContract, wasm(nil, nil)
	if effect == effectWrite { // what waits for a person is stored, and a secret never is
		contract, module = strings.Replace(payContract, `,"x-secret":true`, "", 1), wasm([]string{"outbox.append"}, nil)
	}
	d := newDesk(t, pays(effect)+config+paysInto(effect))
	d.write(t, "plugins/pay/contract.json", contract)
	d.write(t, "plugins/pay/plugin.wasm", module)
	d.sql(t, "CREATE TABLE paid (id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT) STRICT; INSERT INTO people VALUES ('usr-boss', 'larkfield', 'boss')")
	d.sql(t, "CREATE TABLE points (id TEXT NOT NULL PRIMARY KEY, order_id TEXT, n INTEGER)") // not STRICT: it takes a float
	return d
}

// pays is payConfig for an effect. What a write needs besides stands at the end
// of the config (paysInto), so that every line keeps its number.
func pays(effect string) string { return strings.Replace(payConfig, "EFFECT", effect, 1) }

func paysInto(effect string) string {
	if effect == effectRead {
		return ""
	}
	return `
[tools.pay.approve]
role = "boss"
[tools.pay.grants]
paid = {}
[directory]
database = "desk"
table = "people"
roles = ["boss"]
[capabilities.paid]
kind = "outbox"
database = "desk"
table = "paid"
row = { id = "{approval.id}", order_id = "{args.order_id}", amount = "{args.amount}" }
types = { amount = "decimal" }
`
}

func staff() Session { return Session{Subject: "usr-sam", Tenant: "larkfield", Role: "staff"} }

func owner() Session { return Session{Subject: "usr-grace", Tenant: "larkfield", Role: "owner"} }

// passesRules tells whether the rules let a call go on: a read to its guest, a
// write to the approval gate.
func passesRules(h *Host, o Outcome, before uint64) bool {
	if h.tools["pay"].Effect == effectWrite {
		return o.State == Pending && o.Code == codeWaiting && h.Stats().Runs["pay"] == before
	}
	return o.State == Failed && o.Code == codeInvalidResult && h.Stats().Runs["pay"] == before+1
}
