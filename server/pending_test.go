package server

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What waits for a person is no error to a model, and no result either.
func TestPendingIsNoError(t *testing.T) {
	waits := host.Outcome{State: host.Pending, Result: []byte(`{"ok":false,"pending":"7Q2MXK4PTD6WHL3A","note":"A person must agree first."}`)}
	if r := mcpResult(waits); r.IsError || r.StructuredContent != nil || text(t, r) != string(waits.Result) {
		t.Errorf("MCP: error %v, structured %v, %s", r.IsError, r.StructuredContent, text(t, r))
	}
	if a := string(anthropicAnswer([]FormCall{{ID: "call_1"}}, []host.Outcome{waits})); strings.Contains(a, "is_error") {
		t.Errorf("anthropic: %s", a)
	}
	object, err := strictjson.Read([]byte(`{"type":"object"}`), strictjson.Default(100))
	if err != nil {
		t.Fatal(err)
	}
	if listed := mcpTool(host.Tool{Name: "issue_refund", Effect: "write", Input: object, Output: object}); listed.OutputSchema != nil || listed.Annotations.ReadOnlyHint {
		t.Errorf("listed as %+v, read-only %v", listed, listed.Annotations.ReadOnlyHint)
	}
}
