// Package hosttest holds what the tests of several packages share. Nothing of
// the product imports it.
package hosttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/goplugin"
)

// A Guest is a plugin of the repository that was built.
type Guest struct{ Module, Contract []byte }

// built holds each plugin that this process has built.
var built sync.Map // folder -> func() (Guest, error)

// Build builds plugins/NAME, plugins/hostile/NAME or plugins/conformance/NAME of
// the repository at root, once in a process.
func Build(root, name string) (Guest, error) {
	folder := filepath.Join(root, "plugins", name)
	for _, group := range []string{"hostile", "conformance"} {
		if _, err := os.Stat(folder); err == nil {
			break
		}
		folder = filepath.Join(root, "plugins", group, name)
	}
	build, _ := built.LoadOrStore(folder, sync.OnceValues(func() (Guest, error) { return build(folder) }))
	return build.(func() (Guest, error))()
}

func build(folder string) (g Guest, err error) {
	dir, err := os.MkdirTemp("", "toolhost-guest")
	if err != nil {
		return g, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "plugin.wasm")
	if said, err := goplugin.Build(context.Background(), folder, out); err != nil {
		return g, fmt.Errorf("build %s: %w\n%s", folder, err, said)
	}
	if g.Module, err = os.ReadFile(out); err != nil {
		return g, err
	}
	g.Contract, err = os.ReadFile(filepath.Join(folder, "contract.json"))
	return g, err
}

var header = regexp.MustCompile(`^\[\[?([^\]]*)\]`)

// Replies is the name that OnlyTools takes to leave the forms of final answers.
const Replies = "replies"

// OnlyTools empties the lines of all tools but these in the text of a config,
// so that every line keeps its number. The forms of final answers go too, unless
// Replies is among the names: they need their tools and their schemas.
func OnlyTools(config string, names ...string) string {
	lines, out := strings.Split(config, "\n"), false
	for i, line := range lines {
		if m := header.FindStringSubmatch(line); m != nil {
			tool, isTool := strings.CutPrefix(m[1], "tools.")
			tool, _, _ = strings.Cut(tool, ".")
			out = isTool && !slices.Contains(names, tool) ||
				strings.HasPrefix(m[1], "replies.") && !slices.Contains(names, Replies)
		}
		if out {
			lines[i] = ""
		}
	}
	blankUnreadValues(lines)
	onlyCalledRoles(lines)
	return strings.Join(lines, "\n")
}

// blankUnreadValues empties each [values.X] that no rule names any more: a
// value that nobody reads does not load.
func blankUnreadValues(lines []string) {
	all, unread := strings.Join(lines, "\n"), false
	for i, line := range lines {
		if m := header.FindStringSubmatch(line); m != nil {
			unread = strings.HasPrefix(m[1], "values.") && strings.Count(all, m[1]) == 1
		}
		if unread {
			lines[i] = ""
		}
	}
}

var quotedName = regexp.MustCompile(`"[a-z_]+"`)

// onlyCalledRoles takes roles out of [directory] that no tool names any more: one
// that decides nothing does not load.
func onlyCalledRoles(lines []string) {
	called := map[string]bool{}
	for _, line := range lines {
		if strings.HasPrefix(line, "callers = ") || strings.HasPrefix(line, "approve = ") {
			for _, role := range quotedName.FindAllString(line, -1) {
				called[role] = true
			}
		}
	}
	directory := false
	for i, line := range lines {
		if m := header.FindStringSubmatch(line); m != nil {
			directory = m[1] == "directory"
		}
		if !directory || !strings.HasPrefix(line, "roles = ") {
			continue
		}
		roles := slices.DeleteFunc(quotedName.FindAllString(line, -1), func(role string) bool { return !called[role] })
		lines[i] = "roles = [" + strings.Join(roles, ", ") + "]"
		if len(roles) == 0 { // one of no roles does not load either
			lines[i-3], lines[i-2], lines[i-1], lines[i] = "", "", "", ""
		}
	}
}

// WideBounds gives a config with as wide bounds of sessions as there may be, for
// a test that asks a great deal as one person.
func WideBounds(config string) string {
	before, _, _ := strings.Cut(config, "[session]")
	return before + "[session]\nsteps = 100_000\nrepeats = 10_000\nrefusals = { count = 1000, within = \"1s\" }\n"
}
