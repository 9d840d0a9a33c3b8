package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
)

// MCPOptions are what the door needs beside a host and a session.
type MCPOptions struct {
	In      io.Reader
	Out     io.Writer
	Version string        // of this program, for clients to see
	Watch   time.Duration // how often the directory is asked whether the list of tools has changed; 0: 2 s
}

const standardWatch = 2 * time.Second

// ServeMCP speaks the Model Context Protocol on a stream, for one session,
// until the input ends. The session's id is that of the loop; it gets one if it
// has none.
func ServeMCP(ctx context.Context, h *host.Host, s host.Session, o MCPOptions) error {
	if s.ID == "" {
		s.ID = rand.Text()
	}
	d := &mcpDoor{host: h, session: s, offered: map[string]string{}}
	d.server = mcp.NewServer(&mcp.Implementation{Name: "toolhost", Version: o.Version}, &mcp.ServerOptions{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { // a list is one session's, and of this moment
			c.TTLMs, c.CacheScope = 0, "private"
		},
	})
	d.refresh(ctx)
	ctx, cancel := context.WithCancel(ctx)
	d.server.AddReceivingMiddleware(d.receive(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { d.watch(ctx, o.Watch) })
	stream := newStdio(ctx, o.In, o.Out, func(raw []byte, why string) { h.Unreadable(ctx, s, raw, why) })
	err := d.server.Run(ctx, stream)
	cancel()
	watching.Wait()
	if lost := stream.failure(); lost != nil {
		return lost
	}
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// An mcpDoor is one connection: one session, whose tools may change.
type mcpDoor struct {
	host    *host.Host
	session host.Session
	server  *mcp.Server

	mu      sync.Mutex
	offered map[string]string // by name, what the SDK has of a tool
}

// watch tells the client when the directory gives or takes a tool.
func (d *mcpDoor) watch(ctx context.Context, every time.Duration) {
	if every <= 0 {
		every = standardWatch
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.refresh(ctx)
		}
	}
}

// refresh brings what the SDK lists into line with what the session may call
// now. The SDK notifies the client where anything has changed.
func (d *mcpDoor) refresh(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := map[string]bool{}
	for _, t := range d.host.Tools(ctx, d.session) {
		now[t.Name] = true
		tool := mcpTool(t)
		text, err := json.Marshal(tool)
		if err != nil {
			continue // a schema that was read as JSON is JSON
		}
		if d.offered[t.Name] != string(text) {
			d.server.AddTool(tool, d.call)
			d.offered[t.Name] = string(text)
		}
	}
	for name := range d.offered {
		if !now[name] {
			d.server.RemoveTools(name)
			delete(d.offered, name)
		}
	}
}

// mcpTool is a tool as the SDK takes it. What it says of its effect comes from
// the config.
func mcpTool(t host.Tool) *mcp.Tool {
	out := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: json.RawMessage(t.Input.AppendJSON(nil)),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.Effect == "read"},
	}
	if t.Effect == "read" { // what a write gives is "pending" first
		out.OutputSchema = json.RawMessage(t.Output.AppendJSON(nil))
	}
	return out
}

// receive stands before the SDK's own methods: the list is that of this moment,
// and every call is the host's to decide, whatever the SDK has listed. Whoever
// ends the door ends its calls; the SDK would wait for them.
func (d *mcpDoor) receive(door context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch r := req.(type) {
			case *mcp.ListToolsRequest:
				d.refresh(ctx)
			case *mcp.CallToolRequest:
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(door, cancel)()
				result, err := d.call(ctx, r)
				if err != nil {
					return nil, err
				}
				return result, nil
			}
			return next(ctx, method, req)
		}
	}
}

// call hands a proposal to the host. Arguments that are left out are an empty
// object in this protocol; every other text goes through as it is.
func (d *mcpDoor) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	p := host.Proposal{Tool: r.Params.Name, Arguments: r.Params.Arguments}
	if len(p.Arguments) == 0 {
		p.Arguments = []byte("{}")
	}
	if token := r.Params.GetProgressToken(); token != nil {
		p.Progress = progress(ctx, r.Session, token)
	}
	o := d.host.Call(ctx, d.session, p)
	if o.NoSuchTool() {
		return nil, &decidedError{&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: host.WordsUnknownTool}}
	}
	return mcpResult(o), nil
}

// A decidedError is what the host answered: it is in the record, and holds
// nothing of the request.
type decidedError struct{ wire *jsonrpc.Error }

func (e *decidedError) Error() string { return e.wire.Error() }

func (e *decidedError) Unwrap() error { return e.wire }

// refusedBySDK is an error of the SDK's without what it quotes. Of its data the
// protocol needs one: the revisions that this server speaks.
func refusedBySDK(err error) *jsonrpc.Error {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		wire = &jsonrpc.Error{}
	}
	switch wire.Code {
	case mcp.CodeUnsupportedProtocolVersion:
		return &jsonrpc.Error{Code: wire.Code, Message: "unsupported protocol version", Data: wire.Data}
	case jsonrpc.CodeInvalidParams:
		return &jsonrpc.Error{Code: wire.Code, Message: "the method does not take these params"}
	case jsonrpc.CodeMethodNotFound:
		return &jsonrpc.Error{Code: wire.Code, Message: "this revision of the protocol has no such method"}
	default:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the method does not take these params, or not at this moment"}
	}
}

// progress passes on what a guest reports, where it grows, as the protocol asks.
// For a client that does not read it is dropped (stdio.write): the guest's own
// time goes on.
func progress(ctx context.Context, session *mcp.ServerSession, token any) func(done, total float64) {
	last := -1.0
	return func(done, total float64) {
		if done <= last {
			return
		}
		last = done
		_ = session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: total}) // the call goes on without
	}
}

// MetaCallID is the member of a result's _meta that holds the call's id.
const MetaCallID = "toolhost/call_id"

// mcpResult gives the very text that every door gives. The plugin's object
// stands beside it where there is one.
func mcpResult(o host.Outcome) *mcp.CallToolResult {
	result := &mcp.CallToolResult{
		Meta:    mcp.Meta{MetaCallID: o.CallID},
		Content: []mcp.Content{&mcp.TextContent{Text: string(o.Result)}},
		IsError: o.State != host.OK && o.State != host.Pending,
	}
	if o.State != host.OK {
		return result
	}
	if v, err := strictjson.Read(o.Result, strictjson.Default(len(o.Result))); err == nil { // the host wrote it
		result.StructuredContent = json.RawMessage(v.Without("ok").AppendJSON(nil))
	}
	return result
}
