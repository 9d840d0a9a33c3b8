package host

import (
	"os"
	"strings"
	"testing"
)

// Whatever can change what a rule decides is in the digest of the tool's policy.
func TestAttackPolicyOfRules(t *testing.T) {
	base := pays(effectWrite) + payLimit + payOrder +
		`today = { from = "spent", sum = "amount", where = { id = "{session.subject}" }, within = { column = "paid_on", days = 2, zone = "Europe/Paris" } }
[[tools.pay.rules]]
name = "budget"
require = "facts.today < values.budget"
reason = "{facts.today} spent"
words = "Enough for {args.order_id}."
examples = [
  { expect = "allow", args = '{"order_id":"LK-500000","amount":5}', session = { role = "staff" }, facts = { today = "1" } },
  { expect = "refuse", args = '{"order_id":"LK-500000","amount":5}', session = { role = "staff" }, facts = { today = "100" } },
]
` + payRule("left", "args.amount <= values.limit && args.amount <= facts.order.total", "") + `[values.budget]
type = "decimal"
roles = { staff = "50", owner = "unlimited" }
[capabilities.spent]
kind = "records"
database = "desk"
table = "spent"
key = "id"
columns = ["id", "paid_on", "amount"]
types = { paid_on = "date", amount = "minor(2)" }
max_bytes = "64KiB"
scope = [{ column = "tenant", is = "{session.tenant}", else = "out_of_scope" }]
` + paysInto(effectWrite)
	d := newPayDesk(t, effectWrite, "")
	d.sql(t, `CREATE TABLE spent (id TEXT NOT NULL PRIMARY KEY, tenant TEXT, owner TEXT, paid_on TEXT, due_on TEXT, amount INTEGER) STRICT;
		CREATE TABLE saved (id TEXT NOT NULL PRIMARY KEY, tenant TEXT, owner TEXT, paid_on TEXT, due_on TEXT, amount INTEGER) STRICT`)
	digest := func(t *testing.T, config string) string {
		t.Helper()
		mustDo(t, os.WriteFile(d.path("config.toml"), []byte(config), 0o600))
		h, err := d.tryOpen(t)
		mustDo(t, err)
		defer h.Close()
		return h.tools["pay"].policy.Resolved
	}
	of := digest(t, base)
	for name, change := range map[string]struct{ old, with string }{
		"rule":           {"facts.today < values.budget", "facts.today <= values.budget"},
		"rule-blank":     {"facts.today < values.budget", "facts.today  < values.budget"},
		"reason":         {"{facts.today} spent", "{facts.today} was spent"},
		"words":          {"Enough for", "No more for"},
		"name":           {`name = "budget"`, `name = "day"`},
		"where":          {`where = { id = "{session.subject}" }`, `where = { id = "{session.id}" }`},
		"where-literal":  {`where = { id = "{session.subject}" }`, `where = { id = "session-subject" }`},
		"no-where":       {`where = { id = "{session.subject}" }, `, ``},
		"window-days":    {"days = 2", "days = 3"},
		"window-zone":    {"Europe/Paris", "UTC"},
		"no-window":      {`, within = { column = "paid_on", days = 2, zone = "Europe/Paris" }`, ``},
		"count":          {`sum = "amount", where = { id`, `count = true, where = { id`},
		"fact-key":       {`key = "{args.order_id}" }`, `key = "X-{args.order_id}" }`},
		"value":          {`staff = "50"`, `staff = "50.01"`},
		"value-type":     {"[values.budget]\ntype = \"decimal\"", "[values.budget]\ntype = \"integer\""},
		"table":          {`table = "spent"`, `table = "saved"`},
		"scope-column":   {`max_bytes = "64KiB"` + "\n" + `scope = [{ column = "tenant"`, `max_bytes = "64KiB"` + "\n" + `scope = [{ column = "owner"`},
		"column-type":    {`"minor(2)"`, `"integer"`},
		"column-places":  {`"minor(2)"`, `"minor(3)"`},
		"max-bytes":      {"64KiB", "32KiB"},
		"another-caller": {`callers = ["staff", "owner"]`, `callers = ["staff", "owner", "guest"]`},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(base, change.old) {
				t.Fatalf("the config has no %q", change.old)
			}
			config := strings.Replace(base, change.old, change.with, 1)
			if name == "another-caller" {
				config = strings.ReplaceAll(config, `owner = "unlimited"`, `owner = "unlimited", guest = "1"`)
			}
			if digest(t, config) == of {
				t.Error("the digest is the same")
			}
		})
	}
	if digest(t, strings.Replace(base, `facts = { today = "1" }`, `facts = { today = "2" }`, 1)) != of {
		t.Error("an example decides nothing, and changes the digest")
	}
}
