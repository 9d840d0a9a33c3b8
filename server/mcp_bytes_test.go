package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// What a model wrote reaches the host byte for byte, and every door gives the
// same result.
func TestBytesOfAProposal(t *testing.T) {
	d := newMCPDesk(t, "echoes_arguments")
	for _, arguments := range []string{
		`{}`, " {\t} ", `{ "text" : "a" }`, `{"text":"\u0061\/\"\\\ud83d\ude00\u2028<&>"}`, "{\"text\":\"\u2028\u00a0😀\"}",
		`{"number":1.0e2}`, `{"number":0.10}`, `{"number":1E+2,"big":-0.0}`, `{"big":12345678901234567890,"number":899.00}`,
		`{"number":9007199254740993}`, `{"big":123456789012345678901234567890.12345678901234567890}`,
		`{"text":"z","number":1,"big":2}`, `{"big":2,"text":"z","number":1}`,
		`{"text":""}`, `{"text":"\n\t\u0000"}`, `{"text":"` + strings.Repeat("ü", 1000) + `"}`,
	} {
		for _, written := range []string{arguments, strings.Replace(arguments, "{", `{"else":[1.0e2, 0.10 ,12345678901234567890,"\u0061"],`, 1)} {
			if !strings.Contains(arguments, ":") && written != arguments {
				continue // a comma would stand alone
			}
			lines := d.say(t, tom(), greeting+` { "params" : {"arguments": `+written+` , "name":"echoes_arguments"},"method":"tools/call","id":7,"jsonrpc":"2.0"}`+"\n")
			rec := last(t, d)
			direct := d.host.Call(t.Context(), tom(), host.Proposal{Tool: "echoes_arguments", Arguments: []byte(strings.TrimSpace(written))})
			directly := last(t, d)
			if rec.Raw != len(strings.TrimSpace(written)) || string(rec.Arguments.AppendJSON(nil)) != string(directly.Arguments.AppendJSON(nil)) || rec.Code != directly.Code {
				t.Errorf("%s\nthrough the door %d bytes, %s %s\ndirectly %s %s", written, rec.Raw, rec.Code, rec.Arguments.AppendJSON(nil), directly.Code, directly.Arguments.AppendJSON(nil))
			}
			if rec.State != host.OK && rec.Proposal != strings.TrimSpace(written) {
				t.Errorf("wrote %s\nthe record has %s", written, rec.Proposal)
			}
			if (rec.State == host.OK) != (written == arguments) {
				t.Errorf("%s ends as %s: %s", written, rec.State, rec.Reason)
			}
			var answer struct {
				Result struct {
					Content []struct{ Text string }
					IsError bool
				}
			}
			if err := json.Unmarshal([]byte(answerTo(t, lines, "7")), &answer); err != nil || len(answer.Result.Content) != 1 {
				t.Fatalf("%v in %q", err, lines)
			}
			if got := answer.Result.Content[0].Text; got != string(direct.Result) || answer.Result.IsError != (direct.State != host.OK) {
				t.Errorf("%s\nthrough the door %s\ndirectly %s", written, got, direct.Result)
			}
		}
	}
}

// Arguments that are left out are an empty object.
func TestArgumentsLeftOut(t *testing.T) {
	d := newMCPDesk(t, "echoes_arguments")
	lines := d.say(t, tom(), greeting+toolCall("7", `{"name":"echoes_arguments"}`)+"\n")
	if a := answerTo(t, lines, "7"); !strings.Contains(a, `"structuredContent":{"echo":{}}`) || last(t, d).Raw != 2 {
		t.Errorf("%s", a)
	}
}
