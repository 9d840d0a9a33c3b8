package host

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Each recipe of docs/rules.md loads, with its examples, against the arguments
// that stand before it; and with an example turned round it does not.
func TestCookbook(t *testing.T) {
	page, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, cookbook, _ := strings.Cut(string(page), "## Cookbook")
	recipes := strings.Split(cookbook, "\n### ")
	shared := fenced(t, recipes[0], "toml")
	if len(recipes) < 11 {
		t.Fatalf("%d recipes", len(recipes)-1)
	}
	allowed := regexp.MustCompile(`(?m)^ *\{ expect = "allow".*$`)
	for _, recipe := range recipes[1:] {
		name, _, _ := strings.Cut(recipe, "\n")
		t.Run(name, func(t *testing.T) {
			contract, rule := recipeContract(t, fenced(t, recipe, "json")), fenced(t, recipe, "toml")
			if err := loadRecipe(t, shared, rule, contract); err != nil {
				t.Errorf("does not load: %v", err)
			}
			first := allowed.FindString(rule)
			turned := strings.Replace(rule, first, first+"\n"+strings.Replace(first, `"allow"`, `"refuse"`, 1), 1)
			if err := loadRecipe(t, shared, turned, contract); err == nil || !strings.Contains(err.Error(), "examples: expected refuse, the rule gives allow") {
				t.Errorf("with an example turned round: %v", err)
			}
		})
	}
}

func fenced(t *testing.T, text, language string) string {
	t.Helper()
	_, block, found := strings.Cut(text, "```"+language+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("no block of %s", language)
	}
	return block
}

// recipeContract makes a contract of properties: all required that do not say
// that they are optional.
func recipeContract(t *testing.T, properties string) string {
	t.Helper()
	v, err := strictjson.Read([]byte(properties), strictjson.Default(len(properties)))
	if err != nil {
		t.Fatal(err)
	}
	var required []string
	for name, schema := range v.Members() {
		if comment, _ := schema.TextAt("$comment"); comment != "optional" {
			required = append(required, fmt.Sprintf("%q", name))
		}
	}
	return fmt.Sprintf(`{"name":"recipe","description":"A recipe.","inputSchema":{"type":"object","additionalProperties":false,"required":[%s],"properties":%s},
		"outputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`, strings.Join(required, ","), properties)
}

// loadRecipe loads a config of the shared tables and one tool that writes. Of
// the values it takes those that the recipe reads: another is a fault.
func loadRecipe(t *testing.T, shared, rule, contract string) error {
	t.Helper()
	parts := strings.Split(shared, "[values.")
	config := parts[0]
	for _, value := range parts[1:] {
		if name, _, _ := strings.Cut(value, "]"); strings.Contains(rule, "values."+name) {
			config += "[values." + value
		}
	}
	config += `[directory]
database = "desk"
table = "people"
roles = ["boss"]
[capabilities.done]
kind = "outbox"
database = "desk"
table = "done"
row = { id = "{approval.id}" }
[tools.recipe]
plugin = "plugins/recipe"
effect = "write"
callers = ["staff", "owner"]
approve = { role = "boss" }
grants = { done = {} }
` + rule
	d := newDesk(t, "[databases.desk]\nurl = \"sqlite:var/desk.db\"\n"+config)
	d.sql(t, `DROP TABLE IF EXISTS orders; DROP TABLE IF EXISTS refunds; DROP TABLE IF EXISTS customers;
		CREATE TABLE done (id TEXT NOT NULL PRIMARY KEY) STRICT; CREATE TABLE orders (order_id TEXT NOT NULL PRIMARY KEY, tenant TEXT, status TEXT, total TEXT, currency TEXT, delivered_on TEXT) STRICT;
		CREATE TABLE refunds (refund_id TEXT NOT NULL PRIMARY KEY, tenant TEXT, order_id TEXT, amount TEXT, asked_by TEXT, paid_on TEXT) STRICT;
		CREATE TABLE customers (customer_id TEXT NOT NULL PRIMARY KEY, tenant TEXT, email TEXT, manager TEXT) STRICT`)
	d.write(t, "plugins/recipe/contract.json", contract)
	d.write(t, "plugins/recipe/plugin.wasm", wasm([]string{"outbox.append"}, nil))
	h, err := d.tryOpen(t)
	if err == nil {
		h.Close()
	}
	return err
}
