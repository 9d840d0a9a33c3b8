package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/strictjson"
)

func TestColourOnlyOnATerminal(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var out, err bytes.Buffer
		c := &cli{stdout: &out, stderr: &err, terminal: func(io.Writer) bool { return terminal }}
		c.printOutcome(nil, host.Proposal{}, host.Outcome{State: host.Refused, Gate: host.GateCaller, Code: "not_found", Reason: "why"})
		c.printAnswers([]host.Answer{{Gate: host.GateCaller, Verdict: host.VerdictNo, Text: "not_found: why"}}, false, true)
		if coloured := strings.Contains(out.String()+err.String(), "\x1b["); coloured != terminal {
			t.Errorf("terminal %t: coloured %t:\n%s%s", terminal, coloured, err.String(), out.String())
		}
	}
}

func TestCleanEscapesWhatMovesACursor(t *testing.T) {
	for text, want := range map[string]string{
		"plain 读书会 é":      "plain 读书会 é",
		"a\x1b[2Jb":        `a\u001b[2Jb`,
		"a\u202eb":         `a\u202eb`,
		"a\u200bb":         `a\u200bb`,
		"a\rb":             `a\u000db`,
		"a\x00b":           `a\u0000b`,
		"a\u0085b":         `a\u0085b`,
		"a\u2028b":         `a\u2028b`,
		"two\nlines\there": `two\u000alines\u0009here`,
		"\xff":             `\ufffd`,
	} {
		if got := clean(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := cleanLines("ours:\n\ttheirs \x1b"); got != "ours:\n\ttheirs \\u001b" {
		t.Errorf("%q", got)
	}
}

// What stands behind a comment is not shown as if it were part of it.
func TestShownRule(t *testing.T) {
	for rule, want := range map[string]string{
		"args.a\n  &&  args.b\n":                       "args.a && args.b",
		"args.a // at most\n || session.role == \"x\"": "args.a // at most\n           || session.role == \"x\"",
		`args.url.startsWith("https://")`:              `args.url.startsWith("https://")`,
		"args.a // \u202e\n || true":                   "args.a // \\u202e\n           || true",
	} {
		if got := shownRule(rule); got != want {
			t.Errorf("%q became %q, want %q", rule, got, want)
		}
	}
}

func TestCleanJSONKeepsTheValue(t *testing.T) {
	for _, text := range []string{"plain é", "a\x1b[2Jb\u202e\u0085\u2028", "\U000e0041 tag", "\x7f", "\"\\\n"} {
		line := cleanJSON(strictjson.AppendString(nil, text))
		v, err := strictjson.Read([]byte(`{"v":`+string(line)+`}`), strictjson.Default(1000))
		if got, _ := v.TextAt("v"); err != nil || got != text || clean(string(line)) != string(line) {
			t.Errorf("%q became %s (%v)", text, line, err)
		}
	}
}

// What somebody has put into the state database is no part of the JSON but as
// what it is: an approval whose content does not fit shows none.
func TestBrokenApprovalAsJSON(t *testing.T) {
	for _, content := range []string{`{},"broken":"","state":"done"`, `{{`, ``, `{}`} {
		a := host.Approval{Approval: state.Approval{ID: "AAAA", State: state.Waiting, Content: []byte(content)}, Broken: "is not what was kept"}
		v, err := strictjson.Read(approvalJSON(a), strictjson.Default(1000))
		if err != nil {
			t.Errorf("%q: %v", content, err)
			continue
		}
		if shown, _ := v.Get("shown"); shown.Kind() != strictjson.Null {
			t.Errorf("%q is shown", content)
		}
		if in, _ := v.TextAt("state"); in != "waiting" {
			t.Errorf("%q makes it %s", content, in)
		}
	}
}
