package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/hosttest"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What the docs point to is there: every relative link, and every test,
// benchmark and fuzz target that they name, in the file that the link gives.
func TestDocsPointToWhatIsThere(t *testing.T) {
	sources := allTests(t)
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) < 5 {
		t.Fatalf("docs: %v %v", docs, err)
	}
	link := regexp.MustCompile(`\[([^\]]+)\]\(([^)#]+)(?:#[^)]*)?\)`)
	named := regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+`)
	for _, doc := range append(docs, "../../README.md") {
		raw, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(raw), -1) {
			if strings.Contains(m[2], "://") {
				continue
			}
			target := filepath.Join(filepath.Dir(doc), m[2])
			text, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", doc, err)
			} else if name := named.FindString(m[1]); name != "" && strings.HasSuffix(target, ".go") && !strings.Contains(string(text), "func "+name+"(") {
				t.Errorf("%s: %s is not in %s", doc, name, target)
			}
		}
		for _, name := range named.FindAllString(string(raw), -1) {
			if !strings.Contains(sources, "func "+name+"(") {
				t.Errorf("%s names %s, which is nowhere", doc, name)
			}
		}
	}
}

// allTests is the text of every test file.
func allTests(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		all.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// The examples of docs/commands.md are what the commands read and write.
func TestExamplesOfTheCommands(t *testing.T) {
	raw, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(json|toml)\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	if len(blocks) != 5 {
		t.Fatalf("%d examples", len(blocks))
	}
	shown, _ := strictjson.Read([]byte(blocks[0][2]), strictjson.Default(5000))
	made, _ := strictjson.Read(host.Outcome{Result: []byte("{}")}.AppendJSON(nil), strictjson.Default(5000))
	if a, b := keys(shown), keys(made); a == "" || a != b {
		t.Errorf("the outcome has %s, the docs %s", b, a)
	}
	if _, p, err := readProposal([]byte(blocks[1][2]), nil); err != nil || p.Tool != "get_order" || string(p.Arguments) != `{"order_id":"LK-581106"}` {
		t.Errorf("%v %s %v", p.Tool, p.Arguments, err)
	}
	if s, err := config.ParseSession("session.toml", []byte(blocks[2][2])); err != nil || s.Attributes["ticket"] != "T-80008" {
		t.Errorf("%v %v", s, err)
	}
	if a, b := allKeys(t, blocks[3][2]), allKeys(t, string(approvalJSON(host.Approval{Gone: true}))); a == "" || a != b {
		t.Errorf("an approval has %s, the docs %s", b, a)
	}
	_, over, _ := strings.Cut(strings.TrimSpace(blocks[3][2]), `"shown":`)
	if sum := sha256.Sum256([]byte(strings.TrimSuffix(over, "}"))); !strings.Contains(blocks[3][2], `"digest":"sha256:`+hex.EncodeToString(sum[:])+`"`) {
		t.Errorf("the digest of what is shown there is sha256:%x", sum)
	}
	if made := inspected(t, "get_order"); masked(blocks[4][2]) != masked(made) {
		t.Errorf("plugin inspect gives\n%sand the docs show\n%s", made, blocks[4][2])
	}
}

// inspected is what plugin inspect --json says of a plugin of the repository.
func inspected(t *testing.T, name string) string {
	t.Helper()
	guest, err := hosttest.Build("../..", name)
	if err != nil {
		t.Fatal(err)
	}
	dir, out := t.TempDir(), &bytes.Buffer{}
	writeFile(t, filepath.Join(dir, "plugins", name, host.ModuleFile), guest.Module)
	c := &cli{stdin: strings.NewReader(""), stdout: out, stderr: io.Discard, dir: dir}
	if code := c.run(t.Context(), []string{"plugin", "inspect", "plugins/" + name, "--json"}); code != exitOK {
		t.Fatalf("exit status %d", code)
	}
	return out.String()
}

// masked leaves out what changes with the version of Go.
func masked(text string) string {
	text = regexp.MustCompile(`sha256:[0-9a-f]{64}`).ReplaceAllString(text, "sha256:...")
	return regexp.MustCompile(`:[0-9]+`).ReplaceAllString(text, ":N")
}

func keys(v strictjson.Value) string {
	var out []string
	for name, child := range v.Members() {
		out = append(out, name)
		if name == "usage" {
			out = append(out, keys(child))
		}
	}
	return strings.Join(out, " ")
}

// allKeys are the members of an object, those of what is in it left out.
func allKeys(t *testing.T, text string) string {
	t.Helper()
	v, err := strictjson.Read([]byte(strings.TrimSpace(text)), strictjson.Default(5000))
	if err != nil {
		t.Error(err)
	}
	var out []string
	for name := range v.Members() {
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// Every command has its line or its heading in docs/commands.md, and every
// command that stands there exists.
func TestDocumentedCommands(t *testing.T) {
	raw, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	there := []string{"completion"} // cobra adds it when a command line is run
	for _, cmd := range leaves((&cli{}).root()) {
		name := strings.TrimPrefix(cmd.CommandPath(), "toolhost ")
		there = append(there, name)
		if !regexp.MustCompile("(?m)^(?:## " + name + "$|\\| `" + name + "[ `])").Match(raw) {
			t.Errorf("docs/commands.md has no row or heading of %q", name)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z][a-z ]*[a-z])(?: [A-Z-][^`]*)?` \\| .* \\| [0-9][^|]* \\|$").FindAllStringSubmatch(string(raw), -1)
	for _, row := range rows {
		if !slices.Contains(there, row[1]) {
			t.Errorf("docs/commands.md has a command %q, which does not exist", row[1])
		}
	}
	if len(rows) < 20 {
		t.Errorf("only %d rows were seen", len(rows))
	}
}

// leaves are the commands that do something themselves.
func leaves(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			list = append(list, leaves(sub)...)
		}
	}
	if len(cmd.Commands()) == 0 {
		list = append(list, cmd)
	}
	return list
}

// The commands that docs/commands.md says refuse an approver's token do, and no
// others.
func TestDocumentedTokenRefusals(t *testing.T) {
	raw, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "While `"+tokenVariable+"` is set, ")
	_, list, _ = strings.Cut(list, ": ")
	list, _, _ = strings.Cut(list, ".\n")
	for _, cmd := range leaves((&cli{}).root()) {
		name := strings.TrimPrefix(cmd.CommandPath(), "toolhost ")
		if written, refuses := strings.Contains(list, "`"+name+"`"), refusesToken(t, strings.Fields(name)); written != refuses {
			t.Errorf("%s refuses an approver's token: %v, docs/commands.md says %v", name, refuses, written)
		}
	}
}

// refusesToken tries a command with none to two arguments, in an empty folder.
func refusesToken(t *testing.T, command []string) bool {
	t.Helper()
	for _, with := range [][]string{nil, {"x"}, {"x", "x"}, {"--format", "openai"}} {
		var told bytes.Buffer
		c := &cli{
			stdin: strings.NewReader(""), stdout: io.Discard, stderr: &told, dir: t.TempDir(), terminal: func(io.Writer) bool { return false },
			env: func(name string) (string, bool) { return "a-token-of-somebody", name == tokenVariable },
		}
		if code := c.run(t.Context(), append(slices.Clone(command), with...)); code == exitUsage && strings.Contains(told.String(), tokenVariable+" is set") {
			return true
		}
	}
	return false
}
