package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestRefusedCapabilities(t *testing.T) {
	const sqlForm = " is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$"
	orders := func(rule, old, line string, want ...string) refusal {
		for i := range want {
			want[i] = strings.Replace("config.toml:"+want[i], ": ", ": [capabilities.orders] ", 1)
		}
		return refusal{rule, old, line, want}
	}
	testRefusals(t, []refusal{
		orders("missing-kind", `kind = "records"`, "", `4: kind: missing; for example kind = "records"`),
		orders("unknown-kind", `kind = "records"`, `kind = "record"`, `5: kind: no kind "record" (did you mean "records"?); known here: records, files, fetch, outbox`),
		orders("kind-in-capitals", `kind = "records"`, `kind = "Records"`, `5: kind: no kind "Records" (did you mean "records"?); known here: records, files, fetch, outbox`),
		orders("unknown-key", `kind = "records"`, "kind = \"records\"\ncolumn = 1",
			`6: column: unknown key (did you mean "columns"?); known here: kind, database, table, key, columns, types, scope, max_rows, max_bytes`),
		orders("dangling-database", "database = \"desk\"\ntable = \"orders\"", "database = \"dusk\"\ntable = \"orders\"", `6: database: no database "dusk" (did you mean "desk"?)`),
		orders("all-that-is-missing", "database = \"desk\"\ntable = \"orders\"\nkey = \"order_id\"\ncolumns = [\"order_id\", \"total\"]\ntypes = { total = \"decimal\" }", "",
			`4: database: missing; for example database = "desk"`,
			`4: table: missing; for example table = "orders"`,
			`4: key: missing; for example key = "order_id"`,
			`4: columns: missing; for example columns = ["order_id", "status"]`),
		orders("wrong-table", `table = "orders"`, `table = "orders;--"`, `7: table: "orders;--"`+sqlForm),
		orders("wrong-key", `key = "order_id"`, `key = "order id"`, `8: key: "order id"`+sqlForm),
		orders("reference-in-a-table", `table = "orders"`, `table = "{env.DESK}"`, `7: table: "{env.DESK}"`+sqlForm),
		orders("wrong-column", `columns = ["order_id", "total"]`, `columns = ["*", "total"]`, `9: columns: "*"`+sqlForm),
		orders("column-twice", `columns = ["order_id", "total"]`, `columns = ["total", "total"]`, `9: columns: "total" stands twice`),
		orders("columns-that-differ-by-case", `columns = ["order_id", "total"]`, `columns = ["total", "Total"]`, `9: columns: "total" and "Total" are one column to SQL`),
		orders("empty-columns", "columns = [\"order_id\", \"total\"]\ntypes = { total = \"decimal\" }", `columns = []`, `9: columns: an empty array lets nothing leave; name the columns`),
		orders("type-of-a-column-outside", `types = { total = "decimal" }`, `types = { totals = "decimal" }`, `10: types.totals: "totals" is not in columns (did you mean "total"?)`),
		orders("columns-as-a-string", `columns = ["order_id", "total"]`, `columns = "order_id"`, `9: columns: found a string, expected an array of strings`),
		orders("types-are-not-held-against-missing-columns", `columns = ["order_id", "total"]`, "", `4: columns: missing; for example columns = ["order_id", "status"]`),
		orders("types-are-not-held-against-empty-columns", `columns = ["order_id", "total"]`, `columns = []`, `9: columns: an empty array lets nothing leave; name the columns`),
		orders("types-are-not-held-against-a-wrong-column", `columns = ["order_id", "total"]`, `columns = ["order_id", 5]`, `9: columns: found an integer, expected a string`),
		orders("types-are-read-whatever-the-columns", "columns = [\"order_id\", \"total\"]\ntypes = { total = \"decimal\" }", "columns = \"order_id\"\ntypes = { total = \"decimals\" }",
			`9: columns: found a string, expected an array of strings`,
			`10: types.total: no type "decimals" (did you mean "decimal"?); known here: text, integer, decimal, minor(2), json, date, boolean`),
		orders("type-of-a-column-in-capitals", `types = { total = "decimal" }`, `types = { TOTAL = "decimal" }`, `10: types.TOTAL: "TOTAL" is not in columns (did you mean "total"?)`),
		orders("unknown-type", `types = { total = "decimal" }`, `types = { total = "float" }`, `10: types.total: no type "float"; known here: text, integer, decimal, minor(2), json, date, boolean`),
		orders("misspelt-type", `types = { total = "decimal" }`, `types = { total = "decimals" }`, `10: types.total: no type "decimals" (did you mean "decimal"?); known here: text, integer, decimal, minor(2), json, date, boolean`),
		orders("minor-of-ten-places", `types = { total = "decimal" }`, `types = { total = "minor(10)" }`, `10: types.total: no type "minor(10)" (did you mean "minor(2)"?); known here: text, integer, decimal, minor(2), json, date, boolean`),
		orders("type-as-an-integer", `types = { total = "decimal" }`, `types = { total = 2 }`, `10: types.total: found an integer, expected a string`),
		orders("types-as-a-string", `types = { total = "decimal" }`, `types = "decimal"`, `10: types: found a string, expected a table`),
		orders("zero-max-rows-denies", `types = { total = "decimal" }`, `max_rows = 0`, `10: max_rows: 0 is out of bounds, from 1 to 1000`),
		orders("max-rows-over-1000", `types = { total = "decimal" }`, `max_rows = 1001`, `10: max_rows: 1001 is out of bounds, from 1 to 1000`),
		orders("zero-max-bytes-denies", `types = { total = "decimal" }`, `max_bytes = "0B"`, `10: max_bytes: "0B" is out of bounds, from 1B to 1MiB`),
		orders("max-bytes-over-1-mib", `types = { total = "decimal" }`, `max_bytes = "1025KiB"`, `10: max_bytes: "1025KiB" is out of bounds, from 1B to 1MiB`),
		{
			"capability-with-a-wrong-name", "", "[capabilities.\"\"]\nkind = \"queue\"\n",
			[]string{
				`config.toml:36: [capabilities.""]: "" is not a name ^[a-z][a-z0-9_-]{0,63}$`,
				`config.toml:37: [capabilities.""] kind: no kind "queue"; known here: records, files, fetch, outbox`,
			},
		},
	})
}

func TestRefusedScope(t *testing.T) {
	const clauses = `[
  { column = "tenant", is = "{session.tenant}", else = "out_of_scope" },
  { column = "customer_id", is = "{session.customer}", else = "other_customer" },
]`
	const first = `{ column = "tenant", is = "{session.tenant}", else = "out_of_scope" }`
	scope := func(rule, old, text, want string) refusal {
		return refusal{rule, old, text, []string{strings.Replace("config.toml:"+want, ": ", ": [capabilities.orders] ", 1)}}
	}
	testRefusals(t, []refusal{
		scope("missing-scope-must-say-so", "scope = "+clauses, "", `4: scope: missing; a table without scope must say so: scope = "everyone"`),
		scope("empty-scope-must-say-so", clauses, "[]", `11: scope: an empty array narrows nothing; a table without scope must say so: scope = "everyone"`),
		scope("another-word", clauses, `"all"`, `11: scope: "all" is no scope; write "everyone" or an array of { column, is, else }`),
		scope("everyone-in-capitals", clauses, `"Everyone"`, `11: scope: "Everyone" is no scope; write "everyone" or an array of { column, is, else }`),
		scope("empty-string", clauses, `""`, `11: scope: "" is no scope; write "everyone" or an array of { column, is, else }`),
		scope("everyone-as-a-boolean", clauses, `true`, `11: scope: found a boolean, expected "everyone" or an array of { column, is, else }`),
		scope("one-clause-alone", clauses, first, `11: scope: found a table, expected "everyone" or an array of { column, is, else }`),
		scope("everyone-in-an-array", clauses, `["everyone"]`, `11: scope: found a string, expected { column, is, else }`),
		scope("unknown-key", first, `{ colunm = 1, column = "tenant", is = "x", else = "abc" }`, `12: scope.colunm: unknown key (did you mean "column"?); known here: column, is, else`),
		scope("missing-column", first, `{ is = "{session.tenant}", else = "out_of_scope" }`, `12: scope: column: missing; for example column = "tenant"`),
		scope("missing-is", first, `{ column = "tenant", else = "out_of_scope" }`, `12: scope: is: missing; for example is = "{session.tenant}"`),
		scope("missing-else", first, `{ column = "tenant", is = "{session.tenant}" }`, `12: scope: else: missing; for example else = "other_customer"`),
		scope("wrong-column", first, `{ column = "a.b", is = "x", else = "abc" }`, `12: scope: "a.b" is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$`),
		scope("empty-is", first, `{ column = "tenant", is = "", else = "abc" }`, `12: scope: is: an empty string; write a value or remove the key`),
		scope("is-as-an-integer", first, `{ column = "tenant", is = 5, else = "abc" }`, `12: scope: is: found an integer, expected a string`),
		scope("column-as-an-array", first, `{ column = ["tenant"], is = "x", else = "abc" }`, `12: scope: column: found an array, expected a string`),
		scope("reference-without-braces", first, `{ column = "tenant", is = "session.tenant", else = "abc" }`, `12: scope: "session.tenant" is literal text; write "{session.tenant}" for the value`),
		scope("argument-in-a-scope", first, `{ column = "tenant", is = "{args.tenant}", else = "abc" }`, `12: scope: "{args.tenant}" may not stand here; this key takes {session.x}`),
		scope("facts-in-a-scope", first, `{ column = "tenant", is = "{facts.tenant}", else = "abc" }`, `12: scope: "{facts.tenant}" may not stand here; this key takes {session.x}`),
		scope("misspelt-session-value", first, `{ column = "tenant", is = "{session.custmer}", else = "abc" }`,
			`12: scope: "{session.custmer}" is no session value (customer, ticket, subject, tenant, role, id); did you mean "{session.customer}"?`),
		scope("code-of-the-host", first, `{ column = "tenant", is = "x", else = "forbidden" }`, `12: scope: "forbidden" is a code of the host itself; choose another`),
		scope("code-too-short", first, `{ column = "tenant", is = "x", else = "no" }`, `12: scope: "no" is not a code ^[a-z][a-z0-9_]{2,39}$`),
		scope("code-in-capitals", first, `{ column = "tenant", is = "x", else = "Other" }`, `12: scope: "Other" is not a code ^[a-z][a-z0-9_]{2,39}$`),
	})
}

func TestRecordsAreRead(t *testing.T) {
	data := `[databases.desk]
url = "sqlite:d.db"
[capabilities.shops]
kind = "records"
database = "desk"
table = "shops"
key = "hidden_id"
columns = ["name", "fee", "open"]
scope = "everyone"
max_rows = 1000
max_bytes = "1MiB"
[capabilities.shops.types]
fee = "minor(2)"
open = "boolean"
[capabilities.notes]
kind = "records"
database = "desk"
table = "notes"
key = "id"
columns = ["id"]
[[capabilities.notes.scope]]
column = "shelf"
is = "public-{session.tenant}-{session.ticket}"
else = "other_shelf"
`
	c, err := Parse("config.toml", []byte(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	shops := c.Capabilities[0].Records
	want := &Records{
		Database: "desk", Table: "shops", Key: "hidden_id",
		Columns:  []string{"name", "fee", "open"},
		Types:    map[string]ColumnType{"fee": {Name: "minor", Places: 2}, "open": {Name: "boolean"}},
		Everyone: true, MaxRows: 1000, MaxBytes: 1 << 20,
	}
	if !reflect.DeepEqual(shops, want) {
		t.Errorf("got %+v, want %+v", shops, want)
	}
	clause := c.Capabilities[1].Records.Scope[0]
	if clause.Where() != "config.toml:21" || clause.Column != "shelf" || clause.Else != "other_shelf" {
		t.Errorf("clause %+v at %s", clause, clause.Where())
	}
	if text := clause.Is.String(); text != "public-{session.tenant}-{session.ticket}" {
		t.Errorf("is %q", text)
	}
}

func TestColumnTypes(t *testing.T) {
	for _, text := range []string{"text", "integer", "decimal", "minor(0)", "minor(9)", "json", "date", "boolean"} {
		if got, ok := parseColumnType(text); !ok || got.String() != text {
			t.Errorf("%s: got %s, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "minor", "minor()", "minor(-1)", "minor(02)", "Text", "minor(2) "} {
		if _, ok := parseColumnType(text); ok {
			t.Errorf("%q is taken for a type", text)
		}
	}
}
