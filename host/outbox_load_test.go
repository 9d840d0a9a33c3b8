package host

import (
	"fmt"
	"strings"
	"testing"
)

// writesOf is the config of pay as a write, with a fact and a rule that reads it.
func writesOf() string {
	return pays(effectWrite) + payOrder + payRule("within", "args.amount <= facts.order.total", "") + paysInto(effectWrite) + `
[databases.leave]
url = "sqlite:var/leave.db"
[capabilities.bank]
kind = "fetch"
[[capabilities.bank.allow]]
url = "https://bank.example/v1/"
methods = ["POST"]
[capabilities.people]
kind = "records"
database = "leave"
table = "demandes"
key = "id"
columns = ["id"]
scope = "everyone"
`
}

// What a tool that writes names is held against its contract, its facts, its
// table and what delivers it, at load: each fault is told once, with its line.
func TestWritesThatDoNotLoad(t *testing.T) {
	const (
		row     = `row = { id = "{approval.id}", order_id = "{args.order_id}", amount = "{args.amount}" }`
		types   = "{args.amount}\" }\ntypes = { amount = \"decimal\" }"
		grant   = "[tools.pay.grants]\npaid = {}"
		deliver = "deliver = { fetch = \"bank\", method = \"POST\", url = \"https://bank.example/v1/x\" }"
	)
	also := map[string]int{ // what else is wrong with it, too
		"no-outbox":                 1, // the module imports what nothing grants
		"table-of-sqlite":           2, // two more columns
		"misspelt-column-of-a-fact": 1, // the fact cannot be fetched
		"fact-of-another-database":  1, // no rule reads it
		"guest-of-a-delivery":       1, // the module imports nothing of it
	}
	cell := func(of string) string { return strings.Replace(row, " }", `, note = "`+of+`" }`, 1) }
	for _, c := range []struct{ name, old, now, at, want string }{
		{"no-outbox", grant, "", "effect =", "a tool that writes is granted one outbox"},
		{"two-outboxes", grant, grant + "\nmore = {}\n[capabilities.more]\nkind = \"outbox\"\ndatabase = \"desk\"\ntable = \"paid\"\nrow = { id = \"{approval.id}\" }", "more = {}", "paid is granted too; an approval writes one row of one outbox"},
		{"outbox-of-one-argument", grant, "[tools.pay.grants]\npaid = { only = \"{args.order_id}\" }", "paid = {", "only: the row of an outbox is the host's to make"},
		{"no-table", `table = "paid"`, `table = "repaid"`, "table = \"repaid\"", `database "desk" has no table "repaid"`},
		{"table-of-sqlite", `table = "paid"`, `table = "sqlite_schema"`, "row =", `"id"`},
		{"no-column", row, cell("x"), "row =", `"note"`},
		{"rowid", row, strings.Replace(row, " }", `, rowid = "1" }`, 1), "row =", `"rowid"`},
		{"column-of-another-case", row, strings.Replace(row, "order_id =", "Order_id =", 1), "row =", `"Order_id"`},
		{"misspelt-argument", row, strings.Replace(row, "{args.order_id}", "{args.ordr_id}", 1), "row =", `{args.ordr_id} names no value (did you mean "order_id"?)`},
		{"misspelt-argument-in-a-text", row, strings.Replace(row, "{args.order_id}", "of {args.ordr_id}", 1), "row =", `{args.ordr_id} names no value`},
		{"misspelt-fact", row, strings.Replace(row, "{args.order_id}", "{facts.ordr.total}", 1), "row =", `{facts.ordr.total} names no value`},
		{"misspelt-column-of-a-fact", row, strings.Replace(row, "{args.order_id}", "{facts.order.totl}", 1), "row =", `{facts.order.totl} names no value`},
		{"number-into-a-text", types, "{args.amount}\" }", "row =", `{args.amount} is a number, the column is of type text; declare what it is: types = { amount = "decimal" }`},
		{"text-into-a-number", row, strings.Replace(row, "{args.amount}", "{args.note}", 1), "row =", "the column is of type decimal"},
		{"several-into-a-number", row, strings.Replace(row, "{args.amount}", "1{args.amount}", 1), "row =", "a text for a column of type decimal"},
		{"literal-into-a-number", row, strings.Replace(row, "{args.amount}", "5.00", 1), "row =", "a text for a column of type decimal"},
		{"of-two-kinds", row, strings.Replace(row, "{args.order_id}", "{args.either}", 1), "row =", "{args.either}"},
		{"list-into-a-text", row, strings.Replace(row, "{args.order_id}", "{args.lines}", 1), "row =", "{args.lines}"},
		{"fact-of-another-database", "[tools.pay.facts]", "[tools.pay.facts]\nothers = { from = \"people\", count = true }", "others =", "the rules are decided again in the transaction that writes, which is of one database"},
		{"delivery-over-records", types, types + "\n" + strings.Replace(deliver, "bank", "orders", 1), "deliver =", `"orders" is of kind records; a webhook goes over a fetch capability`},
		{"delivery-elsewhere", types, types + "\n" + strings.Replace(deliver, "bank.example/v1", "evil.example/v1", 1), "deliver =", "no entry of [capabilities.bank] takes POST https://evil.example/v1/x"},
		{"delivery-above-the-entry", types, types + "\n" + strings.Replace(deliver, "/v1/x", "/x", 1), "deliver =", "no entry of [capabilities.bank] takes"},
		{"delivery-by-another-method", types, types + "\n" + strings.Replace(deliver, `"POST"`, `"PUT"`, 1), "deliver =", "no entry of [capabilities.bank] takes PUT"},
		{"delivery-to-a-host-of-the-row", types, types + "\n" + strings.Replace(deliver, "bank.example/v1/x", "{row.order_id}/v1/x", 1), "deliver =", "deliver.url: "},
		{"delivery-with-a-query-of-the-row", types, types + "\n" + strings.Replace(deliver, "/v1/x", "/v1/x?y={row.order_id}", 1), "deliver =", "deliver.url: "},
		{"delivery-with-a-part-of-a-segment", types, types + "\n" + strings.Replace(deliver, "/v1/x", "/v1/..{row.order_id}", 1), "deliver =", "deliver.url: "},
		{"guest-of-a-delivery", grant, grant + "\nbank = {}", "bank = {}", "takes more than GET and HEAD, which is for deliveries"},
		{"mail-in-the-open", types, types + "\ndeliver = { mail = \"m\", from = \"a@b.example\", to = \"a@b.example\", subject = \"s\", text = \"t\" }\n[mail.m]\nserver = \"mail.example:25\"\nsecurity = \"none\"", "server =", "would get mails in the open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := replaceOnce(t, writesOf(), c.old, c.now)
			d := newPayDesk(t, effectWrite, "")
			d.write(t, "config.toml", config)
			d.sqlIn(t, "leave.db", "CREATE TABLE demandes (id TEXT NOT NULL PRIMARY KEY)")
			start := 0 // the last section that has it
			if i := strings.LastIndex(config, c.at); i >= 0 {
				start = i
			} else {
				t.Fatalf("%q stands nowhere", c.at)
			}
			if c.at == "effect =" {
				start = strings.Index(config, c.at)
			}
			line := 1 + strings.Count(config[:start], "\n")
			h, err := d.tryOpen(t)
			if err == nil {
				h.Close()
				t.Fatal("loads")
			}
			got := err.Error()
			told := 0
			for one := range strings.SplitSeq(got, "\n") {
				if strings.HasPrefix(one, fmt.Sprintf("config.toml:%d: [", line)) && strings.Contains(one, c.want) {
					told++
				}
			}
			if told != 1 || !strings.HasSuffix(got, "\n"+count(1+also[c.name], "fault")+"; nothing was loaded") {
				t.Errorf("%s\nwant line %d: %s", got, line, c.want)
			}
		})
	}
}

// The same config without any of that loads.
func TestWritesLoad(t *testing.T) {
	d := newPayDesk(t, effectWrite, "")
	d.write(t, "config.toml", writesOf())
	d.sqlIn(t, "leave.db", "CREATE TABLE demandes (id TEXT NOT NULL PRIMARY KEY)")
	d.open(t)
}

// A fetch capability that cannot be opened is the one fault, wherever it stands.
func TestDeliveryOverWhatCannotBeOpened(t *testing.T) {
	const types = "amount = \"{args.amount}\" }\ntypes = { amount = \"decimal\" }"
	config := replaceOnce(t, writesOf(), types, types+"\ndeliver = { fetch = \"bank\", method = \"POST\", url = \"https://bank.example/v1/x\" }")
	d := newPayDesk(t, effectWrite, "")
	d.write(t, "config.toml", replaceOnce(t, config, `methods = ["POST"]`, "methods = [\"POST\"]\nroots = \"missing.pem\""))
	d.sqlIn(t, "leave.db", "CREATE TABLE demandes (id TEXT NOT NULL PRIMARY KEY)")
	if _, err := d.tryOpen(t); err == nil || !strings.Contains(err.Error(), "[capabilities.bank] ") || !strings.HasSuffix(err.Error(), "\n1 fault; nothing was loaded") {
		t.Error(err)
	}
}

// A contract that marks a secret is none of a tool that writes.
func TestSecretsDoNotWait(t *testing.T) {
	const result = `{"name":"pay","description":"d","inputSchema":{"type":"object","additionalProperties":false,"required":["order_id","amount"],"properties":{
	"order_id":{"type":"string","maxLength":9},"amount":{"type":"number","minimum":-1000,"maximum":100000}}},
	"outputSchema":{"type":"object","properties":{"link":{"type":"string","maxLength":40,"x-secret":true}},"additionalProperties":false}}`
	for contract, want := range map[string]string{
		payContract: "its contract marks an argument x-secret, which is never stored; what waits for a person is",
		result:      "its contract marks a part of the result x-secret, which is never stored; what an approval returns is kept until the model asks",
	} {
		d := newPayDesk(t, effectWrite, "")
		d.write(t, "plugins/pay/contract.json", contract)
		_, err := d.tryOpen(t)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "\n1 fault; nothing was loaded") {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// A mail whose sender is no address could never leave.
func TestSenderIsAnAddress(t *testing.T) {
	const types = "amount = \"{args.amount}\" }\ntypes = { amount = \"decimal\" }"
	for from, want := range map[string]string{"help@larkfield.example": "", "Help <help@larkfield.example>": "deliver.from: ", "help": "deliver.from: ", "a@b\\r\\nBcc: c@d": "deliver.from: "} {
		d := newPayDesk(t, effectWrite, "")
		d.write(t, "config.toml", replaceOnce(t, writesOf(), types, types+"\ndeliver = { mail = \"shop\", from = \""+from+"\", to = \"{row.order_id}\", subject = \"s\", text = \"t\" }\n[mail.shop]\nserver = \"127.0.0.1:1\"\nsecurity = \"none\""))
		d.sqlIn(t, "leave.db", "CREATE TABLE demandes (id TEXT NOT NULL PRIMARY KEY)")
		_, err := d.tryOpen(t)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "\n1 fault; nothing was loaded")) {
			t.Errorf("%q: %v", from, err)
		}
	}
}

// A table that takes no row without a column that nobody fills, or that may be
// NULL here and not there, is found before a person has said yes.
func TestTableThatTakesNoRow(t *testing.T) {
	const row = `amount = "{args.amount}" }`
	for name, tt := range map[string]struct{ table, row, want string }{
		"not-filled": {
			"CREATE TABLE strict_paid (id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT, at TEXT NOT NULL)", row,
			`column "at" is NOT NULL and has no default, so that the table takes no row without it`,
		},
		"left-out": {
			"CREATE TABLE strict_paid (id TEXT NOT NULL PRIMARY KEY, order_id TEXT NOT NULL, amount TEXT, note TEXT NOT NULL)", `amount = "{args.amount}", note = "{args.note}" }`,
			`row.note: {args.note} can be left out, and the column is NOT NULL`,
		},
		"a-default":   {"CREATE TABLE strict_paid (id TEXT NOT NULL PRIMARY KEY, order_id TEXT NOT NULL, amount TEXT NOT NULL, at TEXT NOT NULL DEFAULT 'now')", row, ""},
		"a-rowid":     {"CREATE TABLE strict_paid (n INTEGER NOT NULL PRIMARY KEY, id TEXT NOT NULL UNIQUE, order_id TEXT, amount TEXT)", row, ""},
		"a-generated": {"CREATE TABLE strict_paid (id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT, of TEXT NOT NULL AS ('of ' || id))", row, ""},
		"a-text":      {"CREATE TABLE strict_paid (id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT, note TEXT NOT NULL)", `amount = "{args.amount}", note = "of {args.order_id}" }`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPayDesk(t, effectWrite, "")
			d.write(t, "config.toml", replaceOnce(t, replaceOnce(t, writesOf(), `table = "paid"`, `table = "strict_paid"`), row, tt.row))
			d.sql(t, tt.table)
			d.sqlIn(t, "leave.db", "CREATE TABLE demandes (id TEXT NOT NULL PRIMARY KEY)")
			_, err := d.tryOpen(t)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasSuffix(err.Error(), "\n1 fault; nothing was loaded")) {
				t.Error(err)
			}
		})
	}
}
