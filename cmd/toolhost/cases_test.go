package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

func TestReadCases(t *testing.T) {
	const call = `{"arguments": "{}", "outcome": "ok"}`
	cases := []struct{ rule, text, err string }{
		{"only-session", `{"tool": "get_order", "sessions": {"sam": {"role": "staff"}}, "calls": [` + call + `]}`, ""},
		{"which-of-two", `{"tool": "get_order", "sessions": {"sam": {}, "grace": {}}, "calls": [` + call + `]}`, `call 1: no session ""`},
		{"unknown-session", `{"sessions": {"sam": {}}, "calls": [{"session": "smm"}]}`, `call 1: no session "smm"`},
		{"no-such-day", `{"today": "2026-02-30"}`, "today: "},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cases.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := readCases(path)
			switch {
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%v, want %q", err, c.err)
			case c.err == "" && err != nil:
				t.Error(err)
			case c.err == "" && (f.Calls[0].Session != "sam" || f.Calls[0].Tool != "get_order"):
				t.Errorf("%+v", f.Calls[0])
			}
		})
	}
}

// What a file records is held against the outcome, the field too.
func TestDifferencesOfAField(t *testing.T) {
	o := host.Outcome{State: host.Refused, Gate: host.GateContract, Code: "invalid_argument", Field: "to"}
	for field, want := range map[string]int{"to": 0, "": 0, "body": 1} {
		k := caseCheck{words: map[string]string{}}
		c := caseCall{Outcome: "refused", Gate: "contract", Code: "invalid_argument", Field: field}
		if got := k.differences(c, o, false); len(got) != want {
			t.Errorf("%q: %q", field, got)
		}
	}
}

func TestCaseClock(t *testing.T) {
	clock := &caseClock{}
	for _, today := range []string{"", "2026-10-15", ""} {
		clock.set(&caseFile{Today: today})
		now := clock.now()
		if real := time.Since(now) < time.Minute; real != (today == "") {
			t.Errorf("%q: %v", today, now)
		}
		if want := time.Date(2026, 10, 15, 12, 0, 0, 0, time.UTC); today != "" && !now.Equal(want) {
			t.Errorf("%q: %v", today, now)
		}
	}
}
