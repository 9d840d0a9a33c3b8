package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
)

// doorProposals are what models write, lawful and not. Some are no JSON, which
// only the doors that take a text can carry.
var doorProposals = []struct{ tool, arguments string }{
	{"get_order", `{"order_id":"LK-581106"}`},
	{"get_order", `{"order_id":"LK-615204"}`},
	{"get_order", `{"order_id":"LK-702219"}`},
	{"get_order", `{"order_id":"BB-310004"}`},
	{"get_order", `{"order_id":"LK-999999"}`},
	{"get_order", `{ "order_id" : "LK-581106" }`},
	{"get_order", `{"order_id":"LK\u002d581106"}`},
	{"get_order", `{"order_id":"lk-581106"}`},
	{"get_order", `{"order_id":"LK-581106 "}`},
	{"get_order", `{"order_id":581106}`},
	{"get_order", `{"order_id":1e400}`},
	{"get_order", `{"order_id":["LK-581106"]}`},
	{"get_order", `{"order_id":null}`},
	{"get_order", `{"order_id":"LK-581106","customer":"C-81265"}`},
	{"get_order", `{"Order_id":"LK-581106"}`},
	{"get_order", `{}`},
	{"get_order", `[]`},
	{"get_order", `null`},
	{"get_order", `"LK-581106"`},
	{"get_order", `12345678901234567890`},
	{"get_order", ``},
	{"get_order", `{"order_id":"LK-581106"}{"order_id":"LK-615204"}`},
	{"get_order", `{"order_id":"LK-581106","order_id":"LK-615204"}`},
	{"get_order", `{"order_id":"LK-58`},
	{"get_order", `{"order_id":NaN}`},
	{"read_file", `{"path":"chairs.txt"}`},
	{"read_file", `{"path":"../T-24129/letter.txt"}`},
	{"fetch_url", `{"url":"http://169.254.169.254/latest/meta-data/"}`},
	{"Get_Order", `{"order_id":"LK-581106"}`},
	{"no_such_tool", `{"x":[1,2,{"y":0.10}]}`},
}

// The sessions of TestDoorsDecideAlike: a hundred and twenty proposals in all.
var doorSessions = []string{
	"role=customer,tenant=larkfield,customer=C-81265,ticket=T-80008",
	"role=customer,tenant=larkfield",
	"role=staff,tenant=larkfield,subject=usr-sam,customer=C-31186,ticket=T-24011",
	"role=visitor",
}

// told is what one door gave for one proposal, and what the record has of it.
type told struct{ result, record string }

// Every door gives the same outcome, gate, code, words and record for a
// proposal, however it came.
func TestDoorsDecideAlike(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "modules")
	for n, as := range doorSessions {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			d := &doors{dir: demoDesk(t, "get_order", "read_file", "fetch_url"), cache: cache}
			direct := d.direct(t, as)
			for door, got := range map[string][]told{
				"call": d.call(t, as, n), "jsonl": d.jsonl(t, as), "mcp": d.mcp(t, as),
				"openai": d.answer(t, as, "openai"), "anthropic": d.answer(t, as, "anthropic"), "gemini": d.answer(t, as, "gemini"),
			} {
				for i, p := range doorProposals {
					// What is no strict JSON, only the doors of texts can carry.
					if got[i] != direct[i] && (got[i] != told{} || door != "call" && slices.Contains(carriable(), i)) {
						t.Errorf("%s, %s %s:\n%+v\nwithout a door:\n%+v", door, p.tool, p.arguments, got[i], direct[i])
					}
				}
			}
		})
	}
}

// doors is a desk that each door opens.
type doors struct {
	dir, cache string
	records    *host.MemoryRecorder
}

// run runs a command line and gives its stdout.
func (d *doors) run(t *testing.T, stdin io.Reader, stdout io.Writer, args ...string) {
	t.Helper()
	d.records = host.NewMemoryRecorder(1000)
	var said bytes.Buffer
	c := &cli{
		stdin: stdin, stdout: stdout, stderr: &said, dir: d.dir,
		env: func(name string) (string, bool) {
			if name == "TOOLHOST_CACHE" {
				return d.cache, true
			}
			return "", false
		},
		recorder: func() host.Recorder { return d.records },
		terminal: func(io.Writer) bool { return false },
	}
	if code := c.run(context.Background(), args); code == exitHost || code == exitUsage {
		t.Fatalf("toolhost %s: exit status %d\n%s", strings.Join(args, " "), code, said.String())
	}
}

// recorded is what does not change from door to door.
func recorded(r host.Record) string {
	b := fmt.Appendf(nil, "%s %s %s %s %q %q raw=%d %s", r.Tool, r.State, r.Gate, r.Code, r.Reason, r.Field, r.Raw, r.Proposal)
	b = r.Arguments.AppendJSON(append(b, ' '))
	for _, a := range r.Answers {
		b = fmt.Appendf(b, " %s=%s", a.Gate, a.Verdict)
	}
	for _, u := range r.Uses {
		b = fmt.Appendf(b, " %s:%s", u.Function, u.Status)
	}
	return string(b)
}

// pair gives each result with its record; both are in order.
func (d *doors) pair(t *testing.T, results []string) []told {
	t.Helper()
	records := d.records.Records()
	if len(records) != len(results) {
		t.Fatalf("%d records of %d results", len(records), len(results))
	}
	out := make([]told, len(results))
	for i := range results {
		out[i] = told{result: results[i], record: recorded(records[i])}
	}
	return out
}

// spread puts what a door gave to the places of the proposals that it carried.
func spread(carried []int, got []told) []told {
	out := make([]told, len(doorProposals))
	for i, at := range carried {
		out[at] = got[i]
	}
	return out
}

func (d *doors) direct(t *testing.T, as string) []told {
	t.Helper()
	pairs, err := flatPairs(as)
	if err != nil {
		t.Fatal(err)
	}
	session, err := config.ParseFlat(pairs)
	if err != nil {
		t.Fatal(err)
	}
	s := sessionOf(session)
	d.records = host.NewMemoryRecorder(1000)
	h, err := host.Open(t.Context(), filepath.Join(d.dir, standardConfig), host.Options{Recorder: d.records, Cache: d.cache})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var results []string
	for _, p := range doorProposals {
		results = append(results, string(h.Call(t.Context(), s, host.Proposal{Tool: p.tool, Arguments: []byte(p.arguments)}).Result))
	}
	return d.pair(t, results)
}

// call loads the config for each proposal. Each is called in one of the
// sessions; with TOOLHOST_NIGHTLY=1 in all of them.
func (d *doors) call(t *testing.T, as string, session int) (out []told) {
	t.Helper()
	for i, p := range doorProposals {
		if i%len(doorSessions) != session && os.Getenv("TOOLHOST_NIGHTLY") == "" {
			out = append(out, told{})
			continue
		}
		var stdout bytes.Buffer
		d.run(t, strings.NewReader(p.arguments), &stdout, "call", p.tool, "-", "--as", as)
		out = append(out, d.pair(t, []string{strings.TrimSuffix(stdout.String(), "\n")})...)
	}
	return out
}

func (d *doors) jsonl(t *testing.T, as string) []told {
	t.Helper()
	var in, stdout bytes.Buffer
	for _, p := range doorProposals {
		in.Write(strictjson.AppendString([]byte(`{"tool":`), p.tool))
		in.Write(append(strictjson.AppendString([]byte(`,"arguments":`), p.arguments), "}\n"...))
	}
	d.run(t, &in, &stdout, "call", "--jsonl", "--as", as)
	var results []string
	for line := range strings.Lines(stdout.String()) {
		v, err := strictjson.Read([]byte(strings.TrimSpace(line)), strictjson.Default(len(line)))
		if err != nil {
			t.Fatal(err)
		}
		result, _ := v.Get("result")
		results = append(results, string(result.AppendJSON(nil)))
	}
	return d.pair(t, results)
}

// carriable gives the proposals whose arguments a message can hold as JSON.
func carriable() (carried []int) {
	for i, p := range doorProposals {
		if _, err := strictjson.Read([]byte(p.arguments), strictjson.Default(len(p.arguments))); err == nil {
			carried = append(carried, i)
		}
	}
	return carried
}

func (d *doors) mcp(t *testing.T, as string) []told {
	t.Helper()
	requests, toServer := io.Pipe()
	fromServer, answers := io.Pipe()
	carried, results := carriable(), []string{}
	go func() {
		defer toServer.Close()
		lines := bufio.NewScanner(fromServer)
		lines.Buffer(nil, 1<<20)
		ask := func(line string) string {
			fmt.Fprintln(toServer, line)
			lines.Scan()
			return lines.Text()
		}
		ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		for id, at := range carried {
			p := doorProposals[at]
			results = append(results, mcpText(ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id+1, p.tool, p.arguments))))
		}
	}()
	d.run(t, requests, answers, "serve", "--as", as)
	return spread(carried, d.pair(t, results))
}

// mcpText is the result in an answer; the protocol's own error stands for the
// words of a tool that is not there.
func mcpText(line string) string {
	var a struct {
		Result struct{ Content []struct{ Text string } }
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		return err.Error()
	}
	if a.Error != nil {
		return string(append(strictjson.AppendString([]byte(`{"ok":false,"error":`), a.Error.Message), '}'))
	}
	return a.Result.Content[0].Text
}
