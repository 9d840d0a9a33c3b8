package rules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The table of docs/rules.md is the language: every function of the library
// stands in it, and nothing else.
func TestDocumentedLanguage(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## The language")
	table, _, _ = strings.Cut(table, "\n- ")
	var written []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(table, -1) {
		written = append(written, strings.ReplaceAll(m[1], `\|`, "|"))
	}
	// What the compiler does before there is any function.
	there := []string{
		`date("2026-10-15")`, `timestamp("2026-10-15T09:00:00Z")`, `duration("36h")`, "has(args.reason)",
		"list.all(x, condition)", "list.exists(x, condition)", "list.exists_one(x, condition)", "list.sum(x, number)",
	}
	for _, f := range library() {
		if f.like != "" {
			there = append(there, f.like)
		}
	}
	for _, name := range there {
		if !slices.Contains(written, name) {
			t.Errorf("docs/rules.md lacks %s", name)
		}
	}
	for _, name := range written {
		if !slices.Contains(there, name) {
			t.Errorf("docs/rules.md has %s, which does not exist", name)
		}
	}
}
