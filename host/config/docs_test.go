package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readDocs(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The examples of docs/config.md are files that load.
func TestDocumentedExamplesLoad(t *testing.T) {
	var blocks []string
	for _, block := range strings.Split(readDocs(t, "config.md"), "```toml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 2 {
		t.Fatalf("docs/config.md has %d examples, want a config and a session", len(blocks))
	}
	config, err := Parse("config.toml", []byte(blocks[0]), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Tools) != 2 || len(config.Capabilities) != 2 || config.Directory == nil {
		t.Errorf("the example gives %+v", config)
	}
	if base := DefaultLimits(); config.Limits != base {
		t.Errorf("the example shows %+v, the defaults are %+v", config.Limits, base)
	}
	if base := DefaultSession(); config.Session != base {
		t.Errorf("the example shows %+v, the defaults are %+v", config.Session, base)
	}
	without, err := Parse("config.toml", nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, want := config.Audit, without.Audit
	got.Place, got.lines, want.Place, want.lines = Place{}, nil, Place{}, nil
	if !reflect.DeepEqual(got, want) || config.State != without.State {
		t.Errorf("the example shows %+v, %s, the defaults are %+v, %s", got, config.State, want, without.State)
	}
	session, err := ParseSession("session.toml", []byte(blocks[1]))
	if err != nil {
		t.Fatal(err)
	}
	if session.Role != "customer" || len(session.Attributes) != 2 {
		t.Errorf("the example gives %+v", session)
	}
}

// The faults that docs/config.md shows are those of its own example, misspelt.
// The examples of docs/capabilities.md are parts of files that load.
func TestExamplesOfTheCapabilities(t *testing.T) {
	blocks := strings.Split(readDocs(t, "capabilities.md"), "```toml\n")[1:]
	if len(blocks) != 3 {
		t.Fatalf("docs/capabilities.md has %d examples", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if _, err := Parse("config.toml", []byte(block), testOptions()); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
}

func TestDocumentedFaultsAreThoseOfTheExample(t *testing.T) {
	docs := readDocs(t, "config.md")
	_, example, _ := strings.Cut(docs, "```toml\n")
	example, after, _ := strings.Cut(example, "```")
	_, want, _ := strings.Cut(after, "```\n")
	want, _, _ = strings.Cut(want, "\n```")
	example = strings.NewReplacer("{session.customer}", "{session.custmer}", "orders = {", "order = {").Replace(example)
	if _, err := Parse("config.toml", []byte(example), Options{}); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nthe page has\n%s", err, want)
	}
}

// The codes that docs/capabilities.md says no else may be are those of docs/codes.md.
func TestDocumentedCodesOfTheHost(t *testing.T) {
	var want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(readDocs(t, "codes.md"), -1) {
		if !slices.Contains(want, row[1]) {
			want = append(want, row[1])
		}
	}
	_, sentence, _ := strings.Cut(readDocs(t, "capabilities.md"), "`else` may be none of the host's own [codes](codes.md): ")
	sentence, _, _ = strings.Cut(sentence, ".\n")
	var got []string
	for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(sentence, -1) {
		got = append(got, code[1])
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the page names %q, the table of codes %q", got, want)
	}
}
