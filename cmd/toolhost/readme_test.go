package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Everything that the README shows is done here, in a copy of the checkout: a
// block after "`path`:" is written to that path, a console block is run, and
// what comes back must be what stands there. "..." stands for any lines, "…"
// for anything within one.
func TestReadme(t *testing.T) { testPage(t, "README.md", 7) }

// TestCapabilitiesPage is TestReadme for a page that goes on where the demo ends.
func TestCapabilitiesPage(t *testing.T) {
	testPage(t, "docs/capabilities.md", 7, "demo")
}

// TestApprovalsPage goes on where the demo ends, as an owner with a token.
func TestApprovalsPage(t *testing.T) { testPage(t, "docs/approvals.md", 5, "demo") }

// TestOperationsPage goes on where the demo ends.
func TestOperationsPage(t *testing.T) { testPage(t, "docs/operations.md", 9, "demo") }

// TestRepliesPage is TestReadme for a page that goes on where the demo ends.
func TestRepliesPage(t *testing.T) {
	testPage(t, "docs/replies.md", 2, "demo")
}

// TestConversationsPage is TestReadme for a page that goes on where the demo ends.
func TestConversationsPage(t *testing.T) {
	testPage(t, "docs/conversations.md", 1, "demo")
}

// testPage runs the commands of a page, at least so many, after others.
func testPage(t *testing.T, page string, least int, before ...string) {
	raw, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := copyCheckout("../..", dir); err != nil {
		t.Fatal(err)
	}
	block, shell := regexp.MustCompile("(?ms)(?:`([^`\n]+)`:\n\n)?^```(\\w*)\n(.*?)^```$"), &console{dir: dir}
	for _, command := range before {
		shell.run(t, "$ go run ./cmd/toolhost "+command+"\n...\n")
	}
	ran, snippets := 0, []string{}
	for _, m := range block.FindAllStringSubmatch(string(raw), -1) {
		path, language, text := m[1], m[2], m[3]
		switch {
		case path != "":
			writeFile(t, filepath.Join(dir, path), []byte(text))
		case language == "console":
			ran += shell.run(t, text)
		case language == "toml" && page != "docs/capabilities.md":
			linesOf(t, text, "../../config.toml")
		case language == "toml": // TestExamplesOfTheCapabilities loads it
		case language == "go":
			snippets = append(snippets, text)
		case language == "sh": // done by plugin_build_elsewhere.txtar; sqlite3 is no part of this
		case language == "": // a drawing
		default:
			t.Errorf("a %s block is neither a file nor a console:\n%s", language, text)
		}
	}
	vetSnippets(t, dir, snippets)
	if ran < least {
		t.Errorf("only %d commands were run", ran)
	}
}

// linesOf holds a part of a file that a page shows against the file.
func linesOf(t *testing.T, text, path string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if !strings.Contains("\n"+string(file), "\n"+line) {
			t.Errorf("%s has no line %q", path, line)
		}
	}
}

// vetSnippets compiles functions of a plugin that a page shows.
func vetSnippets(t *testing.T, dir string, snippets []string) {
	t.Helper()
	if len(snippets) == 0 {
		return
	}
	text := "package snippets\n\nimport (\n\t\"errors\"\n\n\t\"github.com/toolhost/toolhost/pdk\"\n)\n\nvar _ = errors.Is\n\n" + strings.Join(snippets, "\n")
	writeFile(t, filepath.Join(dir, "snippets", "snippets.go"), []byte(text))
	vet := exec.Command("go", "vet", "./snippets")
	vet.Dir = dir
	if said, err := vet.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, said)
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A console runs the commands that a page shows, in a folder. $ID in a command is
// the last approval that one of them has printed.
type console struct {
	dir   string
	newID string
}

var (
	typed     = regexp.MustCompile(`^(?:echo (\w+) \| )?(?:TOOLHOST_APPROVER_TOKEN=\$\(cat (\S+)\) )?go run \./cmd/toolhost (.*)$`)
	pendingID = regexp.MustCompile(`"pending":"([A-Z0-9]+)"`)
)

// run runs each "$ go run ./cmd/toolhost ..." of a block in this process.
func (c *console) run(t *testing.T, text string) int {
	t.Helper()
	ran := 0
	for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		m := typed.FindStringSubmatch(command)
		if m == nil {
			if command != "go test ./..." { // this test is part of it
				t.Errorf("the README runs %q, which nothing tests", command)
			}
			continue
		}
		env := map[string]string{}
		if m[2] != "" {
			token, err := os.ReadFile(filepath.Join(c.dir, m[2]))
			if err != nil {
				t.Error(err)
			}
			env[tokenVariable] = strings.TrimSpace(string(token))
		}
		var out bytes.Buffer
		typing := &cli{
			stdin: strings.NewReader(m[1] + "\n"), stdout: &out, stderr: &out, dir: c.dir,
			env:      func(name string) (string, bool) { v, ok := env[name]; return v, ok },
			terminal: func(io.Writer) bool { return false },
		}
		typing.run(context.Background(), words(strings.ReplaceAll(m[3], "$ID", c.newID)))
		if id := pendingID.FindStringSubmatch(out.String()); id != nil {
			c.newID = id[1]
		}
		// A cold compiler is waited for; a warm one says nothing.
		printed := regexp.MustCompile(`(?m)^.*still compiling after.*\n`).ReplaceAllString(out.String(), "")
		if pattern := patternOf(want); !regexp.MustCompile(pattern).MatchString(strings.TrimRight(printed, "\n")) {
			t.Errorf("$ %s\nprints\n%s\nthe README has\n%s", command, out.String(), want)
		}
		ran++
	}
	return ran
}

// words splits a command line as a shell does with single quotes.
func words(line string) []string {
	var out []string
	for _, word := range regexp.MustCompile(`(?:'[^']*'|[^\s'])+`).FindAllString(line, -1) {
		out = append(out, strings.ReplaceAll(word, "'", ""))
	}
	return out
}

func patternOf(want string) string {
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(want, "\n"), "\n") {
		if line == "..." {
			lines = append(lines, `(?s:.*)`)
		} else {
			lines = append(lines, strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
		}
	}
	return fmt.Sprintf(`\A%s\z`, strings.Join(lines, "\n"))
}
