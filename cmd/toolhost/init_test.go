package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/hosttest"
)

// commentedOut is a line of the first config that holds a part of one.
var commentedOut = regexp.MustCompile(`(?m)^# (\[|[a-z_-]+ = |  \{|\])`)

// All that the first config holds as a comment loads once it is none, with the
// plugins that it names and the tables that it says.
func TestInitUncommented(t *testing.T) {
	cases, err := readDemoCases("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := fillVar(t.Context(), filepath.Join(dir, "var"), cases); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"get_order", "issue_refund"} {
		guest, err := hosttest.Build("../..", name)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "plugins", name, host.ModuleFile), guest.Module)
		writeFile(t, filepath.Join(dir, "plugins", name, "contract.json"), guest.Contract)
	}
	var out, told bytes.Buffer
	c := &cli{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &told, dir: dir, env: func(name string) (string, bool) {
		return "correct-horse-battery", name == "CARRIER_TOKEN"
	}, terminal: func(io.Writer) bool { return false }}
	if code := c.run(t.Context(), []string{"init"}); code != exitOK {
		t.Fatalf("init: %d %s", code, &told)
	}
	file := filepath.Join(dir, standardConfig)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, commentedOut.ReplaceAll(text, []byte("$1")))
	c.stdout = &out
	if code := c.run(t.Context(), []string{"check"}); code != exitOK {
		t.Fatalf("check: %d\n%s%s", code, &out, &told)
	}
	for _, tool := range []string{"get_order", "issue_refund"} {
		if !strings.Contains(out.String(), tool) {
			t.Errorf("check shows no %s:\n%s", tool, &out)
		}
	}
}
