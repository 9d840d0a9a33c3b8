package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// wait waits for what comes soon.
func wait(t testing.TB, what string, is func() bool) {
	t.Helper()
	for range 500 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not come", what)
}

// What a guest reports reaches the client under its own token, where it grows.
func TestProgress(t *testing.T) {
	d := newMCPDesk(t, "reports_progress")
	for _, token := range []any{"token \u2028", int64(1) << 53, int64(0)} {
		var mu sync.Mutex
		var got []string
		c := d.connect(t, tom(), "", &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%v %v/%v", r.Params.ProgressToken, r.Params.Progress, r.Params.Total))
		}})
		p := &mcp.CallToolParams{Name: "reports_progress", Arguments: map[string]any{"steps": 3, "pause_ms": 0}}
		p.Meta = mcp.Meta{"progressToken": token}
		r, err := c.CallTool(t.Context(), p)
		if err != nil || r.IsError {
			t.Fatalf("%v %v %s", err, r, last(t, d).Reason)
		}
		shown, ok := token.(int64)
		name := fmt.Sprint(token)
		if ok {
			name = fmt.Sprint(float64(shown)) // so the client reads it
		}
		want := []string{name + " 1/3", name + " 2/3", name + " 3/3"}
		wait(t, "the last progress", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= len(want) })
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	}
	c, out := d.connectTapped(t, tom(), "", nil)
	call(t, c, "reports_progress", `{"steps":3,"pause_ms":0}`)
	if slices.ContainsFunc(out.lines(), func(line string) bool { return strings.Contains(line, "notifications/progress") }) {
		t.Error("progress without a token")
	}
}

// A client that cancels stops the guest; the server goes on.
func TestCancelStopsTheGuest(t *testing.T) {
	d := newMCPDesk(t, "reports_progress")
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		began := make(chan struct{}, 100)
		c := d.connect(t, tom(), revision, &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { began <- struct{}{} }})
		ctx, cancel := context.WithCancel(t.Context())
		p := &mcp.CallToolParams{Name: "reports_progress", Arguments: map[string]any{"steps": 1, "pause_ms": 10000}}
		p.Meta = mcp.Meta{"progressToken": "x"}
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, p)
			done <- err
		}()
		select {
		case <-began:
		case err := <-done:
			t.Fatalf("the guest does not begin: %v", err)
		}
		before := len(d.recorder.Records())
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the client says %v", err)
		}
		wait(t, "the record", func() bool { return len(d.recorder.Records()) > before })
		if rec := last(t, d); rec.Code != "cancelled" || rec.State != host.Failed { // one that was waited for has ended by its deadline
			t.Errorf("%s %s", rec.State, rec.Code)
		}
		if r := call(t, c, "reports_progress", `{"steps":0,"pause_ms":0}`); r.IsError {
			t.Errorf("afterwards: %s", text(t, r))
		}
	}
}

// Calls side by side get each its own answer.
func TestSideBySide(t *testing.T) {
	d := newMCPDesk(t, "echoes_arguments")
	c := d.connect(t, tom(), "", nil)
	const calls = 60
	ids := make([]any, calls)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "echoes_arguments", Arguments: json.RawMessage(fmt.Sprintf(`{"number":%d}`, i))})
			if err != nil || text(t, r) != fmt.Sprintf(`{"ok":true,"echo":{"number":%d}}`, i) {
				t.Errorf("%d: %v %v", i, err, r)
				return
			}
			ids[i] = r.Meta[MetaCallID]
		})
	}
	all.Wait()
	records := d.recorder.Records()
	loop := map[string]bool{}
	for _, rec := range records {
		loop[rec.Session.ID] = true
		if !slices.Contains(ids, any(rec.CallID)) {
			t.Errorf("no client knows call %s", rec.CallID)
		}
	}
	if len(records) != calls || len(loop) != 1 || loop[""] {
		t.Errorf("%d records of loops %v", len(records), loop)
	}
}

// A role that is taken away is gone at once; the client is told.
func TestRoleIsTakenAway(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			d := newMCPDesk(t, "get_order", "read_file")
			changed := make(chan struct{}, 10)
			c := d.connect(t, sam(), revision, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
			if r := call(t, c, "read_file", `{"path":"chairs.txt"}`); r.IsError {
				t.Fatal(text(t, r))
			}
			d.sql(t, "desk.db", "DELETE FROM people")
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: json.RawMessage(`{"path":"chairs.txt"}`)}); err == nil || !strings.Contains(err.Error(), host.WordsUnknownTool) {
				t.Errorf("afterwards: %v", err)
			}
			if rec := last(t, d); rec.Code != "forbidden" || rec.Started {
				t.Errorf("%s, started: %t", rec.Code, rec.Started)
			}
			select {
			case <-changed:
			case <-time.After(20 * time.Second):
				t.Error("the client is not told")
			}
			if list, err := c.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 0 {
				t.Errorf("%v %v", list, err)
			}
			d.sql(t, "desk.db", "INSERT INTO people VALUES ('usr-sam', 'larkfield', 'staff')")
			for tools := 0; tools != 2; { // a notification may still be one of the taking away
				select {
				case <-changed:
				case <-time.After(20 * time.Second):
					t.Fatal("the client is not told that they are back")
				}
				list, err := c.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				tools = len(list.Tools)
			}
		})
	}
}

// What a guest prints is no line of the protocol.
func TestGuestCannotWriteToTheProtocol(t *testing.T) {
	d := newMCPDesk(t, "writes_stdout")
	lines := d.say(t, tom(), greeting+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"writes_stdout"}}`+"\n")
	if len(lines) != 2 || !strings.Contains(answerTo(t, lines, "1"), `{\"ok\":true,\"text\":\"done\"}`) {
		t.Errorf("%d lines: %.500q", len(lines), lines)
	}
}

// When the input ends, what was asked is answered.
func TestEndOfInputWaitsForAnswers(t *testing.T) {
	d := newMCPDesk(t, "loops")
	input := greeting
	for i := range 3 {
		input += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"loops"}}`+"\n", i)
	}
	lines := d.say(t, tom(), input)
	for i := range 3 {
		if a := answerTo(t, lines, fmt.Sprint(i)); !strings.Contains(a, "The tool took too long and was stopped.") {
			t.Errorf("%d: %q", i, a)
		}
	}
}

// A client that listens for changes does not keep the server from ending.
func TestEndOfInputEndsListeners(t *testing.T) {
	d := newMCPDesk(t, "get_order")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	lines := d.say(t, tom(), `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{`+meta+`,"notifications":{"toolsListChanged":true}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+meta+`,"name":"get_order","arguments":{"order_id":"LK-615204"}}}
`)
	if a := answerTo(t, lines, "2"); !strings.Contains(a, `\"ok\":true`) {
		t.Errorf("%q", lines)
	}
}

// Whoever ends the server ends what it runs, and soon.
func TestEndOfTheServerEndsItsCalls(t *testing.T) {
	d := newMCPDesk(t, "sleeps")
	ctx, cancel := context.WithCancel(t.Context())
	in, say := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- ServeMCP(ctx, d.host, tom(), MCPOptions{In: in, Out: io.Discard}) }()
	_, _ = io.WriteString(say, greeting+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleeps"}}`+"\n")
	wait(t, "the guest", func() bool { return d.runs() == 1 })
	cancel()
	if err := <-done; err != nil {
		t.Errorf("%v", err)
	}
	if rec := last(t, d); rec.Code != "cancelled" {
		t.Errorf("the call ends as %s", rec.Code)
	}
}

// Streams that break end the server with an error, and are no message.
func TestBrokenStreams(t *testing.T) {
	d := newMCPDesk(t, "get_order")
	broken := errors.New("broken")
	r, w := io.Pipe()
	w.CloseWithError(broken)
	if err := ServeMCP(t.Context(), d.host, tom(), MCPOptions{In: r, Out: io.Discard}); !errors.Is(err, broken) {
		t.Errorf("a broken input ends with %v", err)
	}
	r, w = io.Pipe()
	r.CloseWithError(broken)
	forever, _ := io.Pipe()
	in := io.MultiReader(bytes.NewBufferString(greeting), forever)
	if err := ServeMCP(t.Context(), d.host, tom(), MCPOptions{In: in, Out: w}); !errors.Is(err, broken) {
		t.Errorf("a broken output ends with %v", err)
	}
	if n := len(d.recorder.Records()); n != 0 {
		t.Errorf("%d records", n)
	}
}

// More requests than may wait are told so, and none of them runs.
func TestRequestsThatWaitAreBounded(t *testing.T) {
	answers, out := io.Pipe()
	door := newStdio(t.Context(), strings.NewReader(""), out, func([]byte, string) {})
	defer door.Close()
	for i := range maxAsked {
		if f := door.ask(message{id: strconv.Itoa(i), hasID: true, method: "tools/call"}, nil); f != nil {
			t.Fatalf("request %d: %s", i, f.why)
		}
	}
	if _, ok := door.accept(Line{Text: []byte(`{"jsonrpc":"2.0","id":"more","method":"tools/call","params":{"name":"x"}}`)}); ok {
		t.Error("one too many is taken")
	}
	if l, err := ReadLine(NewLines(answers), 1000); !strings.Contains(string(l.Text), `"id":"more","error":{"code":-32000`) {
		t.Errorf("%s %v", l.Text, err)
	}
	door.answered("7")
	if _, ok := door.accept(Line{Text: []byte(`{"jsonrpc":"2.0","id":"more","method":"ping"}`)}); !ok {
		t.Error("refused when there is room again")
	}
	door.answered(`"more"`)
	if f := door.ask(message{id: "large", hasID: true}, make([]byte, maxAskedBytes)); f != nil {
		t.Errorf("a large one alone: %s", f.why)
	}
	if f := door.ask(message{id: "small", hasID: true}, make([]byte, 1)); f == nil {
		t.Error("more bytes than may wait are taken")
	}
}

// A client that reads nothing holds up neither a guest nor the server's end.
func TestClientThatReadsNothing(t *testing.T) {
	d := newMCPDesk(t, "reports_progress")
	in, toServer := io.Pipe()
	defer toServer.Close()
	_, out := io.Pipe() // nobody reads
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- ServeMCP(ctx, d.host, tom(), MCPOptions{In: in, Out: out}) }()
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for id := range 6 {
		fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"reports_progress","arguments":{"steps":20,"pause_ms":0},"_meta":{"progressToken":%d}}}`+"\n", id+1, id)
	}
	for deadline := time.Now().Add(30 * time.Second); len(d.recorder.Records()) < 6; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d calls have ended", len(d.recorder.Records()))
		}
	}
	cancel()
	select {
	case <-served:
	case <-time.After(30 * time.Second):
		t.Fatal("the server waits for its client")
	}
}

// An id can be used again as soon as its answer is read.
func TestIDUsedAgain(t *testing.T) {
	d := newMCPDesk(t)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() { _ = ServeMCP(t.Context(), d.host, tom(), MCPOptions{In: in, Out: out}) }()
	defer toServer.Close()
	lines := NewLines(fromServer)
	for i := range 500 {
		fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if l, err := ReadLine(lines, 1000); err != nil || !strings.Contains(string(l.Text), `"id":1,"result":{}`) {
			t.Fatalf("ping %d: %s %v", i, l.Text, err)
		}
	}
}
