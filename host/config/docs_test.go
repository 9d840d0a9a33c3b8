package config

import (
	"os"
	"strings"
	"testing"
)

// The examples of docs/config.md are files that load.
func TestDocumentedExamplesLoad(t *testing.T) {
	data, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, block := range strings.Split(string(data), "```toml\n")[1:] {
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
	session, err := ParseSession("session.toml", []byte(blocks[1]))
	if err != nil {
		t.Fatal(err)
	}
	if session.Role != "customer" || len(session.Attributes) != 2 {
		t.Errorf("the example gives %+v", session)
	}
}
