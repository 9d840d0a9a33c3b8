package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzLoad holds one property on any bytes: there is either a Config and no
// fault, or faults and no Config, and what loads loads again to an equal one.
func FuzzLoad(f *testing.F) {
	good := readGood(f)
	design, err := os.ReadFile("testdata/design.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"", good, string(design), strings.ReplaceAll(good, "\n", "\r\n"), "\ufeff" + good,
		"a.b.c = 1\n\"d\".'e' = [ { f = 1.5 }, [2026-01-01] ]\n",
		"[[capabilities]]\n[capabilities.x]\n[[tools.x.rules]]\n",
		"tools.x = { plugin = \"p\", effect = \"read\", callers = [], grants = { y = { only = \"{args.x}\" } } }",
		"[databases.d]\nurl = \"sqlite:{env.DESK}\"\n",
		"[host]\nattributes = [\"\"\"a\nb\"\"\", '''c''']\n",
		"[host]\nstate = \"s/state.db\"\n[audit]\nfolder = \"a\"\nkey = \"k\"\ncheckpoint_entries = 1\ncheckpoint_time = \"1s\"\n" +
			"checkpoint_command = [\"./keep\", \"-x\", \"-x\"]\nkeep_values = \"1d\"\nwarn_free = \"0B\"\n",
		"[audit]\nfolder = \"var\"\n[databases.d]\nurl = \"sqlite:var/d\"\n[tools.x]\nplugin = \"..\"\n",
		"[[audit.checkpoint_command]]\n", "audit.folder = \"/\"\nhost.state = \"/\"\n",
		good + ruled, strings.ReplaceAll(good+ruled, "\n", "\r\n"),
		"[values.v]\ntype = \"duration\"\nroles = { a = \"99999d999999h\" }\n[values.w]\ntype = \"integer\"\nroles = { a = 1, b = 1.5 }\n",
		"[[tools.x.rules]]\n[[tools.x.rules]]\nname = \"\"\nexamples = [[], {}, { facts = { a = { b = [1.5] } }, session = { x = 1 } }]\n",
		"[tools.x]\nrules = [{}, 1, [{}]]\nfacts = { a = {}, b = { where = { c = {} } }, c = 1 }\n",
		"x = 0x10\ny = 0b1\nz = inf\nw = 07:32:00\n",
		"[a.b]\n[a]\nb.c = 1\n", "[a]\n[[a]]\n", "a = {}\na.b = 1\n", "[[[[", "a = {{{{", "\"\" = 1", "\xff\xfe\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := Parse("config.toml", data, testOptions())
		var faults *Faults
		switch {
		case err == nil && config == nil:
			t.Fatal("no config and no fault")
		case err != nil && config != nil:
			t.Fatal("a config with faults was loaded")
		case err != nil && (!errors.As(err, &faults) || len(faults.List) == 0):
			t.Fatalf("%v is no list of faults", err)
		}
		lines := strings.Count(string(data), "\n") + 1
		if faults != nil {
			for i, fault := range faults.List {
				if fault.Line < 0 || fault.Line > lines || i > 0 && fault.Line < faults.List[i-1].Line {
					t.Fatalf("fault %d, %s, is out of place", i, fault)
				}
				if strings.ContainsFunc(fault.String(), hidden) {
					t.Fatalf("fault %q holds a control character", fault)
				}
			}
			return
		}
		for _, tool := range config.Tools {
			for _, key := range []string{"plugin", "callers", "absent"} {
				if line := tool.At(key).Line; line < 1 || line > lines {
					t.Fatalf("the %s of a tool is on line %d", key, line)
				}
			}
			for _, rule := range tool.Rules {
				if line := rule.At("require").Line; line < 1 || line > lines || rule.Require == "" || len(rule.Examples) < 2 {
					t.Fatalf("rule %+v", rule)
				}
			}
		}
		for _, path := range []string{config.State, config.Audit.Key} {
			if !filepath.IsAbs(path) || path == config.Audit.Folder || Inside(path, config.Audit.Folder) {
				t.Fatalf("%s does not stand apart from %s", path, config.Audit.Folder)
			}
		}
		again, err := Parse("config.toml", data, testOptions())
		if err != nil || !reflect.DeepEqual(config, again) {
			t.Fatalf("the second load gives %+v, %v, the first %+v", again, err, config)
		}
	})
}

// FuzzSession holds the same for a session file.
func FuzzSession(f *testing.F) {
	f.Add([]byte("role = \"staff\"\n[attributes]\ncustomer = \"C-1\"\n"))
	f.Add([]byte("role = \"\"\nid = 5\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		session, err := ParseSession("session.toml", data)
		if err != nil && !reflect.DeepEqual(session, Session{}) {
			t.Fatal("a session with faults was read")
		}
		if err == nil && session.Role == "" {
			t.Fatal("a session without a role was read")
		}
	})
}
