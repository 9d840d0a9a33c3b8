package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestRefusedTools(t *testing.T) {
	tool := func(rule, old, line string, want ...string) refusal {
		for i := range want {
			want[i] = strings.Replace("config.toml:"+want[i], ": ", ": [tools.get_order] ", 1)
		}
		return refusal{rule, old, line, want}
	}
	const effect, plugin, callers = `effect = "read"`, `plugin = "plugins/get_order"`, `callers = ["customer", "staff"]`
	const grant, words = `orders = { only = "{args.order_id}" }`, `not_available = "No order {args.order_id} is available."`
	testRefusals(t, []refusal{
		tool("all-that-is-missing", plugin+"\n"+effect+"\n"+callers, "",
			`16: plugin: missing; for example plugin = "plugins/get_order"`,
			`16: effect: missing; for example effect = "read"`,
			`16: callers: missing; for example callers = ["staff"], or [] for nobody`),
		tool("unknown-key-suggests", effect, effect+"\ncaller = []", `19: caller: unknown key (did you mean "callers"?); known here: plugin, effect, callers, approve, not_available, limits, instances, grants, facts, rules`),
		tool("approve-of-a-read", effect, effect+"\napprove = { role = \"owner\" }", "19: approve: a tool that reads runs at once and asks nobody; remove it"),
		tool("key-in-another-case", effect, effect+"\nRules = []", `19: Rules: unknown key (did you mean "rules"?); known here: plugin, effect, callers, approve, not_available, limits, instances, grants, facts, rules`),
		tool("unknown-effect", effect, `effect = "Read"`, `18: effect: no effect "Read" (did you mean "read"?); write "read" or "write"`),
		tool("absolute-plugin", plugin, `plugin = "/srv/plugins/x"`, `17: plugin: "/srv/plugins/x" is absolute; write a folder relative to this file`),
		tool("empty-plugin", plugin, `plugin = ""`, "17: plugin: an empty string; write a value or remove the key"),
		tool("plugin-with-a-backslash", plugin, `plugin = 'plugins\x'`, `17: plugin: "plugins\\x" holds a \; write / between folders`),
		tool("plugin-with-a-nul", plugin, `plugin = "a\u0000b"`, `17: plugin: "a\x00b" holds a control character`),
		tool("reference-in-a-plugin", plugin, `plugin = "{env.DESK}"`, `17: plugin: "{env.DESK}" may not stand here; this key takes no reference`),
		tool("callers-as-a-string", callers, `callers = "staff"`, "19: callers: found a string, expected an array of strings"),
		tool("wrong-role", callers, `callers = ["*"]`, `19: callers: "*" is not a role ^[a-z][a-z0-9_]{0,31}$`),
		tool("caller-twice", callers, `callers = ["staff", "staff"]`, `19: callers: "staff" stands twice`),
		tool("session-in-not-available", words, `not_available = "{session.tenant}"`, `20: not_available: "{session.tenant}" may not stand here; this key takes {args.x}`),
		tool("reference-without-braces-in-not-available", words, `not_available = "args.order_id"`, `20: not_available: "args.order_id" is literal text; write "{args.order_id}" for the value`),
		tool("empty-not-available", words, `not_available = ""`, "20: not_available: an empty string; write a value or remove the key"),
		tool("long-not-available", words, `not_available = "`+strings.Repeat("é", 1001)+`"`, "20: not_available: longer than 1000 characters"),
		tool("brace-in-not-available", words, `not_available = "no { here"`, `20: not_available: "no { here" holds a brace that names no value; a reference looks like {session.tenant}`),
		tool("limits-as-an-integer", "[tools.get_order.limits]\ntime = \"1s\"", "limits = 5", "21: limits: found an integer, expected a table"),
		tool("unknown-grant-suggests", grant, `order = {}`, `24: grants: no capability "order" (did you mean "orders"?)`),
		tool("grant-as-a-boolean", grant, `orders = true`, "24: grants.orders: found a boolean, expected a table"),
		tool("grants-as-an-array", "[tools.get_order.grants]\n"+grant, "[[tools.get_order.grants]]", "23: grants: found an array, expected a table"),
		tool("unknown-key-of-a-grant", grant, `orders = { onyl = "{args.x}" }`, `24: grants.orders.onyl: unknown key (did you mean "only"?); known here: only`),
		tool("only-a-literal", grant, `orders = { only = "order_id" }`, `24: grants.orders.only: "order_id" is not exactly one {args.x}`),
		tool("only-without-braces", grant, `orders = { only = "args.order_id" }`, `24: grants.orders.only: "args.order_id" is literal text; write "{args.order_id}" for the value`),
		tool("only-two-arguments", grant, `orders = { only = "{args.a}{args.b}" }`, `24: grants.orders.only: "{args.a}{args.b}" is not exactly one {args.x}`),
		tool("only-with-text-around", grant, `orders = { only = "x{args.a}" }`, `24: grants.orders.only: "x{args.a}" is not exactly one {args.x}`),
		tool("only-a-session-value", grant, `orders = { only = "{session.customer}" }`, `24: grants.orders.only: "{session.customer}" may not stand here; this key takes {args.x}`),
		tool("only-empty", grant, `orders = { only = "" }`, "24: grants.orders.only: an empty string; write a value or remove the key"),
		{
			"look-alike-tools", "", "[tools.get_0rder]\nplugin = \"p\"\neffect = \"read\"\ncallers = []\n",
			[]string{"config.toml:36: [tools.get_0rder]: the name looks like [tools.get_order] (line 16); the two cannot both load"},
		},
		{
			"tool-with-a-wrong-name", "", "[tools.Get]\nplugin = \"p\"\neffect = \"read\"\ncallers = []\n",
			[]string{`config.toml:36: [tools.Get]: "Get" is not a name ^[a-z][a-z0-9_-]{0,63}$`},
		},
	})
}

// A loader that takes the config with its faults, to tell further ones, must
// not take a grant that could not be read for one that is not there.
func TestFaultyGrantsAreNotTakenForNone(t *testing.T) {
	const grant = `orders = { only = "{args.order_id}" }`
	for rule, c := range map[string]struct {
		old, line  string
		capability string
		only       bool
	}{
		"grants-as-a-boolean":    {"[tools.get_order.limits]\ntime = \"1s\"\n[tools.get_order.grants]\n" + grant, "\n\n\ngrants = true", "", false},
		"grant-as-a-boolean":     {grant, "orders = true", "", false},
		"only-that-is-no-value":  {grant, `orders = { only = "order_id" }`, "", false},
		"only-misspelt":          {grant, `orders = { onyl = "{args.order_id}" }`, "", false},
		"only-and-more":          {grant, `orders = { only = "{args.order_id}", x = 1 }`, "orders", true},
		"capability-that-is-not": {grant, `order = { only = "{args.order_id}" }`, "order", true},
		"other-fault":            {`time = "1s"`, `time = 1`, "orders", true},
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := Parse("config.toml", []byte(refusal{old: c.old, new: c.line}.apply(t, readGood(t))), testOptions())
			var faults *Faults
			if !errors.As(err, &faults) || len(faults.List) != 1 {
				t.Fatalf("got %v, want one fault", err)
			}
			grants := faults.Partial().Tools[0].Grants
			if len(grants) != 1 || grants[0].Capability != c.capability || grants[0].Only != nil != c.only || grants[0].Line != 24 {
				t.Errorf("grants %+v", grants)
			}
		})
	}
}

// A folder that no system has is not looked for.
func TestPluginWithABackslashIsNotLookedFor(t *testing.T) {
	_, err := Parse("config.toml", []byte("[tools.x]\nplugin = 'plugins\\x'\neffect = \"read\"\ncallers = []\n"), Options{})
	var faults *Faults
	if !errors.As(err, &faults) || len(faults.List) != 1 || faults.Partial().Tools[0].Plugin != "" {
		t.Errorf("got %v", err)
	}
}

func TestToolsAreRead(t *testing.T) {
	data := `[databases.desk]
url = "sqlite:d.db"
[capabilities.orders]
kind = "records"
database = "desk"
table = "orders"
key = "id"
columns = ["id"]
scope = "everyone"
[tools.list-orders]
plugin = "../plugins/./list"
effect = "read"
callers = []
grants.orders = {}
`
	dir := t.TempDir()
	c, err := Parse(filepath.Join(dir, "config.toml"), []byte(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	tool := c.Tools[0]
	if want := filepath.Join(filepath.Dir(dir), "plugins", "list"); tool.Plugin != want {
		t.Errorf("plugin %s, want %s", tool.Plugin, want)
	}
	if len(tool.Callers) != 0 || !tool.NotAvailable.IsZero() || tool.Limits != DefaultLimits() {
		t.Errorf("tool %+v", tool)
	}
	if len(tool.Grants) != 1 || tool.Grants[0].Capability != "orders" || tool.Grants[0].Only != nil {
		t.Errorf("grants %+v", tool.Grants)
	}
}

func TestLookAlikeNames(t *testing.T) {
	for _, c := range []struct {
		rule, a, b string
		alike      bool
	}{
		{"zero-and-o", "get_0rder", "get_order", true},
		{"one-and-l", "get_al1", "get_all", true},
		{"i-and-l", "fiie", "file", true},
		{"one-and-i", "f1le", "file", true},
		{"dash-and-underscore", "get-order", "get_order", true},
		{"rn-and-m", "forrn", "form", true},
		{"vv-and-w", "vvrite", "write", true},
		{"other-letters", "get_order", "get_orders", false},
		{"order-of-letters", "nr", "m", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := lookAlike(c.a) == lookAlike(c.b); got != c.alike {
				t.Errorf("%s and %s: %v", c.a, c.b, got)
			}
		})
	}
}
