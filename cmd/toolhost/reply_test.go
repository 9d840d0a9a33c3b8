package main

import (
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// docs/replies.md has every code that the host gives a rejection.
func TestReplyCodesAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/replies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range host.ReplyCodes() {
		gate := host.GateReply
		if code.Name == "audit_unavailable" {
			gate = host.GateAudit
		}
		if row := "| `" + code.Name + "` | " + gate.String() + " | " + code.Means + " |\n"; !strings.Contains(string(raw), row) {
			t.Errorf("docs/replies.md lacks %s", row)
		}
	}
}
