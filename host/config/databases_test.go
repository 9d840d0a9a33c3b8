package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRefusedTopLevelAndHost(t *testing.T) {
	host := func(rule, line string, want ...string) refusal {
		for i := range want {
			want[i] = "config.toml:30: [host] " + want[i]
		}
		return refusal{rule, `attributes = ["customer", "ticket"]`, line, want}
	}
	testRefusals(t, []refusal{
		{"misspelt-session-suggests", "", "[sessions]\n", []string{`config.toml:36: sessions: unknown key (did you mean "session"?)` + knownTop}},
		{"misspelt-audit-suggests", "", "[audits]\n", []string{`config.toml:36: audits: unknown key (did you mean "audit"?)` + knownTop}},
		{"unknown-table", "", "[tool.x]\n", []string{`config.toml:36: tool: unknown key (did you mean "tools"?)` + knownTop}},
		{"unknown-table-in-capitals", "", "[TOOLS]\n", []string{`config.toml:36: TOOLS: unknown key (did you mean "tools"?)` + knownTop}},
		host("state-as-an-integer", `state = 5`, "state: found an integer, expected a string"),
		host("reference-in-state", `state = "{env.DESK}"`, `state: "{env.DESK}" may not stand here; this key takes no reference`),
		host("misspelt-state-suggests", `stat = "state.db"`, `stat: unknown key (did you mean "state"?); known here: attributes, state`),
		host("unknown-key-of-host", `attribute = []`, `attribute: unknown key (did you mean "attributes"?); known here: attributes, state`),
		host("attributes-as-a-string", `attributes = "customer"`, "attributes: found a string, expected an array of strings"),
		host("attribute-of-the-wrong-type", `attributes = ["customer", 1]`, "attributes: found an integer, expected a string"),
		host("attribute-with-a-wrong-name", `attributes = ["Customer"]`, `attributes: "Customer" is not an attribute name ^[a-z][a-z0-9_]{0,31}$`),
		host("attribute-that-is-a-field", `attributes = ["customer", "role"]`, `attributes: "role" is a value of every session, not an attribute`),
		host("attribute-twice", `attributes = ["customer", "customer"]`, `attributes: "customer" stands twice`),
		{
			"no-attributes-no-session-value", `attributes = ["customer", "ticket"]`, "attributes = []",
			[]string{`config.toml:13: [capabilities.orders] scope: "{session.customer}" is no session value (subject, tenant, role, id)`},
		},
	})
}

func TestRefusedDatabases(t *testing.T) {
	url := func(rule, line, want string) refusal {
		return refusal{rule, `url = "sqlite:var/desk.db"`, line, []string{"config.toml:2: [databases.desk] " + want}}
	}
	testRefusals(t, []refusal{
		url("postgres-is-not-supported", `url = "postgres://u:{env.DESK}@h/d"`, "url: postgres is not supported by this version of toolhost, only sqlite:FILE"),
		url("no-scheme", `url = "var/desk.db"`, `url: "var/desk.db" is no database; write sqlite:FILE`),
		url("no-file", `url = "sqlite:{env.EMPTY}"`, `url: "sqlite:{env.EMPTY}" is no database; write sqlite:FILE`),
		url("slashes-before-the-file", `url = "sqlite://var/desk.db"`, `url: "sqlite://var/desk.db": write sqlite:FILE without // before the file`),
		url("options-in-the-file", `url = "sqlite:desk.db?mode=rwc"`, `url: "sqlite:desk.db?mode=rwc": the file may not hold ?, # or %`),
		url("in-memory", `url = "sqlite::memory:"`, `url: "sqlite::memory:": a database in memory is empty at every start; write sqlite:FILE`),
		url("reference-without-braces", `url = "env.DESK"`, `url: "env.DESK" is literal text; write "{env.DESK}" for the value`),
		url("env-unset", `url = "sqlite:{env.UNSET}"`, "url: the environment variable UNSET is not set"),
		url("session-in-a-url", `url = "sqlite:{session.tenant}.db"`, `url: "{session.tenant}" may not stand here; this key takes {env.x}`),
		{"unknown-key-of-a-database", `url = "sqlite:var/desk.db"`, "url = \"sqlite:d\"\npath = 1", []string{"config.toml:3: [databases.desk] path: unknown key; known here: url"}},
		url("newline-in-a-string", `url = "sqlite:a\nb"`, `url: "sqlite:a\nb" holds a control character`),
		{"missing-url", `url = "sqlite:var/desk.db"`, "", []string{`config.toml:1: [databases.desk] url: missing; for example url = "sqlite:var/desk.db"`}},
		{"database-with-a-wrong-name", "", "[databases.Desk]\nurl = \"sqlite:d\"\n", []string{`config.toml:36: [databases.Desk]: "Desk" is not a name ^[a-z][a-z0-9_-]{0,63}$`}},
		{"database-as-a-string", "", "[databases]\nother = \"sqlite:d\"\n", []string{"config.toml:37: [databases.other]: found a string, expected a table"}},
	})
}

func TestDatabaseFileIsAbsolute(t *testing.T) {
	dir := t.TempDir()
	for rule, c := range map[string]struct{ url, want string }{
		"relative-to-the-config": {"sqlite:var/../desk.db", filepath.Join(dir, "desk.db")},
		"absolute-stays":         {"sqlite:/srv/./desk.db", "/srv/desk.db"},
		"above-the-config":       {"sqlite:../desk.db", filepath.Join(filepath.Dir(dir), "desk.db")},
		"env-is-not-parsed":      {"sqlite:{env.DESK}", filepath.Join(dir, "var", "{args.x}.db")},
	} {
		t.Run(rule, func(t *testing.T) {
			data := "[databases.desk]\nurl = \"" + c.url + "\"\n"
			got, err := Parse(filepath.Join(dir, "config.toml"), []byte(data), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			if got.Databases[0].File != c.want {
				t.Errorf("got %s, want %s", got.Databases[0].File, c.want)
			}
			if got.Databases[0].Shown != c.url {
				t.Errorf("it is shown as %s, want %s", got.Databases[0].Shown, c.url)
			}
		})
	}
}

// A variable of the environment may be a secret, and faults go to logs.
func TestFaultsNeverShowTheEnvironment(t *testing.T) {
	env := func(string) (string, bool) { return "s3cret", true }
	for _, url := range []string{"{env.X}", "sqlite://{env.X}", "sqlite:{env.X}?", "postgres:{env.X}"} {
		_, err := Parse("config.toml", []byte("[databases.d]\nurl = \""+url+"\""), Options{Env: env})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", url, err)
		}
	}
	c, err := Parse("config.toml", []byte("[databases.d]\nurl = \"sqlite:{env.X}/d.db\""), Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Databases[0]; d.Shown != "sqlite:{env.X}/d.db" || !strings.Contains(d.File, "s3cret") {
		t.Errorf("the database %s is shown as %s", d.File, d.Shown)
	}
}

func TestRefusedDirectory(t *testing.T) {
	directory := func(rule, old, line string, want ...string) refusal { return refusal{rule, old, line, want} }
	const all = "database = \"desk\"\ntable = \"people\"\nroles = [\"staff\"]"
	testRefusals(t, []refusal{
		directory("nothing-in-it", all, "",
			`config.toml:32: [directory] database: missing; for example database = "desk"`,
			`config.toml:32: [directory] table: missing; for example table = "people"`,
			`config.toml:32: [directory] roles: missing; for example roles = ["staff"]`),
		directory("dangling-database", all, strings.Replace(all, "desk", "desc", 1),
			`config.toml:33: [directory] database: no database "desc" (did you mean "desk"?)`),
		directory("wrong-table", `table = "people"`, `table = "peo ple"`,
			`config.toml:34: [directory] table: "peo ple" is not an SQL name ^[A-Za-z_][A-Za-z0-9_]{0,62}$`),
		directory("no-roles", `roles = ["staff"]`, `roles = []`,
			"config.toml:35: [directory] roles: a directory of no roles decides nothing; name them or remove [directory]"),
		directory("wrong-role", `roles = ["staff"]`, `roles = ["Staff"]`,
			`config.toml:35: [directory] roles: "Staff" is not a role ^[a-z][a-z0-9_]{0,31}$`),
		directory("role-twice", `roles = ["staff"]`, `roles = ["staff", "staff"]`,
			`config.toml:35: [directory] roles: "staff" stands twice`),
		directory("roles-as-a-string", `roles = ["staff"]`, `roles = "staff"`,
			"config.toml:35: [directory] roles: found a string, expected an array of strings"),
		directory("role-that-is-in-no-callers", `roles = ["staff"]`, `roles = ["staff", "owner"]`,
			`config.toml:35: [directory] roles: "owner" is in no tool's callers or approve, so that the directory would decide nothing for it`),
		directory("misspelt-roles", `roles = ["staff"]`, "roles = [\n\"staf\",\n\"custmer\" ]",
			`config.toml:35: [directory] roles: "staf" is in no tool's callers or approve, so that the directory would decide nothing for it (did you mean "staff"?)`,
			`config.toml:35: [directory] roles: "custmer" is in no tool's callers or approve, so that the directory would decide nothing for it (did you mean "customer"?)`),
		directory("misspelt-callers", `"staff"]
not_available`, `"staf"]
not_available`,
			`config.toml:35: [directory] roles: "staff" is in no tool's callers or approve, so that the directory would decide nothing for it (did you mean "staf"?)`),
		directory("callers-that-are-nobody", `callers = ["customer", "staff"]`, `callers = []`,
			`config.toml:35: [directory] roles: "staff" is in no tool's callers or approve, so that the directory would decide nothing for it`),
		directory("unknown-key", `roles = ["staff"]`, "roles = [\"staff\"]\nrole = 1",
			`config.toml:36: [directory] role: unknown key (did you mean "roles"?); known here: database, table, roles`),
	})
}
