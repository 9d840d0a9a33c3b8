package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// A badLine is no message, or none that this server takes.
type badLine struct {
	rule string
	line string
	code int    // of the JSON-RPC error; 0: there is no answer
	id   string // in the answer
}

// ping is asked after every line.
const ping = `{"jsonrpc":"2.0","id":"after","method":"ping"}` + "\n"

// Of what is no message no tool hears; it is recorded once, with a reason, and
// the server goes on. What it answers holds nothing of what it got.
func TestLinesThatAreNoMessage(t *testing.T) {
	d := newMCPDesk(t, "echoes_arguments")
	for _, rows := range [][]badLine{badEnvelopes(), badNames(), badText(), badIDs(), badParams(), badParamsOfEachMethod(), badForTheSDK()} {
		for _, row := range rows {
			t.Run(row.rule, func(t *testing.T) { d.refuses(t, greeting, row) })
		}
	}
	for _, row := range badBeforeInitialize() {
		t.Run("before initialize/"+row.rule, func(t *testing.T) { d.refuses(t, "", row) })
	}
	if n := d.runs(); n != 0 {
		t.Errorf("%d guests", n)
	}
}

func (d *mcpDesk) refuses(t *testing.T, before string, row badLine) {
	t.Helper()
	records := len(d.recorder.Records())
	lines := d.say(t, tom(), before+row.line+"\n"+ping)
	if answerTo(t, lines, `"after"`) != `{"jsonrpc":"2.0","id":"after","result":{}}` {
		t.Errorf("the ping afterwards is not answered: %.300q", lines)
	}
	added := d.recorder.Records()[records:]
	if len(added) != 1 || added[0].State != host.Refused || added[0].Code != "invalid_argument" || len(added[0].Reason) <= len("no proposal: ") {
		t.Errorf("recorded: %+v", added)
	}
	var errs []string
	for _, line := range lines {
		if strings.Contains(line, `"error":`) {
			errs = append(errs, line)
		}
	}
	if row.code == 0 && len(errs) == 0 {
		return
	}
	if len(errs) != 1 || !strings.HasPrefix(errs[0], fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"`, row.id, row.code)) {
		t.Errorf("answers %.500q, want code %d to %s", errs, row.code, row.id)
	}
	if said := strings.Join(errs, ""); strings.Contains(said, "marker") || len(said) > 1000 {
		t.Errorf("the answer quotes: %.300s", said)
	}
}

// What fits the protocol is a proposal, and the host's to refuse, in the words
// of the contract.
func TestArgumentsThatTheHostRefuses(t *testing.T) {
	d := newMCPDesk(t, "echoes_arguments")
	for _, c := range []struct{ rule, arguments, want string }{
		{"null", `null`, "The arguments of echoes_arguments must be one JSON object."},
		{"a list", `[]`, "The arguments of echoes_arguments must be one JSON object."},
		{"a text", `"{}"`, "The arguments of echoes_arguments must be one JSON object."},
		{"an empty text", `""`, "The arguments of echoes_arguments must be one JSON object."},
		{"a number", `5`, "The arguments of echoes_arguments must be one JSON object."},
		{"another name", `{"Text":"x"}`, ""},
		{"32 deep", `{"text":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`, "text must be a text."},
		{"64 KiB", `{"text":"` + strings.Repeat("x", 64<<10) + `"}`, "The arguments of echoes_arguments are longer than 16384 characters."},
		{"10 MiB", `{"text":"` + strings.Repeat("x", 10<<20) + `"}`, "The arguments of echoes_arguments are longer than 16384 characters."},
	} {
		t.Run(c.rule, func(t *testing.T) {
			records := len(d.recorder.Records())
			lines := d.say(t, tom(), greeting+toolCall("7", `{"name":"echoes_arguments","arguments":`+c.arguments+`}`)+"\n"+ping)
			if answerTo(t, lines, `"after"`) == "" {
				t.Error("the ping afterwards is not answered")
			}
			added := d.recorder.Records()[records:]
			if len(added) != 1 || added[0].Gate != host.GateContract || added[0].Code != "invalid_argument" || added[0].Raw != len(c.arguments) {
				t.Fatalf("recorded: %d %+v", len(added), added)
			}
			quoted, _ := json.Marshal(string(added[0].Result))
			if a := answerTo(t, lines, "7"); !strings.Contains(a, string(quoted)) || !strings.Contains(a, `"isError":true`) {
				t.Errorf("answer %.300s", a)
			}
			if c.want != "" && string(added[0].Result) != `{"ok":false,"error":"`+c.want+`"}` {
				t.Errorf("result %.300s", added[0].Result)
			}
		})
	}
	if n := d.runs(); n != 0 {
		t.Errorf("%d guests", n)
	}
}

// Two requests of one id at once: one runs, and nothing that a client could
// take for its answer says that it was refused.
func TestOneIDTwiceAtOnce(t *testing.T) {
	d := newMCPDesk(t, "loops")
	line := toolCall("7", `{"name":"loops"}`) + "\n"
	lines := d.say(t, tom(), greeting+line+line+`{"jsonrpc":"2.0","id":7,"method":"ping","Method":"x"}`+"\n"+ping)
	if a := answerTo(t, lines, "7"); !strings.Contains(a, "The tool took too long and was stopped.") {
		t.Errorf("%q", lines)
	}
	if n := strings.Count(strings.Join(lines, "\n"), `"id":null,"error":`); n != 2 || d.runs() != 1 || len(d.recorder.Records()) != 3 {
		t.Errorf("%d refusals, %d guests, %d records", n, d.runs(), len(d.recorder.Records()))
	}
	lines = d.say(t, tom(), greeting+`{"jsonrpc":"2.0","id":8,"method":"ping"}`+"\n"+ping)
	if answerTo(t, lines, "8") == "" {
		t.Error("an id cannot be used again")
	}
}

// Lines end as a client's system ends them.
func TestEndsOfLines(t *testing.T) {
	d := newMCPDesk(t, "echoes_arguments")
	input := strings.ReplaceAll(greeting+"\n"+toolCall("7", `{"name":"echoes_arguments","arguments":{"text":"x"}}`)+"\n\n", "\n", "\r\n")
	lines := d.say(t, tom(), input+ping)
	if a := answerTo(t, lines, "7"); !strings.Contains(a, `"structuredContent":{"echo":{"text":"x"}}`) || len(lines) != 3 {
		t.Errorf("%q", lines)
	}
	if n := len(d.recorder.Records()); n != 1 {
		t.Errorf("%d records", n)
	}
}

// A message whose line does not end is none: it may be half of one.
func TestHalfALine(t *testing.T) {
	d := newMCPDesk(t, "echoes_arguments")
	whole := toolCall("7", `{"name":"echoes_arguments","arguments":{"text":"marker"}}`)
	for _, half := range []string{whole, whole[:40], whole[:1]} {
		lines := d.say(t, tom(), greeting+half)
		if len(lines) != 2 || !strings.Contains(lines[0]+lines[1], `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the input ends within the line"}}`) {
			t.Errorf("%q", lines)
		}
	}
	if len(d.recorder.Records()) != 3 || d.runs() != 0 {
		t.Errorf("%d records, %d guests", len(d.recorder.Records()), d.runs())
	}
}
