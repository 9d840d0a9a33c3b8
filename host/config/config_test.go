package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// refusal changes one piece of testdata/good.toml and gives all the faults
// that this makes. An empty old puts the new text at the end.
type refusal struct {
	rule string
	old  string
	new  string
	want []string
}

func readGood(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/good.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (c refusal) apply(t *testing.T, good string) string {
	t.Helper()
	if c.old == "" {
		return good + c.new
	}
	if strings.Count(good, c.old) != 1 {
		t.Fatalf("%q stands %d times in good.toml", c.old, strings.Count(good, c.old))
	}
	return strings.Replace(good, c.old, c.new, 1)
}

func testOptions() Options {
	return Options{
		Env: func(name string) (string, bool) {
			value, ok := map[string]string{
				"DESK":  "var/{args.x}.db",
				"BELL":  "a\x07b",
				"EMPTY": "",
				"SHORT": "hunter2", "SPACED": "hunter2-pass ", "UMLAUT": "passwört",
				"CARRIER_TOKEN": "correct-horse-battery",
				"ERP_TOKEN":     "correct-horse-staple",
			}[name]
			return value, ok
		},
		ReservedCodes: []string{"forbidden", "not_found"},
	}
}

func testRefusals(t *testing.T, cases []refusal) {
	t.Helper()
	good := readGood(t)
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			config, err := Parse("config.toml", []byte(c.apply(t, good)), testOptions())
			if config != nil {
				t.Error("a config with faults was loaded")
			}
			checkFaults(t, err, c.want)
		})
	}
}

func checkFaults(t *testing.T, err error, want []string) {
	t.Helper()
	var faults *Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want *Faults", err)
	}
	got := make([]string, len(faults.List))
	for i, f := range faults.List {
		got[i] = f.String()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestGoodConfigIsReadWhole(t *testing.T) {
	got, err := Load("testdata/good.toml", testOptions())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	at := func(line int) Place { return Place{File: "good.toml", Line: line} }
	session := func(name string) Template {
		ref := Ref{Space: SpaceSession, Name: name}
		return Template{source: ref.String(), parts: []piece{{ref: ref}}}
	}
	orderID := Ref{Space: SpaceArgs, Name: "order_id"}
	limits := DefaultLimits()
	limits.HostCalls = 10
	lowered := limits
	lowered.Time = time.Second
	want := &Config{
		Name: "good.toml", Dir: dir, Path: filepath.Join(dir, "good.toml"),
		Digest:     got.Digest,
		Attributes: []string{"customer", "ticket"},
		State:      filepath.Join(dir, "var", "state", "state.db"),
		Audit: Audit{
			Place:  at(0),
			Folder: filepath.Join(dir, "var", "audit"), Key: filepath.Join(dir, "var", "keys", "audit.key"),
			CheckpointEntries: 1000, CheckpointTime: time.Minute, KeepDays: 365, WarnFree: 1 << 30,
			lines: keyLines{},
		},
		Limits: limits, Instances: DefaultInstances(),
		Session:   DefaultSession(),
		Databases: []Database{{Place: at(1), Name: "desk", File: filepath.Join(dir, "var", "desk.db"), Shown: "sqlite:var/desk.db", Hash: hashOf("sqlite:var/desk.db"), lines: keyLines{"url": 2}}},
		Directory: &Directory{
			Place: at(32), Database: "desk", Table: "people", Roles: []string{"staff"},
			lines: keyLines{"database": 33, "table": 34, "roles": 35},
		},
		Capabilities: []Capability{{
			Place: at(4), Name: "orders", Kind: "records",
			Records: &Records{
				Database: "desk", Table: "orders", Key: "order_id",
				Columns: []string{"order_id", "total"},
				Types:   map[string]ColumnType{"total": {Name: "decimal"}},
				Scope: []Clause{
					{Place: at(12), Column: "tenant", Is: session("tenant"), Else: "out_of_scope"},
					{Place: at(13), Column: "customer_id", Is: session("customer"), Else: "other_customer"},
				},
				MaxRows: 100, MaxBytes: 256 << 10,
			},
			lines: keyLines{"kind": 5, "database": 6, "table": 7, "key": 8, "columns": 9, "types": 10, "scope": 11},
		}},
		Tools: []Tool{{
			Place: at(16), Name: "get_order", Plugin: filepath.Join(dir, "plugins", "get_order"),
			Effect: "read", Callers: []string{"customer", "staff"},
			NotAvailable: Template{
				source: "No order {args.order_id} is available.",
				parts:  []piece{{text: "No order "}, {ref: orderID}, {text: " is available."}},
			},
			Limits: lowered, Instances: DefaultInstances().Each,
			Grants: []Grant{{Place: at(24), Capability: "orders", Only: &orderID}},
			lines:  keyLines{"plugin": 17, "effect": 18, "callers": 19, "not_available": 20, "limits": 21, "grants": 23},
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if !strings.HasPrefix(got.Digest, "sha256:") || len(got.Digest) != len("sha256:")+64 {
		t.Errorf("digest %q", got.Digest)
	}
}

func TestEmptyConfigGrantsNothing(t *testing.T) {
	c, err := Parse("config.toml", nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Tools)+len(c.Capabilities)+len(c.Databases) != 0 || c.Directory != nil {
		t.Errorf("an empty config gives %+v", c)
	}
	if c.Limits != DefaultLimits() {
		t.Errorf("limits %+v are not the defaults", c.Limits)
	}
}

func TestOrderIsOfTheFileAndDatabasesAreSorted(t *testing.T) {
	tool := "plugin = \"p\"\neffect = \"read\"\ncallers = []\n"
	c, err := Parse("config.toml", []byte(
		"[tools.zeta]\n"+tool+"[tools.alpha]\n"+tool+
			"[databases.z]\nurl = \"sqlite:z\"\n[databases.a]\nurl = \"sqlite:a\"\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Tools[0].Name != "zeta" || c.Tools[1].Name != "alpha" {
		t.Errorf("tools are %s, %s", c.Tools[0].Name, c.Tools[1].Name)
	}
	if c.Databases[0].Name != "a" || c.Databases[1].Name != "z" {
		t.Errorf("databases are %s, %s", c.Databases[0].Name, c.Databases[1].Name)
	}
	if len(c.Tools[0].Callers) != 0 {
		t.Errorf("an empty list of callers gives %q", c.Tools[0].Callers)
	}
}

// The design's own sample uses most of the grammar. Its shortened hash is refused,
// and so are the two roles of its directory that may call none of its tools;
// nothing else in it is a fault.
func TestDesignSampleIsReadWhole(t *testing.T) {
	data, err := os.ReadFile("testdata/design.toml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("config.toml", data, testOptions())
	checkFaults(t, err, []string{
		`config.toml:28: [directory] roles: "member" is in no tool's callers or approve, so that the directory would decide nothing for it`,
		`config.toml:28: [directory] roles: "employee" is in no tool's callers or approve, so that the directory would decide nothing for it`,
		`config.toml:35: [approvers] usr-grace: this is neither "sha256:" with 64 lower-case hex digits nor "file:" with a path; if it is the token itself, others have seen it now. Make a new one with: toolhost approvals token usr-grace`,
	})
}

func TestAllFaultsAreReportedAtOnceByLine(t *testing.T) {
	good := readGood(t)
	for _, change := range [][2]string{
		{"{session.customer}", "{session.custmer}"},
		{`orders = { only`, `order = { only`},
		{`host_calls = 10`, `host_calls = 0`},
	} {
		good = strings.Replace(good, change[0], change[1], 1)
	}
	_, err := Parse("some/folder/config.toml", []byte(good), testOptions())
	want := `config.toml:13: [capabilities.orders] scope: "{session.custmer}" is no session value (customer, ticket, subject, tenant, role, id); did you mean "{session.customer}"?
config.toml:24: [tools.get_order] grants: no capability "order" (did you mean "orders"?)
config.toml:27: [limits] host_calls: 0 is out of bounds, from 1 to 10000
3 faults; nothing was loaded`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// Faults and places show the file by the name that its user gave it.
func TestNameIsWhatFaultsAndPlacesShow(t *testing.T) {
	long := strings.Repeat("folder/", 30) + "config.toml"
	for _, c := range []struct{ rule, name, want string }{
		{"as-given", "mine/config.toml", "mine/config.toml"},
		{"none-is-the-base-name", "", "good.toml"},
		{"long-stays-whole", long, long},
		{"no-control-characters", "a\x1b[2J/b\n.toml", "a?[2J/b?.toml"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			options := testOptions()
			options.Name = c.name
			config, err := Load("testdata/good.toml", options)
			if err != nil {
				t.Fatal(err)
			}
			if config.Name != c.name && c.name != "" || config.Name == "" || filepath.Base(config.Path) != "good.toml" {
				t.Errorf("the config is named %q, %q", config.Name, config.Path)
			}
			for _, place := range []Place{
				config.Tools[0].Place, config.Tools[0].Grants[0].Place, config.Tools[0].At("callers"),
				config.Capabilities[0].Records.Scope[0].Place, config.Directory.Place, config.Databases[0].Place,
			} {
				if file, _, _ := strings.Cut(place.Where(), ":"); file != c.want {
					t.Errorf("a place is %s, want %s", place.Where(), c.want)
				}
			}
			_, err = Parse("testdata/good.toml", []byte("tool = 1"), options)
			checkFaults(t, err, []string{c.want + `:1: tool: unknown key (did you mean "tools"?)` + knownTop})
		})
	}
}

// At gives the line of a key in every form that a section can have.
func TestPlacesOfKeys(t *testing.T) {
	data := `[databases]
desk = { url = "sqlite:d.db" }
[tools.get]
plugin = "p"
effect = "read"
grants.orders = {}
callers = [
  "staff",
]
[tools.get.limits]
time = "1s"
[capabilities.orders]
kind = "records"
database = "desk"
table = "orders"
key = "id"
columns = ["id"]
[[capabilities.orders.scope]]
column = "tenant"
is = "x"
else = "abc"
[capabilities.orders.types]
id = "text"
[directory]
database = "desk"
table = "people"
roles = [
  "staff"
]
[audit]
checkpoint_command = [
  "bin/keep",
]
folder = "records"
`
	c, err := Parse("config.toml", []byte(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		section string
		at      func(string) Place
		lines   map[string]int
	}{
		{"database", c.Databases[0].At, map[string]int{"url": 2, "": 2, "absent": 2}},
		{"tool", c.Tools[0].At, map[string]int{"plugin": 4, "effect": 5, "grants": 6, "callers": 7, "limits": 10, "not_available": 3, "time": 3}},
		{"capability", c.Capabilities[0].At, map[string]int{
			"kind": 13, "database": 14, "table": 15, "key": 16, "columns": 17, "scope": 18, "types": 22, "max_rows": 12, "id": 12,
		}},
		{"directory", c.Directory.At, map[string]int{"database": 25, "table": 26, "roles": 27, "absent": 24}},
		{"audit", c.Audit.At, map[string]int{"checkpoint_command": 31, "folder": 34, "key": 30, "absent": 30}},
		{"section-of-no-file", Tool{}.At, map[string]int{"callers": 0}},
	} {
		for key, line := range tt.lines {
			if got := tt.at(key); got.Line != line || line > 0 && got.File != "config.toml" {
				t.Errorf("%s: %q is at %s, want line %d", tt.section, key, got.Where(), line)
			}
		}
	}
}

// A value of a wrong type is one fault: nothing is held against what could not be read.
func TestOneFaultHasNoFollowers(t *testing.T) {
	const tool = "[tools.get]\nplugin = \"p\"\neffect = \"read\"\n"
	const directory = "[directory]\ndatabase = \"desk\"\ntable = \"people\"\nroles = [\"staff\"]\n"
	const database = "[databases.desk]\nurl = \"sqlite:d\"\n"
	const orders = "[capabilities.orders]\nkind = \"records\"\ndatabase = \"desk\"\ntable = \"orders\"\nkey = \"id\"\ncolumns = [\"id\"]\nscope = \"everyone\"\n"
	for _, c := range []struct{ rule, data, want string }{
		{"databases", "databases = true\n" + directory + tool + `callers = ["staff"]`, "1: [databases]: found a boolean, expected a table"},
		{"databases-as-an-array", "[[databases]]\n" + orders, "1: [databases]: found an array, expected a table"},
		{"database", "databases.desk = 5\n" + orders, "1: [databases.desk]: found an integer, expected a table"},
		{"capabilities", "capabilities = \"x\"\n" + tool + "callers = []\ngrants = { orders = {} }", "1: [capabilities]: found a string, expected a table"},
		{"capability", "capabilities.orders = 5\n" + tool + "callers = []\ngrants = { orders = {} }", "1: [capabilities.orders]: found an integer, expected a table"},
		{"kind", "[capabilities.orders]\nkind = 5\n" + tool + "callers = []\ngrants = { orders = {} }", "2: [capabilities.orders] kind: found an integer, expected a string"},
		{"grants", database + orders + tool + "callers = []\ngrants = true", "14: [tools.get] grants: found a boolean, expected a table"},
		{"tools", "tools = 5\n" + database + directory, "1: [tools]: found an integer, expected a table"},
		{"tools-misspelt", database + "[tool.get]\ncallers = [\"staff\"]\n" + directory, `3: tool: unknown key (did you mean "tools"?)` + knownTop},
		{"tool", "tools.get = 5\n" + database + directory, "1: [tools.get]: found an integer, expected a table"},
		{"callers", database + tool + "callers = \"staff\"\n" + directory, "6: [tools.get] callers: found a string, expected an array of strings"},
		{"missing-callers", database + tool + directory, `3: [tools.get] callers: missing; for example callers = ["staff"], or [] for nobody`},
		{"wrong-caller", database + tool + "callers = [\"Staff\"]\n" + directory, `6: [tools.get] callers: "Staff" is not a role ^[a-z][a-z0-9_]{0,31}$`},
		{"host", "host = 5\n[audit]\nfolder = \"var\"\nkey = \"keys/audit.key\"\n", "1: [host]: found an integer, expected a table"},
		{"audit", "audit = true\n[databases.desk]\nurl = \"sqlite:var/audit/d\"\n", "1: [audit]: found a boolean, expected a table"},
		{"directory", "directory = 5\n" + tool + "callers = []", "1: [directory]: found an integer, expected a table"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, err := Parse("config.toml", []byte(c.data), Options{})
			checkFaults(t, err, []string{"config.toml:" + c.want})
		})
	}
	t.Run("no-tools-at-all", func(t *testing.T) {
		_, err := Parse("config.toml", []byte(database+directory), Options{})
		checkFaults(t, err, []string{`config.toml:6: [directory] roles: "staff" is in no tool's callers or approve, so that the directory would decide nothing for it`})
	})
}

func TestOneFaultIsSingular(t *testing.T) {
	_, err := Parse("config.toml", []byte("tool = 1"), Options{})
	want := `config.toml:1: tool: unknown key (did you mean "tools"?); known here: host, audit, limits, instances, session, databases, directory, approvers, mail, capabilities, values, tools, replies
1 fault; nothing was loaded`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestUnreadableFileIsNotAFault(t *testing.T) {
	c, err := Load(filepath.Join(t.TempDir(), "config.toml"), Options{})
	var faults *Faults
	if c != nil || !errors.Is(err, fs.ErrNotExist) || errors.As(err, &faults) {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestLoadIsFreshEachTime(t *testing.T) {
	first, err := Load("testdata/good.toml", testOptions())
	if err != nil {
		t.Fatal(err)
	}
	first.Attributes[0] = "changed"
	first.Tools[0].Callers[0] = "changed"
	second, err := Load("testdata/good.toml", testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if second.Attributes[0] != "customer" || second.Tools[0].Callers[0] != "customer" {
		t.Error("two loads share memory")
	}
}
