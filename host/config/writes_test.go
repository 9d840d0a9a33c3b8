package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// writes is a config whose tools write: into a table, to a webhook, by mail.
const writes = `[databases.desk]
url = "sqlite:var/desk.db"
[directory]
database = "desk"
table = "people"
roles = ["staff", "owner"]
[approvers]
usr-grace = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
usr-mara = "file:keys/mara.sha256"
[capabilities.refunds]
kind = "outbox"
database = "desk"
table = "refunds"
row = { id = "{approval.id}", order_id = "{args.order_id}", amount = "{args.amount}", tenant = "{session.tenant}", of = "order {args.order_id}", by = "{approval.approver}" }
types = { amount = "minor(2)" }
[capabilities.refunds.deliver]
fetch = "bank"
method = "POST"
url = "https://bank.example/v1/{row.order_id}"
body = { amount = "{row.amount}", key = "{row.id}" }
tries = 3
[capabilities.mails]
kind = "outbox"
database = "desk"
table = "mails"
row = { id = "{approval.id}", recipient = "{args.to}", body = "{args.body}" }
deliver = { mail = "shop", from = "help@shop.example", to = "{row.recipient}", subject = "Your order", text = "{row.body}" }
[capabilities.bank]
kind = "fetch"
[[capabilities.bank.allow]]
url = "https://bank.example/v1/"
methods = ["POST"]
[mail.shop]
server = "mail.shop.example:587"
security = "tls"
user = "shop"
password = "{env.CARRIER_TOKEN}"
[tools.refund]
plugin = "plugins/refund"
effect = "write"
callers = ["staff"]
approve = { role = "owner", requester = true, expires = "60m" }
grants = { refunds = {} }
[tools.mail]
plugin = "plugins/mail"
effect = "write"
callers = ["staff"]
approve = { role = "owner" }
grants = { mails = {} }
`

// What a config says of writes is read whole.
func TestWritesAreRead(t *testing.T) {
	c, err := Parse("/srv/config.toml", []byte(writes), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Approvers; len(a) != 2 || a[0].Subject != "usr-grace" || a[0].Hash != "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" || a[0].File != "" ||
		a[1].Subject != "usr-mara" || a[1].Hash != "" || a[1].File != "/srv/keys/mara.sha256" || a[1].Line != 9 {
		t.Errorf("approvers are %+v", a)
	}
	capability := func(name string) *Capability {
		for i := range c.Capabilities {
			if c.Capabilities[i].Name == name {
				return &c.Capabilities[i]
			}
		}
		t.Fatal(name)
		return nil
	}
	refunds, mails := capability("refunds").Outbox, capability("mails").Outbox
	var row []string
	for _, cell := range refunds.Row {
		row = append(row, fmt.Sprintf("%s = %s", cell.Column, cell.Is))
	}
	if refunds.Database != "desk" || refunds.Table != "refunds" || refunds.Key != "id" || fmt.Sprint(refunds.Types) != "map[amount:minor(2)]" ||
		strings.Join(row, ", ") != "id = {approval.id}, order_id = {args.order_id}, amount = {args.amount}, tenant = {session.tenant}, of = order {args.order_id}, by = {approval.approver}" {
		t.Errorf("the outbox is %+v", refunds)
	}
	d := refunds.Deliver
	if d.Fetch != "bank" || d.Mail != "" || d.Method != "POST" || d.URL.String() != "https://bank.example/v1/{row.order_id}" || len(d.Body) != 2 || d.Body[0].Column != "amount" || d.Tries != 3 {
		t.Errorf("it delivers %+v", d)
	}
	d = mails.Deliver
	if d.Fetch != "" || d.Mail != "shop" || d.From != "help@shop.example" || d.To.String() != "{row.recipient}" || d.Subject.String() != "Your order" || d.Text.String() != "{row.body}" || d.Tries != 12 {
		t.Errorf("it delivers %+v", d)
	}
	if m := c.Mails[0]; len(c.Mails) != 1 || m.Name != "shop" || m.Server != "mail.shop.example:587" || m.Security != "tls" || m.User != "shop" || m.Password != "correct-horse-battery" || m.Hash == "" {
		t.Errorf("mail is %+v", m)
	}
	if a := c.Tools[0].Approve; a.Role != "owner" || !a.Requester || a.Expires != time.Hour {
		t.Errorf("approve is %+v", a)
	}
	if a := c.Tools[1].Approve; a.Role != "owner" || a.Requester || a.Expires != 15*time.Minute { // the safe ones
		t.Errorf("by default approve is %+v", a)
	}
}

// Every fault of what a config says of writes is told once, with its line and key.
func TestRefusedWrites(t *testing.T) {
	for _, c := range writesRefused() {
		t.Run(c.rule, func(t *testing.T) {
			config, err := Parse("config.toml", []byte(c.apply(t, writes)), testOptions())
			if config != nil {
				t.Error("a config with faults was loaded")
			}
			checkFaults(t, err, c.want)
		})
	}
}

func writesRefused() []refusal {
	const (
		hash     = `"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
		row      = `row = { id = "{approval.id}", recipient = "{args.to}", body = "{args.body}" }`
		approve  = `approve = { role = "owner", requester = true, expires = "60m" }`
		deliver  = `deliver = { mail = "shop", from = "help@shop.example", to = "{row.recipient}", subject = "Your order", text = "{row.body}" }`
		mailTool = "[tools.mail]\nplugin = \"plugins/mail\"\neffect = \"write\"\ncallers = [\"staff\"]\napprove = { role = \"owner\" }"
		refund   = "[tools.refund]\nplugin = \"plugins/refund\"\neffect = \"write\""
	)
	r := func(rule, old, now string, want ...string) refusal { return refusal{rule, old, now, want} }
	return []refusal{
		r("token-as-it-is", hash, `"a token of 20 characters"`, `config.toml:8: [approvers] usr-grace: this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token usr-grace`),
		r("hash-too-short", hash, `"sha256:0123"`, `config.toml:8: [approvers] usr-grace: this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token usr-grace`),
		r("hash-in-upper-case", hash, `"sha256:`+strings.Repeat("AB", 32)+`"`, `config.toml:8: [approvers] usr-grace: this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token usr-grace`),
		r("hash-without-its-name", hash, `"`+strings.Repeat("ab", 32)+`"`, `config.toml:8: [approvers] usr-grace: this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token usr-grace`),
		r("hash-by-another-function", hash, `"sha512:`+strings.Repeat("ab", 32)+`"`, `config.toml:8: [approvers] usr-grace: this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token usr-grace`),
		r("hash-of-the-environment", hash, `"{env.CARRIER_TOKEN}"`, `config.toml:8: [approvers] usr-grace: this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token usr-grace`),
		r("hash-as-a-list", hash, `["x"]`, `config.toml:8: [approvers] usr-grace: found an array, expected a string`),
		r("file-without-a-path", `"file:keys/mara.sha256"`, `"file:"`, `config.toml:9: [approvers] usr-mara: this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token usr-mara`),
		r("file-that-is-the-state", `"file:keys/mara.sha256"`, `"file:var/state/state.db"`, `config.toml:9: [approvers] usr-mara: "file:var/state/state.db" is toolhost's own; keep the hash in a file of its own`),
		r("file-that-is-the-audit-key", `"file:keys/mara.sha256"`, `"file:var/keys/audit.key"`, `config.toml:9: [approvers] usr-mara: "file:var/keys/audit.key" is toolhost's own; keep the hash in a file of its own`),
		r("file-in-the-audit-folder", `"file:keys/mara.sha256"`, `"file:var/audit/mara"`, `config.toml:9: [approvers] usr-mara: "file:var/audit/mara" is toolhost's own; keep the hash in a file of its own`),
		r("file-in-a-plugin", `"file:keys/mara.sha256"`, `"file:plugins/mail/mara"`, `config.toml:9: [approvers] usr-mara: "file:plugins/mail/mara" lies in the plugin of mail; a plugin's folder is somebody else's to write`),
		r("token-of-two-people", `"file:keys/mara.sha256"`, hash, `config.toml:9: [approvers] usr-mara: has the token of "usr-grace" too; each person has their own`),
		r("approvers-as-a-list", "[approvers]\n", "[[approvers]]\n", `config.toml:7: [approvers]: found an array, expected a table`),
		r("approver-twice", "usr-mara =", "usr-grace =", `config.toml:9: not valid TOML: Key 'approvers.usr-grace' has already been defined.`),
		r("approver-without-a-name", "usr-mara =", `"" =`, `config.toml:9: [approvers] "": nobody has no name; write the subject of the person, as the directory has it`),

		r("no-approve", approve, "", `config.toml:38: [tools.refund] approve: missing; for example approve = { role = "owner", requester = false, expires = "15m" }`),
		r("approve-of-a-read", refund, strings.Replace(refund, "write", "read", 1), `config.toml:42: [tools.refund] approve: a tool that reads runs at once and asks nobody; remove it`),
		r("approve-without-a-role", approve, `approve = {}`, `config.toml:42: [tools.refund] approve.role: missing; for example role = "owner"`),
		r("approve-as-a-string", approve, `approve = "owner"`, `config.toml:42: [tools.refund] approve: found a string, expected a table`),
		r("approve-unknown-key", approve, `approve = { role = "owner", expire = "60m" }`, `config.toml:42: [tools.refund] approve.expire: unknown key (did you mean "expires"?); known here: role, requester, expires`),
		r("approve-role-not-decided", approve, `approve = { role = "boss" }`, `config.toml:42: [tools.refund] approve: role: "boss" is none of the roles that [directory] decides`),
		r("approve-misspelt-role", approve, `approve = { role = "ower" }`, `config.toml:42: [tools.refund] approve: role: "ower" is none of the roles that [directory] decides (did you mean "owner"?)`),
		r("approve-role-in-another-case", approve, `approve = { role = "Owner" }`, `config.toml:42: [tools.refund] approve.role: "Owner" is not a role ^[a-z][a-z0-9_]{0,31}$`),
		r("approve-role-as-a-list", approve, `approve = { role = ["owner"] }`, `config.toml:42: [tools.refund] approve.role: found an array, expected a string`),
		r("requester-as-a-string", approve, `approve = { role = "owner", requester = "false" }`, `config.toml:42: [tools.refund] approve.requester: found a string, expected true or false`),
		r("requester-as-an-integer", approve, `approve = { role = "owner", requester = 0 }`, `config.toml:42: [tools.refund] approve.requester: found an integer, expected true or false`),
		r("expires-never", approve, `approve = { role = "owner", expires = "0s" }`, `config.toml:42: [tools.refund] approve.expires: "0s" is out of bounds, from 1s to 10080m`),
		r("expires-too-late", approve, `approve = { role = "owner", expires = "10081m" }`, `config.toml:42: [tools.refund] approve.expires: "10081m" is out of bounds, from 1s to 10080m`),
		r("expires-as-an-integer", approve, `approve = { role = "owner", expires = 15 }`, `config.toml:42: [tools.refund] approve.expires: found an integer, expected a string`),
		r("expires-below-zero", approve, `approve = { role = "owner", expires = "-1m" }`, `config.toml:42: [tools.refund] approve.expires: "-1m" is no duration; write whole numbers of m, s and ms, like "1m30s" or "500ms"`),
		r("no-directory", "[directory]\ndatabase = \"desk\"\ntable = \"people\"\nroles = [\"staff\", \"owner\"]\n", "\n\n\n\n", `config.toml:42: [tools.refund] approve: role: nothing says who is "owner"; an approver's role is looked up in a [directory]`, `config.toml:48: [tools.mail] approve: role: nothing says who is "owner"; an approver's role is looked up in a [directory]`),

		r("outbox-unknown-key", `table = "mails"`, "table = \"mails\"\nkey = \"id\"", `config.toml:26: [capabilities.mails] key: unknown key; known here: kind, database, table, row, types, deliver`),
		r("outbox-scope", `table = "mails"`, "table = \"mails\"\nscope = \"everyone\"", `config.toml:26: [capabilities.mails] scope: unknown key; known here: kind, database, table, row, types, deliver`),
		r("outbox-no-database", "database = \"desk\"\ntable = \"mails\"", `table = "mails"`, `config.toml:22: [capabilities.mails] database: missing; for example database = "desk"`),
		r("outbox-other-database", "database = \"desk\"\ntable = \"mails\"", "database = \"dsk\"\ntable = \"mails\"", `config.toml:24: [capabilities.mails] database: no database "dsk" (did you mean "desk"?)`),
		r("outbox-no-table", `table = "mails"`, "", `config.toml:22: [capabilities.mails] table: missing; for example table = "refunds"`),
		r("outbox-table-with-a-schema", `table = "mails"`, `table = "main.mails"`, `config.toml:25: [capabilities.mails] table: "main.mails" is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$`),
		r("outbox-table-quoted", `table = "mails"`, `table = "mails\" (id) --"`, `config.toml:25: [capabilities.mails] table: "mails\" (id) --" is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$`),
		r("no-row", row, "", `config.toml:22: [capabilities.mails] row: missing; for example row = { refund_id = "{approval.id}", order_id = "{args.order_id}" }`),
		r("row-without-the-id", row, `row = { recipient = "{args.to}", body = "{args.body}" }`, `config.toml:26: [capabilities.mails] row: no column is exactly "{approval.id}"; one must be, and be unique, so that one approval can write one row`),
		r("row-with-a-part-of-the-id", row, `row = { id = "A{approval.id}", recipient = "{args.to}", body = "{args.body}" }`, `config.toml:26: [capabilities.mails] row.id: {approval.id} stands in a column alone; nobody knows it when the row is approved`),
		r("row-with-an-approver-in-a-text", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = "{args.body} {approval.approver}" }`, `config.toml:26: [capabilities.mails] row.body: {approval.approver} stands in a column alone; nobody knows it when the row is approved`),
		r("row-with-a-time-twice", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = "{approval.time}{approval.time}" }`, `config.toml:26: [capabilities.mails] row.body: {approval.time} stands in a column alone; nobody knows it when the row is approved`),
		r("row-with-two-ids", row, `row = { id = "{approval.id}", again = "{approval.id}", recipient = "{args.to}", body = "{args.body}" }`, `config.toml:26: [capabilities.mails] row.again: two columns are exactly {approval.id}; one must be, and be unique`),
		r("row-of-two-cases", row, `row = { id = "{approval.id}", ID = "x", recipient = "{args.to}", body = "{args.body}" }`, `config.toml:26: [capabilities.mails] row.ID: "id" and "ID" are one column to SQL`),
		r("row-of-look-alikes", row, `row = { id = "{approval.id}", "іd" = "x", recipient = "{args.to}", body = "{args.body}" }`, `config.toml:26: [capabilities.mails] row."іd": "іd" is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$`),
		r("row-of-the-environment", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = "{env.CARRIER_TOKEN}" }`, `config.toml:26: [capabilities.mails] row.body: "{env.CARRIER_TOKEN}" may not stand here; this key takes {args.x} or {session.x} or {facts.x} or {approval.x}`),
		r("row-of-values", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = "{values.x}" }`, `config.toml:26: [capabilities.mails] row.body: "{values.x}" may not stand here; this key takes {args.x} or {session.x} or {facts.x} or {approval.x}`),
		r("row-of-a-row", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = "{row.id}" }`, `config.toml:26: [capabilities.mails] row.body: "{row.id}" may not stand here; this key takes {args.x} or {session.x} or {facts.x} or {approval.x}`),
		r("row-of-another-approval-value", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = "{approval.token}" }`, `config.toml:26: [capabilities.mails] row.body: "{approval.token}" is no value of an approval (id, approver, time)`),
		r("row-of-no-session-field", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = "{session.password}" }`, `config.toml:26: [capabilities.mails] row.body: "{session.password}" is no session value (customer, ticket, subject, tenant, role, id)`),
		r("row-of-a-number", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = 5 }`, `config.toml:26: [capabilities.mails] row.body: found an integer, expected a string`),
		r("row-empty-text", row, `row = { id = "{approval.id}", recipient = "{args.to}", body = "" }`, `config.toml:26: [capabilities.mails] row.body: an empty string; write a value or remove the key`),
		r("row-as-a-string", row, `row = "everything"`, `config.toml:26: [capabilities.mails] row: found a string, expected a table`),
		r("row-column-quoted", row, `row = { id = "{approval.id}", recipient = "{args.to}", "body\") VALUES (1) --" = "x" }`, `config.toml:26: [capabilities.mails] row."body\") VALUES (1) --": "body\") VALUES (1) --" is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$`),
		r("types-of-no-column", `types = { amount = "minor(2)" }`, `types = { amont = "minor(2)" }`, `config.toml:15: [capabilities.refunds] types.amont: "amont" is not in columns (did you mean "amount"?)`),
		r("types-unknown", `types = { amount = "minor(2)" }`, `types = { amount = "float" }`, `config.toml:15: [capabilities.refunds] types.amount: no type "float"; known here: text, integer, decimal, minor(2), json, date, boolean`),

		r("deliver-by-both", deliver, `deliver = { mail = "shop", fetch = "bank" }`, `config.toml:27: [capabilities.mails] deliver: needs one of fetch = "NAME" (a webhook) and mail = "NAME"`),
		r("deliver-by-neither", deliver, `deliver = { to = "{row.recipient}" }`, `config.toml:27: [capabilities.mails] deliver: needs one of fetch = "NAME" (a webhook) and mail = "NAME"`),
		r("deliver-as-a-string", deliver, `deliver = "shop"`, `config.toml:27: [capabilities.mails] deliver: found a string, expected a table`),
		r("deliver-no-such-mail", deliver, strings.Replace(deliver, `"shop"`, `"shp"`, 1), `config.toml:27: [capabilities.mails] deliver.mail: no mail server "shp" (did you mean "shop"?)`),
		r("deliver-misspelt-column", deliver, strings.Replace(deliver, "row.recipient", "row.recipent", 1), `config.toml:27: [capabilities.mails] deliver.to: "{row.recipent}" is no column of row (did you mean "recipient"?)`),
		r("deliver-to-an-argument", deliver, strings.Replace(deliver, "row.recipient", "args.to", 1), `config.toml:27: [capabilities.mails] deliver.to: "{args.to}" may not stand here; this key takes {row.x}`),
		r("deliver-from-a-row", deliver, strings.Replace(deliver, "help@shop.example", "{row.recipient}", 1), `config.toml:27: [capabilities.mails] deliver.from: "{row.recipient}" may not stand here; this key takes no reference`),
		r("deliver-without-from", deliver, strings.Replace(deliver, `from = "help@shop.example", `, "", 1), `config.toml:27: [capabilities.mails] deliver.from: missing; for example from = "help@example.org"`),
		r("deliver-without-to", deliver, strings.Replace(deliver, `to = "{row.recipient}", `, "", 1), `config.toml:27: [capabilities.mails] deliver.to: missing; for example to = "{row.recipient}"`),
		r("deliver-without-subject", deliver, strings.Replace(deliver, `subject = "Your order", `, "", 1), `config.toml:27: [capabilities.mails] deliver.subject: missing; for example subject = "{row.subject}"`),
		r("deliver-without-text", deliver, strings.Replace(deliver, `, text = "{row.body}"`, "", 1), `config.toml:27: [capabilities.mails] deliver.text: missing; for example text = "{row.body}"`),
		r("deliver-mail-with-a-method", deliver, strings.Replace(deliver, ` }`, `, method = "POST" }`, 1), `config.toml:27: [capabilities.mails] deliver.method: unknown key; known here: mail, from, to, subject, text, tries`),
		r("deliver-no-tries", "tries = 3", "tries = 0", `config.toml:21: [capabilities.refunds] deliver.tries: 0 is out of bounds, from 1 to 100`),
		r("deliver-too-many-tries", "tries = 3", "tries = 101", `config.toml:21: [capabilities.refunds] deliver.tries: 101 is out of bounds, from 1 to 100`),
		r("deliver-tries-as-a-string", "tries = 3", `tries = "3"`, `config.toml:21: [capabilities.refunds] deliver.tries: found a string, expected an integer`),
		r("deliver-no-such-fetch", `fetch = "bank"`, `fetch = "bnk"`, `config.toml:17: [capabilities.refunds] deliver.fetch: no capability "bnk" (did you mean "bank"?)`),
		r("deliver-no-method", `method = "POST"`+"\nurl = \"https://bank.example/v1/{", "url = \"https://bank.example/v1/{", `config.toml:16: [capabilities.refunds] deliver.method: missing; for example method = "POST"`),
		r("deliver-by-get", `method = "POST"`+"\n", "method = \"GET\"\n", `config.toml:18: [capabilities.refunds] deliver.method: "GET" is not one of POST, PUT, PATCH, DELETE`),
		r("deliver-by-post-in-lower-case", `method = "POST"`+"\n", "method = \"post\"\n", `config.toml:18: [capabilities.refunds] deliver.method: "post" is not one of POST, PUT, PATCH, DELETE`),
		r("deliver-no-url", `url = "https://bank.example/v1/{row.order_id}"`, "", `config.toml:16: [capabilities.refunds] deliver.url: missing; for example url = "https://example.org/v1/refunds"`),
		r("deliver-url-of-the-environment", `{row.order_id}"`, `{env.CARRIER_TOKEN}"`, `config.toml:19: [capabilities.refunds] deliver.url: "{env.CARRIER_TOKEN}" may not stand here; this key takes {row.x}`),
		r("deliver-url-of-an-argument", `{row.order_id}"`, `{args.order_id}"`, `config.toml:19: [capabilities.refunds] deliver.url: "{args.order_id}" may not stand here; this key takes {row.x}`),
		r("deliver-url-of-no-column", `{row.order_id}"`, `{row.oder_id}"`, `config.toml:19: [capabilities.refunds] deliver.url: "{row.oder_id}" is no column of row (did you mean "order_id"?)`),
		r("deliver-body-of-no-column", `key = "{row.id}"`, `key = "{row.ids}"`, `config.toml:20: [capabilities.refunds] deliver.body.key: "{row.ids}" is no column of row (did you mean "id"?)`),
		r("deliver-body-of-a-session", `key = "{row.id}"`, `key = "{session.subject}"`, `config.toml:20: [capabilities.refunds] deliver.body.key: "{session.subject}" may not stand here; this key takes {row.x}`),
		r("deliver-body-as-a-string", `body = { amount = "{row.amount}", key = "{row.id}" }`, `body = "{row.amount}"`, `config.toml:20: [capabilities.refunds] deliver.body: found a string, expected a table`),
		r("deliver-unknown-key", "tries = 3", "retries = 3", `config.toml:21: [capabilities.refunds] deliver.retries: unknown key (did you mean "tries"?); known here: fetch, method, url, body, tries`),

		r("mail-no-server", `server = "mail.shop.example:587"`, "", `config.toml:33: [mail.shop] server: missing; for example server = "smtp.example.org:587"`),
		r("mail-server-without-a-port", `server = "mail.shop.example:587"`, `server = "mail.shop.example"`, `config.toml:34: [mail.shop] server: "mail.shop.example" is no host and port, like smtp.example.org:587`),
		r("mail-server-without-a-host", `server = "mail.shop.example:587"`, `server = ":587"`, `config.toml:34: [mail.shop] server: ":587" is no host and port, like smtp.example.org:587`),
		r("mail-server-as-a-url", `server = "mail.shop.example:587"`, `server = "smtp://mail.shop.example:587"`, `config.toml:34: [mail.shop] server: "smtp://mail.shop.example:587" is no host and port, like smtp.example.org:587`),
		r("mail-server-of-an-argument", `server = "mail.shop.example:587"`, `server = "{args.server}:587"`, `config.toml:34: [mail.shop] server: "{args.server}" may not stand here; this key takes {env.x}`),
		r("mail-server-unset", `server = "mail.shop.example:587"`, `server = "{env.NOT_SET}:587"`, `config.toml:34: [mail.shop] server: the environment variable NOT_SET is not set`),
		r("mail-security-misspelt", `security = "tls"`, `security = "start-tls"`, `config.toml:35: [mail.shop] security: "start-tls" is not one of tls, starttls, none (did you mean "starttls"?)`),
		r("mail-security-as-a-boolean", `security = "tls"`, `security = true`, `config.toml:35: [mail.shop] security: found a boolean, expected a string`),
		r("mail-password-in-the-file", `"{env.CARRIER_TOKEN}"`, `"correct-horse"`, `config.toml:37: [mail.shop] password: a secret in this file is shown by whoever shows the file; write {env.X}, and set the variable`),
		r("mail-password-in-part", `"{env.CARRIER_TOKEN}"`, `"{session.subject}"`, `config.toml:37: [mail.shop] password: "{session.subject}" may not stand here; this key takes {env.x}`),
		r("mail-user-alone", `password = "{env.CARRIER_TOKEN}"`+"\n", "\n", `config.toml:33: [mail.shop]: user and password stand together or not at all`),
		r("mail-password-alone", `user = "shop"`+"\n", "\n", `config.toml:33: [mail.shop]: user and password stand together or not at all`),
		r("mail-unknown-key", `security = "tls"`, "security = \"tls\"\nport = 25", `config.toml:36: [mail.shop] port: unknown key; known here: server, security, user, password`),
		r("tool-of-the-host's-name", "[tools.mail]", "[tools.approval_status]", `config.toml:44: [tools.approval_status]: approval_status is the host's own tool; choose another name`),
	}
}
