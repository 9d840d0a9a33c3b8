package host_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/hosttest"
	"github.com/toolhost/toolhost/host/state"
)

// exampleDesk is a folder with a config, a plugin that was built and a database
// of one order. An application has these as files of its own.
func exampleDesk() string {
	dir, err := os.MkdirTemp("", "desk")
	must(err)
	guest, err := hosttest.Build("..", "get_order")
	must(err)
	plugin := filepath.Join(dir, "plugins", "get_order")
	must(os.MkdirAll(plugin, 0o755))
	must(os.WriteFile(filepath.Join(plugin, host.ModuleFile), guest.Module, 0o600))
	must(os.WriteFile(filepath.Join(plugin, "contract.json"), guest.Contract, 0o600))
	must(os.WriteFile(filepath.Join(dir, "config.toml"), []byte(`
[databases.desk]
url = "sqlite:desk.db"
[capabilities.orders]
kind = "records"
database = "desk"
table = "orders"
key = "order_id"
columns = ["order_id", "status"]
scope = [{ column = "customer_id", is = "{session.customer}", else = "other_customer" }]
[tools.get_order]
plugin = "plugins/get_order"
effect = "read"
callers = ["customer"]
grants = { orders = { only = "{args.order_id}" } }
`), 0o600))
	db, err := sql.Open("sqlite", filepath.Join(dir, "desk.db"))
	must(err)
	_, err = db.Exec(`CREATE TABLE orders (order_id TEXT NOT NULL PRIMARY KEY, customer_id TEXT, status TEXT) STRICT;
		INSERT INTO orders VALUES ('LK-581106', 'C-81265', 'shipped')`)
	must(err)
	must(db.Close())
	return dir
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// An application opens a host once, says who asks, and hands over what the
// model wrote, byte for byte.
func Example() {
	dir := exampleDesk()
	defer os.RemoveAll(dir)
	ctx := context.Background()

	h, err := host.Open(ctx, filepath.Join(dir, "config.toml"), host.Options{Program: "my application"})
	if err != nil {
		log.Fatal(err) // with every fault of the config, by file and line
	}
	defer h.Close()

	customer := host.Session{Role: "customer", Attributes: map[string]string{"customer": "C-81265"}}
	for _, arguments := range []string{`{"order_id":"LK-581106"}`, `{"order_id":"LK-000000"}`, `{"order":1}`} {
		outcome := h.Call(ctx, customer, host.Proposal{Tool: "get_order", Arguments: []byte(arguments)})
		fmt.Printf("%s\n  %s\n", outcome.Line(), outcome.Result) // the line is for operators, the result for the model
	}
	// Output:
	// ok
	//   {"ok":true,"order":{"order_id":"LK-581106","status":"shipped"}}
	// refused: not_found (caller)
	//   {"ok":false,"error":"Nothing is available for these arguments."}
	// refused: invalid_argument (contract)
	//   {"ok":false,"error":"get_order takes no argument \"order\"."}
}

// exampleRefunds is exampleDesk with a tool that writes, and one person who may
// say yes, by a token.
func exampleRefunds(token string) string {
	dir := exampleDesk()
	guest, err := hosttest.Build("..", "issue_refund")
	must(err)
	plugin := filepath.Join(dir, "plugins", "issue_refund")
	must(os.MkdirAll(plugin, 0o755))
	must(os.WriteFile(filepath.Join(plugin, host.ModuleFile), guest.Module, 0o600))
	must(os.WriteFile(filepath.Join(plugin, "contract.json"), guest.Contract, 0o600))
	config, err := os.ReadFile(filepath.Join(dir, "config.toml"))
	must(err)
	must(os.WriteFile(filepath.Join(dir, "config.toml"), fmt.Appendf(config, `
[directory]
database = "desk"
table = "people"
roles = ["owner"]
[approvers]
usr-grace = "sha256:%x"
[capabilities.refunds]
kind = "outbox"
database = "desk"
table = "refunds"
row = { refund_id = "{approval.id}", order_id = "{args.order_id}", amount = "{args.amount}", approved_by = "{approval.approver}" }
types = { amount = "decimal" }
[tools.issue_refund]
plugin = "plugins/issue_refund"
effect = "write"
callers = ["staff"]
approve = { role = "owner" }
grants = { refunds = {} }
`, sha256.Sum256([]byte(token))), 0o600))
	db, err := sql.Open("sqlite", filepath.Join(dir, "desk.db"))
	must(err)
	_, err = db.Exec(`CREATE TABLE refunds (refund_id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT, approved_by TEXT) STRICT;
		CREATE TABLE people (subject TEXT, tenant TEXT, role TEXT) STRICT;
		INSERT INTO people VALUES ('usr-grace', NULL, 'owner')`)
	must(err)
	must(db.Close())
	return dir
}

// What a model proposes to write waits. An application shows it to a person, over a
// door that no model reaches, and hands over their word: a yes is to what has the
// digest that they were shown.
func ExampleHost_Approve() {
	const token = "what-grace-alone-keeps"
	dir := exampleRefunds(token)
	defer os.RemoveAll(dir)
	ctx := context.Background()
	h, err := host.Open(ctx, filepath.Join(dir, "config.toml"), host.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	sam := host.Session{Subject: "usr-sam", Role: "staff"}
	for _, arguments := range []string{`{"order_id":"LK-581106","amount":12.50}`, `{"order_id":"LK-581106","amount":99000}`} {
		outcome := h.Call(ctx, sam, host.Proposal{Tool: "issue_refund", Arguments: []byte(arguments)})
		fmt.Println(outcome.Line())
	}

	grace, err := h.Approver(token)
	if err != nil {
		log.Fatal(err)
	}
	waiting, err := h.Approvals(ctx, state.Waiting) // oldest first
	if err != nil {
		log.Fatal(err)
	}
	amount, _ := waiting[0].Shown.Row.Get("amount")
	fmt.Printf("%s into %s\n", amount.AppendJSON(nil), waiting[0].Shown.Table) // show all of it, to a person
	yes, _ := h.Approve(ctx, grace, waiting[0].ID, waiting[0].Digest)
	fmt.Printf("yes: %s %s\n", yes.Line(), yes.Result)
	no := h.Deny(ctx, grace, waiting[1].ID, waiting[1].Digest)
	fmt.Printf("no: %s\n", no.Line())
	if err := h.DeliverDue(ctx, nil); err != nil { // rows that have a delivery; h.Deliver goes on
		log.Fatal(err)
	}
	// Output:
	// pending: waiting (approval)
	// pending: waiting (approval)
	// 12.50 into desk.refunds
	// yes: ok {"ok":true,"status":"recorded"}
	// no: ok
}

// The tools of a session are those that its role may use now.
func ExampleHost_Tools() {
	dir := exampleDesk()
	defer os.RemoveAll(dir)
	h, err := host.Open(context.Background(), filepath.Join(dir, "config.toml"), host.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	for _, role := range []string{"customer", "visitor"} {
		fmt.Printf("%s:", role)
		for _, t := range h.Tools(context.Background(), host.Session{Role: role}) {
			fmt.Printf(" %s (%s)", t.Name, t.Effect)
		}
		fmt.Println()
	}
	// Output:
	// customer: get_order (read)
	// visitor:
}

// Where anything is wrong, nothing is loaded and everything is told.
func ExampleOpen() {
	dir := exampleDesk()
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "config.toml")
	text, err := os.ReadFile(config)
	must(err)
	must(os.WriteFile(config, append(text, "limits = { tiem = \"1s\" }\n"...), 0o600))

	_, err = host.Open(context.Background(), config, host.Options{})
	fmt.Println(err)
	// Output:
	// config.toml:16: [tools.get_order] limits.tiem: unknown key (did you mean "time"?); known here: time, fuel, memory, argument_chars, result_chars, host_calls, log
	// 1 fault; nothing was loaded
}
