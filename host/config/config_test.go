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
		Limits:     limits,
		Databases:  []Database{{Place: at(1), Name: "desk", File: filepath.Join(dir, "var", "desk.db")}},
		Directory:  &Directory{Place: at(32), Database: "desk", Table: "people", Roles: []string{"staff"}},
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
		}},
		Tools: []Tool{{
			Place: at(16), Name: "get_order", Plugin: filepath.Join(dir, "plugins", "get_order"),
			Effect: "read", Callers: []string{"customer", "staff"},
			NotAvailable: Template{
				source: "No order {args.order_id} is available.",
				parts:  []piece{{text: "No order "}, {ref: orderID}, {text: " is available."}},
			},
			Limits: lowered,
			Grants: []Grant{{Place: at(24), Capability: "orders", Only: &orderID}},
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

// The design's own sample uses all of the grammar. What this version does not
// enforce is refused by name, and nothing else in it is a fault.
func TestDesignSampleIsRefusedByItsLaterKeys(t *testing.T) {
	data, err := os.ReadFile("testdata/design.toml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("config.toml", data, testOptions())
	later := " is not enforced by this version of toolhost, so it does not load; remove "
	checkFaults(t, err, []string{
		"config.toml:2: [host] state" + later + "it",
		"config.toml:4: [audit]" + later + "it",
		"config.toml:10: [limits] fuel" + later + "it",
		"config.toml:16: [session]" + later + "it",
		"config.toml:30: [values]" + later + "it",
		"config.toml:34: [approvers]" + later + "it",
		`config.toml:59: [capabilities.ticket_files] kind: "files"` + later + "[capabilities.ticket_files]",
		`config.toml:66: [capabilities.carrier] kind: "fetch"` + later + "[capabilities.carrier]",
		`config.toml:75: [capabilities.refunds] kind: "outbox"` + later + "[capabilities.refunds]",
		"config.toml:90: [tools.issue_refund] effect: a write needs the approval gate, which this version does not have",
		"config.toml:92: [tools.issue_refund] approve" + later + "it",
		"config.toml:96: [tools.issue_refund] facts" + later + "it",
		"config.toml:99: [tools.issue_refund] rules" + later + "it",
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

func TestOneFaultIsSingular(t *testing.T) {
	_, err := Parse("config.toml", []byte("tool = 1"), Options{})
	want := `config.toml:1: tool: unknown key (did you mean "tools"?); known here: host, limits, databases, directory, capabilities, tools
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
