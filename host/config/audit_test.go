package config

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAuditIsReadWhole(t *testing.T) {
	dir := t.TempDir()
	got, err := Parse(filepath.Join(dir, "config.toml"), []byte(`[host]
state = "../s/./state.db"
[audit]
folder = "/srv/records/"
key = "keys/../audit.key"
checkpoint_entries = 1_000_000
checkpoint_time = "60m"
checkpoint_command = ["bin/../keep", "--log", "desk desk; $(x)", "--log", "a/../b"]
keep_values = "36500d"
warn_free = "1024GiB"
`), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := Audit{
		Place:  Place{File: "config.toml", Line: 3},
		Folder: "/srv/records", Key: filepath.Join(dir, "audit.key"),
		CheckpointEntries: 1_000_000, CheckpointTime: time.Hour,
		CheckpointCommand: []string{filepath.Join(dir, "keep"), "--log", "desk desk; $(x)", "--log", "a/../b"},
		KeepDays:          36_500, WarnFree: 1024 << 30,
		lines: keyLines{
			"folder": 4, "key": 5, "checkpoint_entries": 6, "checkpoint_time": 7,
			"checkpoint_command": 8, "keep_values": 9, "warn_free": 10,
		},
	}
	if !reflect.DeepEqual(got.Audit, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got.Audit, want)
	}
	if state := filepath.Join(filepath.Dir(dir), "s", "state.db"); got.State != state {
		t.Errorf("state %s, want %s", got.State, state)
	}
}

// A section that sets nothing, or the lowest of all, has the rest by default.
func TestAuditIsOnByDefault(t *testing.T) {
	base := func() Audit {
		return Audit{
			Folder: "/d/var/audit", Key: "/d/var/keys/audit.key",
			CheckpointEntries: 1000, CheckpointTime: time.Minute, KeepDays: 365, WarnFree: 1 << 30,
		}
	}
	lowest := base()
	lowest.CheckpointEntries, lowest.CheckpointTime, lowest.KeepDays, lowest.WarnFree = 1, time.Second, 1, 0
	for rule, c := range map[string]struct {
		data string
		want Audit
	}{
		"no-section":       {"", base()},
		"no-state-in-host": {"[host]\n", base()},
		"empty-section":    {"[audit]\n", base()},
		"empty-command":    {"[audit]\ncheckpoint_command = []\n", base()},
		"lowest":           {"[audit]\ncheckpoint_entries = 1\ncheckpoint_time = \"1s\"\nkeep_values = \"1d\"\nwarn_free = \"0B\"\n", lowest},
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := Parse("/d/config.toml", []byte(c.data), Options{})
			if err != nil {
				t.Fatal(err)
			}
			got.Audit.Place, got.Audit.lines = Place{}, nil
			if !reflect.DeepEqual(got.Audit, c.want) || got.State != "/d/var/state/state.db" {
				t.Errorf("got\n%+v, state %s\nwant\n%+v", got.Audit, got.State, c.want)
			}
		})
	}
}

func TestRefusedAudit(t *testing.T) {
	const known = "; known here: folder, key, checkpoint_entries, checkpoint_time, checkpoint_command, keep_values, warn_free"
	const noDays = ` is no number of days; write a whole number from 1 and d, like "365d"`
	const noReference = " may not stand here; this key takes no reference"
	audit := func(rule, line string, want ...string) refusal {
		for i := range want {
			want[i] = "config.toml:37: [audit] " + want[i]
		}
		return refusal{rule, "", "[audit]\n" + line + "\n", want}
	}
	many := strings.Repeat(`"/bin/x", `, 33)
	testRefusals(t, []refusal{
		{"audit-as-an-array", "", "[[audit]]\n", []string{"config.toml:36: [audit]: found an array, expected a table"}},
		audit("unknown-key-suggests", `folders = "x"`, `folders: unknown key (did you mean "folder"?)`+known),
		audit("no-key-turns-it-off", `off = true`, `off: unknown key`+known),
		audit("folder-as-a-float", "folder = 1.5", "folder: found a float, expected a string"),
		audit("empty-folder", `folder = ""`, "folder: an empty string; write a value or remove the key"),
		audit("reference-in-folder", `folder = "{env.DESK}"`, `folder: "{env.DESK}"`+noReference),
		audit("brace-in-folder", `folder = "a{b"`, `folder: "a{b" holds a brace that names no value; a reference looks like {session.tenant}`),
		audit("reference-in-key", `key = "{session.tenant}"`, `key: "{session.tenant}"`+noReference),
		audit("zero-entries", "checkpoint_entries = 0", "checkpoint_entries: 0 is out of bounds, from 1 to 1000000"),
		audit("entries-over-a-million", "checkpoint_entries = 1_000_001", "checkpoint_entries: 1000001 is out of bounds, from 1 to 1000000"),
		audit("time-under-a-second", `checkpoint_time = "999ms"`, `checkpoint_time: "999ms" is out of bounds, from 1s to 60m`),
		audit("time-over-an-hour", `checkpoint_time = "60m1s"`, `checkpoint_time: "60m1s" is out of bounds, from 1s to 60m`),
		audit("time-in-days", `checkpoint_time = "1d"`, `checkpoint_time: "1d" is no duration; write whole numbers of m, s and ms, like "1m30s" or "500ms"`),
		audit("command-as-a-string", `checkpoint_command = "/bin/keep --log"`, "checkpoint_command: found a string, expected an array of strings"),
		audit("bare-name-of-a-program", `checkpoint_command = ["keep", "a/b"]`, `checkpoint_command: "keep": a bare name would be looked up in PATH; write a path`),
		audit("argument-of-the-wrong-type", `checkpoint_command = ["/bin/keep", 5]`, "checkpoint_command: found an integer, expected a string"),
		audit("empty-argument", `checkpoint_command = ["/bin/keep", ""]`, "checkpoint_command: an empty string; write a value or remove the key"),
		audit("reference-in-a-program", `checkpoint_command = ["/bin/{env.DESK}"]`, `checkpoint_command: "{env.DESK}"`+noReference),
		audit("reference-in-an-argument", `checkpoint_command = ["/bin/keep", "{args.x}"]`, `checkpoint_command: "{args.x}"`+noReference),
		audit("more-than-32-strings", "checkpoint_command = ["+many+"]", "checkpoint_command: 33 strings, at most 32; put the rest into a script"),
		audit("days-in-years", `keep_values = "1y"`, `keep_values: "1y"`+noDays),
		audit("days-without-unit", `keep_values = "365"`, `keep_values: "365"`+noDays),
		audit("days-as-an-integer", `keep_values = 365`, "keep_values: found an integer, expected a string"),
		audit("days-in-hours", `keep_values = "24h"`, `keep_values: "24h"`+noDays),
		audit("zero-days", `keep_values = "0d"`, `keep_values: "0d"`+noDays),
		audit("days-with-leading-zero", `keep_values = "01d"`, `keep_values: "01d"`+noDays),
		audit("days-with-fraction", `keep_values = "1.5d"`, `keep_values: "1.5d"`+noDays),
		audit("days-with-sign", `keep_values = "+1d"`, `keep_values: "+1d"`+noDays),
		audit("days-twice", `keep_values = "1dd"`, `keep_values: "1dd"`+noDays),
		audit("days-of-six-digits", `keep_values = "100000d"`, `keep_values: "100000d"`+noDays),
		audit("days-over-a-century", `keep_values = "36501d"`, `keep_values: "36501d" is out of bounds, from 1d to 36500d`),
		audit("warn-free-over-a-tebibyte", `warn_free = "1025GiB"`, `warn_free: "1025GiB" is out of bounds, from 0B to 1024GiB`),
		audit("warn-free-without-unit", `warn_free = "0"`, `warn_free: "0" is no size; write a whole number of B, KiB, MiB or GiB, like "32MiB"`),
		{
			"each-string-has-its-line", "", "[audit]\ncheckpoint_command = [\n\"keep\",\n\"{args.x}\",\n]\n",
			[]string{
				`config.toml:38: [audit] checkpoint_command: "keep": a bare name would be looked up in PATH; write a path`,
				`config.toml:39: [audit] checkpoint_command: "{args.x}"` + noReference,
			},
		},
	})
}

// Days are of keep_values alone: a call that may take a day is a mistake.
func TestDurationsTakeNoDays(t *testing.T) {
	testRefusals(t, []refusal{{
		"limit-in-days", "host_calls = 10", `time = "1d"`,
		[]string{`config.toml:27: [limits] time: "1d" is no duration; write whole numbers of m, s and ms, like "1m30s" or "500ms"`},
	}})
}
