package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// Every row of the table of codes has a script of its name, which sees the
// outcome line, and a line in docs/codes.md; and neither has more than the table.
func TestEveryCodeHasItsScriptAndItsLine(t *testing.T) {
	const docs = "../../docs/codes.md"
	raw, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(raw), "<!-- table -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- end of table -->\n")
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks the marks of its table", docs)
	}
	want := before + "<!-- table -->\n" + codeTable() + "<!-- end of table -->\n" + after
	switch {
	case want == string(raw):
	case *update:
		if err := os.WriteFile(docs, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not the table of host.Codes; run: go test ./cmd/toolhost -update", docs)
	}
	for _, c := range host.Codes() {
		file := filepath.Join("../../testdata/scripts", fmt.Sprintf("%s_%s.txtar", c.Gate, c.Name))
		script, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("code %s (%s) has no script: %v", c.Name, c.Gate, err)
			continue
		}
		line := fmt.Sprintf(`(?m)^stderr '\^%s: %s \\\(%s\\\)\$'$`, c.State, c.Name, c.Gate)
		if !regexp.MustCompile(line).Match(script) {
			t.Errorf("%s does not see the line %s: %s (%s)", file, c.State, c.Name, c.Gate)
		}
	}
}

func codeTable() string {
	var b strings.Builder
	b.WriteString("| code | gate | outcome | means | the same again? | who can change it | the model is told |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range host.Codes() {
		words := c.Words
		if words == "" {
			words = "(the contract's or the tool's own words)"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", c.Name, c.Gate, c.State, c.Means, c.Retry, c.Fix, words)
	}
	return b.String()
}
