package server

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// text is the one text of a result.
func text(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d contents", len(r.Content))
	}
	return r.Content[0].(*mcp.TextContent).Text
}

func call(t testing.TB, c *mcp.ClientSession, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func last(t testing.TB, d *mcpDesk) host.Record {
	t.Helper()
	records := d.recorder.Records()
	if len(records) == 0 {
		t.Fatal("nothing is recorded")
	}
	return records[len(records)-1]
}

// Every revision of the protocol that the official client speaks is served.
func TestEveryRevision(t *testing.T) {
	d := newMCPDesk(t, "get_order")
	for _, revision := range mcp.SupportedProtocolVersions() {
		t.Run(revision, func(t *testing.T) {
			c := d.connect(t, tom(), revision, nil)
			got := c.InitializeResult()
			if got.ProtocolVersion != revision || got.ServerInfo.Name != "toolhost" {
				t.Errorf("version %q of %q", got.ProtocolVersion, got.ServerInfo.Name)
			}
			if err := c.Ping(t.Context(), nil); err != nil {
				t.Errorf("ping: %v", err)
			}
			list, err := c.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 1 {
				t.Fatalf("%d tools, %v", len(list.Tools), err)
			}
			r := call(t, c, "get_order", `{"order_id":"LK-615204"}`)
			if r.IsError || !strings.HasPrefix(text(t, r), `{"ok":true,"order":`) {
				t.Errorf("%v %s", r.IsError, text(t, r))
			}
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "other"}); err == nil || !strings.Contains(err.Error(), host.WordsUnknownTool) {
				t.Errorf("an unknown tool: %v", err)
			}
		})
	}
}

// The list is what this role may call now, always in one order and without our
// own keywords.
func TestListOfARole(t *testing.T) {
	d := newMCPDesk(t, "search_notices", "read_file", "get_order", "repeats_secret")
	for _, c := range []struct {
		session host.Session
		want    []string
	}{
		{tom(), []string{"get_order", "repeats_secret"}},
		{sam(), []string{"get_order", "read_file"}},
		{alice(), []string{"search_notices"}},
		{host.Session{Role: "staff", Tenant: "larkfield", Subject: "usr-nobody"}, nil},
		{host.Session{Role: "visitor"}, nil},
	} {
		client, out := d.connectTapped(t, c.session, "", nil)
		for range 3 {
			list, err := client.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range list.Tools {
				got = append(got, tool.Name)
				if !tool.Annotations.ReadOnlyHint || tool.InputSchema == nil || tool.OutputSchema == nil {
					t.Errorf("%s: %+v", tool.Name, tool)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s is offered %v, want %v", c.session.Role, got, c.want)
			}
		}
		if said := strings.Join(out.lines(), "\n"); strings.Contains(said, "x-tidy") || strings.Contains(said, "x-words") || strings.Contains(said, "x-secret") {
			t.Errorf("our own keywords are in the list of %s", c.session.Role)
		}
	}
}

// The schemas that a client gets are those of the contract.
func TestListHasTheContract(t *testing.T) {
	d := newMCPDesk(t, "get_order")
	want := d.host.Tools(t.Context(), tom())[0]
	line := answerTo(t, d.say(t, tom(), greeting+`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n"), "1")
	for _, part := range []string{
		`"inputSchema":` + string(want.Input.AppendJSON(nil)), `"outputSchema":` + string(want.Output.AppendJSON(nil)),
		`"title":"Look up an order"`, `"readOnlyHint":true`,
	} {
		if !strings.Contains(line, part) {
			t.Errorf("%s\nhas no %s", line, part)
		}
	}
}

// A result's text is the host's, byte for byte; beside it stands the plugin's
// object, digits as they are.
func TestResultOfACall(t *testing.T) {
	d := newMCPDesk(t, "get_order", "read_file", "search_notices")
	for _, c := range []struct {
		session         host.Session
		tool, arguments string
		part            string // of the object
	}{
		{tom(), "get_order", `{"order_id":"LK-615204"}`, `"shipping_fee":0.10,"total":899.00,`},
		{sam(), "read_file", `{"path":"chairs.txt"}`, `"binary":false`},
		{alice(), "search_notices", `{"query":"读书会","published_from":null}`, `"D1"`},
	} {
		client, out := d.connectTapped(t, c.session, "", nil)
		r := call(t, client, c.tool, c.arguments)
		rec := last(t, d)
		if r.IsError || text(t, r) != string(rec.Result) || r.Meta[MetaCallID] != rec.CallID {
			t.Errorf("%s: error %v, text %s, meta %v\nrecord %s %s", c.tool, r.IsError, text(t, r), r.Meta, rec.CallID, rec.Result)
		}
		direct := d.host.Call(t.Context(), c.session, host.Proposal{Tool: c.tool, Arguments: []byte(c.arguments)})
		if text(t, r) != string(direct.Result) {
			t.Errorf("through the door %s\ndirectly %s", text(t, r), direct.Result)
		}
		object := strings.Replace(text(t, r), `"ok":true,`, "", 1)
		lines := out.lines()
		var answer struct {
			Result struct {
				StructuredContent json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(answer.Result.StructuredContent)) // the SDK escapes these
		if got != object || !strings.Contains(got, c.part) {
			t.Errorf("structuredContent %s\nwant %s", got, object)
		}
	}
}

// Refusals and failures are results too, in the model's words alone.
func TestResultThatIsNone(t *testing.T) {
	d := newMCPDesk(t, "get_order", "panics")
	c := d.connect(t, tom(), "", nil)
	for _, k := range []struct{ tool, arguments, want, code string }{
		{"get_order", `{"order_id":"LK-581106"}`, `{"ok":false,"error":"No order LK-581106 is available for this customer."}`, "other_customer"},
		{"get_order", `{"order_id":"LK-000000"}`, `{"ok":false,"error":"No order LK-000000 is available for this customer."}`, "not_found"},
		{"get_order", `{"order_id":"5"}`, `{"ok":false,"error":"order_id must be LK- or BB- followed by exactly 6 digits."}`, "invalid_argument"},
		{"panics", `{}`, `{"ok":false,"error":"The tool failed and gave no result."}`, "plugin_error"},
	} {
		r := call(t, c, k.tool, k.arguments)
		rec := last(t, d)
		if !r.IsError || text(t, r) != k.want || r.StructuredContent != nil || r.Meta[MetaCallID] != rec.CallID || rec.Code != k.code {
			t.Errorf("%s %s: %v %s %v %v, %s", k.tool, k.arguments, r.IsError, text(t, r), r.StructuredContent, r.Meta, rec.Code)
		}
	}
}

// Of a tool that is not there, one that the role may not use, and one that it
// uses wrongly, a client hears the same bytes (I7).
func TestUnknownToolSoundsLikeForbidden(t *testing.T) {
	d := newMCPDesk(t, "get_order", "read_file")
	var said, codes []string
	for _, params := range []string{
		`{"name":"refund_order","arguments":{"path":"chairs.txt"}}`,
		`{"name":"read_file","arguments":{"path":"chairs.txt"}}`,
		`{"name":"read_file","arguments":{"marker":5}}`,
		`{"name":"read_file","arguments":[]}`,
		`{"name":"read_file"}`,
		`{"name":"READ_FILE"}`,
		`{"name":""}`,
		`{"name":"` + strings.Repeat("marker", 20000) + `"}`,
	} {
		lines := d.say(t, tom(), greeting+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+"}\n")
		said, codes = append(said, answerTo(t, lines, "1")), append(codes, last(t, d).Code)
	}
	for i := range said {
		if said[i] != `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"There is no tool of that name."}}` {
			t.Errorf("%d: %s", i, said[i])
		}
	}
	want := []string{"unknown_tool", "forbidden", "invalid_argument", "invalid_argument", "invalid_argument", "unknown_tool", "unknown_tool", "unknown_tool"}
	if !reflect.DeepEqual(codes, want) {
		t.Errorf("the record has %v", codes)
	}
	if n := d.runs(); n != 0 || len(d.recorder.Records()) != len(want) {
		t.Errorf("%d guests, %d records", n, len(d.recorder.Records()))
	}
}
