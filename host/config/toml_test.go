package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const knownTop = "; known here: host, audit, limits, instances, session, databases, directory, approvers, mail, capabilities, values, tools, replies"

func TestRefusedBytes(t *testing.T) {
	cases := []struct {
		rule, data string
		want       string
	}{
		{"a-key-set-twice", "a = 1\na = 2\n", "config.toml:2: not valid TOML: Key 'a' has already been defined."},
		{"a-table-set-twice", "[limits]\n\n[limits]\n", "config.toml:3: not valid TOML: Key 'limits' has already been defined."},
		{"a-table-reopened-by-a-dotted-key", "[a.b.c]\nx = 1\n[a]\nb.y = 2\n", "config.toml:4: not valid TOML: key b is already defined"},
		{"an-inline-table-extended", "a = { b = 1 }\na.c = 2\n", "config.toml:2: not valid TOML: key a is already defined"},
		{"no-value", "\nx = \n", "config.toml:2: not valid TOML: unexpected character U+000A at start of value"},
		{"an-open-array", "a = 1\nb = [1,\n2\n", "config.toml:3: not valid TOML: array is incomplete"},
		{"no-such-date", "\n\na = 1979-13-40\n", `config.toml:3: not valid TOML: invalid datetime: "1979-13-40"`},
		{"an-integer-past-64-bits", "a = 99999999999999999999", "config.toml:1: not valid TOML: 99999999999999999999 is out of range for int64"},
		{"a-value-nested-too-deeply", "a = " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "config.toml:1: nested deeper than 16 levels"},
		{"a-table-nested-too-deeply", "\na = " + strings.Repeat("{a=", 40) + "1" + strings.Repeat("}", 40), "config.toml:2: nested deeper than 16 levels"},
		{"a-key-of-too-many-parts", strings.Repeat("a.", 100_000) + "a = 1", "config.toml:1: nested deeper than 16 levels"},
		{"broken-utf-8", "# ok\na = \"\xff\"", "config.toml:2: not valid UTF-8"},
		{"utf-16", "\xff\xfea\x00", "config.toml:1: not valid UTF-8"},
		{"a-control-character", "# ok\n# \x1b[2J\n", "config.toml:2: the character U+001B may not stand in this file"},
		{"a-carriage-return-alone", "# one\r# two\n", "config.toml:1: the character U+000D may not stand in this file"},
		{"text-that-turns-direction", "a = 1 # \u202e2 = b\n", "config.toml:1: the character U+202E may not stand in this file"},
		{"larger-than-1-mib", strings.Repeat("#", 1<<20+1), "config.toml: the file is larger than 1 MiB"},
		{"too-many-keys", "a = 1\n" + strings.Repeat("[a]\n", 20_000), "config.toml: the file has more than 20000 keys"},
		{"a-message-is-short", "a = 1" + strings.Repeat("_", 1000), `config.toml:1: not valid TOML: number must have at least one digit between underscores`},
		{"a-message-shows-no-control-character", "[\"a\\u001b\"]\n[\"a\\u001b\"]\n", `config.toml:2: not valid TOML: Key '"a\u001b"' has already been defined.`},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			config, err := Parse("config.toml", []byte(c.data), Options{})
			if config != nil {
				t.Error("a config was loaded")
			}
			checkFaults(t, err, []string{c.want})
		})
	}
}

func TestLargeFileIsRefusedByLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path, Options{})
	checkFaults(t, err, []string{"config.toml: the file is larger than 1 MiB"})
}

// Each key stands in a form that an engineer may choose. All faults name the
// line of the key, not of the value, the table or the file.
func TestLinesOfEveryFormOfKey(t *testing.T) {
	data := `a.b = 1
"c".'d e' = 2
[limits]
"tim" = """
x"""
memory = [
  1,
  2,
]
log = 3
[tools."x\ny"]
effect = "rea"
[tools]
y = { plugin = "p", effect = "read",
  callers = [
    "staff",
    5,
  ] }
z.plugin = "p"
z.effect = 1.5
z.callers = []
[[host]]
[[host]]
state = 1
`
	_, err := Parse("config.toml", []byte(data), Options{})
	checkFaults(t, err, []string{
		"config.toml:1: a: unknown key" + knownTop,
		"config.toml:2: c: unknown key" + knownTop,
		`config.toml:4: [limits] tim: unknown key (did you mean "time"?); known here: time, fuel, memory, argument_chars, result_chars, host_calls, log`,
		"config.toml:6: [limits] memory: found an array, expected a string",
		"config.toml:10: [limits] log: found an integer, expected a string",
		`config.toml:11: [tools."x\ny"]: "x\ny" is not a name ^[a-z][a-z0-9_-]{0,63}$`,
		`config.toml:11: [tools."x\ny"] plugin: missing; for example plugin = "plugins/get_order"`,
		`config.toml:11: [tools."x\ny"] callers: missing; for example callers = ["staff"], or [] for nobody`,
		`config.toml:12: [tools."x\ny"] effect: no effect "rea" (did you mean "read"?); write "read" or "write"`,
		"config.toml:17: [tools.y] callers: found an integer, expected a string",
		"config.toml:20: [tools.z] effect: found a float, expected a string",
		"config.toml:22: [host]: found an array, expected a table",
	})
}

func TestTableGetsTheLineOfItsOwnHeader(t *testing.T) {
	data := "[tools.x.limits]\ntime = \"1s\"\n[tools.x]\nplugin = \"p\"\neffect = \"read\"\ncallers = []\n"
	c, err := Parse("config.toml", []byte(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Tools[0].Line != 3 {
		t.Errorf("the tool is on line %d, want 3", c.Tools[0].Line)
	}
}

func TestWindowsFilesLoadTheSame(t *testing.T) {
	good := readGood(t) + ruled // with a condition of two lines
	want, err := Parse("config.toml", []byte(good), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(want.Tools[len(want.Tools)-1].Rules[0].Require, "\n") {
		t.Fatal("no condition of several lines")
	}
	for name, data := range map[string]string{
		"crlf":            strings.ReplaceAll(good, "\n", "\r\n"),
		"byte-order-mark": "\ufeff" + good,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("config.toml", []byte(data), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			if got.Digest == want.Digest {
				t.Error("other bytes have the same digest")
			}
			got.Digest = want.Digest
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// The comparison of the two readers, on values that no file is known to give.
func TestReadersThatDisagreeAreSeen(t *testing.T) {
	table := func(value any) map[string]any { return map[string]any{"a": value} }
	for _, c := range []struct {
		rule string
		a, b any
		same bool
	}{
		{"equal-tables", table(int64(1)), table(int64(1)), true},
		{"other-integer", table(int64(1)), table(int64(2)), false},
		{"other-type", table(int64(1)), table("1"), false},
		{"integer-and-float", table(int64(1)), table(1.5), false},
		{"float-and-string", table(1.5), table("1.5"), false},
		{"another-key", table(true), map[string]any{"b": true}, false},
		{"a-key-more", table(true), map[string]any{"a": true, "b": true}, false},
		{"table-and-list", table(true), []any{true}, false},
		{"list-and-table", []any{true}, table(true), false},
		{"two-forms-of-a-list", []map[string]any{table("x")}, []any{table("x")}, true},
		{"a-longer-list", []any{"x"}, []any{"x", "x"}, false},
		{"another-item", []any{"x"}, []any{"y"}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := same(c.a, c.b); got != c.same {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTreeOfAnotherShapeIsSeen(t *testing.T) {
	list := func(items ...*node) *node { return &node{isList: true, list: items} }
	table := newTable(1)
	child(table, part{key: "a", line: 1})
	for _, c := range []struct {
		rule  string
		tree  *node
		value any
		fits  bool
	}{
		{"same-table", table, map[string]any{"a": "x"}, true},
		{"another-key", table, map[string]any{"b": "x"}, false},
		{"a-key-more", table, map[string]any{"a": "x", "b": "x"}, false},
		{"table-for-a-list", list(), map[string]any{}, false},
		{"list-for-a-table", table, []any{}, false},
		{"a-longer-list", list(&node{}), []any{"x", "y"}, false},
		{"table-in-a-list", list(&node{}), []any{map[string]any{}}, false},
		{"scalar-for-a-table", table, "x", false},
		{"table-in-a-table", table, map[string]any{"a": map[string]any{}}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := fill(c.tree, c.value); got != c.fits {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestLongForeignTextIsCut(t *testing.T) {
	_, err := Parse("config.toml", []byte("\""+strings.Repeat("é", 5000)+"\" = 1"), Options{})
	checkFaults(t, err, []string{"config.toml:1: \"" + strings.Repeat("é", 100) + "...\": unknown key" + knownTop})
}
