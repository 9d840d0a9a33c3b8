package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// answer puts all proposals into one message of a provider. OpenAI's form holds
// the arguments as a text, whatever it is; the others hold objects.
func (d *doors) answer(t *testing.T, as, form string) []told {
	t.Helper()
	carried := carriable()
	if form == "openai" {
		carried = nil
		for i := range doorProposals {
			carried = append(carried, i)
		}
	}
	calls := make([]string, len(carried))
	for i, at := range carried {
		calls[i] = providerCall(form, i, at)
	}
	message := map[string]string{
		"openai": `{"role":"assistant","tool_calls":[%s]}`, "anthropic": `{"role":"assistant","content":[%s]}`, "gemini": `{"role":"model","parts":[%s]}`,
	}[form]
	var stdout bytes.Buffer
	d.run(t, strings.NewReader(fmt.Sprintf(message, strings.Join(calls, ","))), &stdout, "answer", "--format", form, "--as", as)
	return spread(carried, d.pair(t, providerResults(t, stdout.Bytes())))
}

func providerCall(form string, id, at int) string {
	p := doorProposals[at]
	switch form {
	case "openai":
		text := strictjson.AppendString(nil, p.arguments)
		return fmt.Sprintf(`{"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}`, id, p.tool, text)
	case "anthropic":
		return fmt.Sprintf(`{"type":"tool_use","id":"call_%d","name":%q,"input":%s}`, id, p.tool, p.arguments)
	default:
		return fmt.Sprintf(`{"functionCall":{"id":"call_%d","name":%q,"args":%s}}`, id, p.tool, p.arguments)
	}
}

// providerResults gives the results in what is to be appended, whose ids must
// be those of the calls, in order.
func providerResults(t *testing.T, appended []byte) (results []string) {
	t.Helper()
	type part struct {
		ToolCallID       string `json:"tool_call_id"`
		ToolUseID        string `json:"tool_use_id"`
		Content          string
		FunctionResponse *struct {
			ID       string
			Response json.RawMessage
		}
	}
	var list []part
	if json.Unmarshal(appended, &list) != nil {
		var message struct{ Content, Parts []part }
		if err := json.Unmarshal(appended, &message); err != nil {
			t.Fatalf("%v in %s", err, appended)
		}
		list = append(message.Content, message.Parts...)
	}
	for i, p := range list {
		id, text := p.ToolCallID+p.ToolUseID, p.Content
		if p.FunctionResponse != nil {
			id, text = p.FunctionResponse.ID, string(p.FunctionResponse.Response)
		}
		if id != fmt.Sprintf("call_%d", i) {
			t.Errorf("answer %d has the id %q", i, id)
		}
		results = append(results, text)
	}
	return results
}
