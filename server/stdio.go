package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/strictjson"
)

// maxLine bounds one message, in bytes: the longest arguments that a config can
// allow, with each character escaped.
const maxLine = 16 << 20

// stdio is MCP's transport on stdin and stdout: one JSON-RPC message a line. It
// reads each line strictly (message.go) before the SDK decodes it, answers what
// is no message itself, and goes on.
type stdio struct {
	lines  chan Line
	refuse func(raw []byte, why string) // records what is no message

	writer io.Writer
	queue  chan outgoing   // to be written, in order
	stop   <-chan struct{} // the server ends, whatever waits

	mu     sync.Mutex
	asked  map[string]asked // requests that wait for an answer, by id
	bytes  int              // of them
	unsent int              // answers that are not written yet
	quiet  chan struct{}    // closed when input has ended and nothing waits that does not wait for the end
	empty  chan struct{}    // closed when input has ended and nothing waits at all
	ended  bool             // input has ended
	end    error            // how it ended; read once lines is closed
	lost   error            // the error of a write: the client is gone
	closed chan struct{}
	once   sync.Once
}

// An asked request waits for its answer.
type asked struct {
	text  []byte // the line
	parks bool   // it waits for the end of the connection, and does not hold that up
}

// An outgoing message is written when its turn comes: a client that does not
// read holds up no call.
type outgoing struct {
	text   []byte
	answer bool
}

// maxQueue is how many messages wait for a client that does not read.
const maxQueue = 64

func newStdio(ctx context.Context, in io.Reader, out io.Writer, refuse func(raw []byte, why string)) *stdio {
	t := &stdio{
		queue: make(chan outgoing, maxQueue), stop: ctx.Done(),
		lines: make(chan Line), refuse: refuse, writer: out,
		asked: map[string]asked{}, quiet: make(chan struct{}), empty: make(chan struct{}), closed: make(chan struct{}), end: io.EOF,
	}
	go t.pump(NewLines(in))
	go t.send()
	return t
}

// pump reads lines until the input or the connection ends.
func (t *stdio) pump(in *bufio.Reader) {
	defer close(t.lines)
	for {
		l, err := ReadLine(in, maxLine)
		if err == nil || l.Half {
			select {
			case t.lines <- l:
			case <-t.closed:
				return
			}
		}
		if err != nil {
			t.end = err
			return
		}
	}
}

// send writes what is queued, until the connection ends. A client that is gone
// ends it.
func (t *stdio) send() {
	for {
		select {
		case o := <-t.queue:
			_, err := t.writer.Write(append(o.text, '\n'))
			if o.answer {
				t.sent()
			}
			if err != nil {
				t.mu.Lock()
				t.lost = err
				t.mu.Unlock()
				_ = t.Close()
				return
			}
		case <-t.closed:
			return
		}
	}
}

// failure is the error of a write, if one has ended the connection.
func (t *stdio) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// sent counts an answer off.
func (t *stdio) sent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsent--
	t.hush()
}

// Connect implements mcp.Transport.
func (t *stdio) Connect(context.Context) (mcp.Connection, error) { return t, nil }

// SessionID implements mcp.Connection.
func (t *stdio) SessionID() string { return "" }

// Read implements mcp.Connection. When the input has ended, what was asked is
// answered before that is told.
func (t *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.closed:
			return nil, io.EOF
		case l, ok := <-t.lines:
			if !ok {
				return nil, t.drain(ctx)
			}
			if msg, ok := t.accept(l); ok {
				return msg, nil
			}
		}
	}
}

// accept takes a line for a message, or answers and records that it is none.
func (t *stdio) accept(l Line) (jsonrpc.Message, bool) {
	if len(l.Text) == 0 {
		return nil, false // a blank line
	}
	m, fault := readMessage(l)
	var msg jsonrpc.Message
	if fault == nil {
		var err error
		if msg, err = jsonrpc.DecodeMessage(l.Text); err != nil {
			fault = &messageFault{jsonrpc.CodeInvalidRequest, "another reader does not take the message"}
		}
	}
	if fault == nil && m.request() {
		fault = t.ask(m, l.Text)
	}
	if fault == nil {
		return msg, true
	}
	t.refuse(l.Text, fault.why)
	if m.answerable() {
		t.sendFault(m.id, fault)
	}
	return nil, false
}

// drain waits until everything is answered that does not wait for the end.
func (t *stdio) drain(ctx context.Context) error {
	t.mu.Lock()
	t.ended = true
	t.hush()
	t.mu.Unlock()
	select {
	case <-t.quiet:
		t.part(ctx)
		return t.end
	case <-t.closed:
		return t.end
	case <-ctx.Done():
		return ctx.Err()
	}
}

// parting is how long a request that waits for the end may still be refused: the SDK looks at it beside us.
const parting = 200 * time.Millisecond

// part waits a moment for the requests that wait for the end.
func (t *stdio) part(ctx context.Context) {
	late := time.NewTimer(parting)
	defer late.Stop()
	select {
	case <-t.empty:
	case <-late.C:
	case <-t.closed:
	case <-ctx.Done():
	}
}

// maxAsked is how many requests may wait for an answer: each may be a guest. So
// many bytes they may have together, or one of them alone.
const (
	maxAsked      = 64
	maxAskedBytes = 32 << 20
)

// codeBusy is of those that JSON-RPC leaves to servers.
const codeBusy = -32000

// ask notes a request. One whose id waits already, or one too many, is a fault.
func (t *stdio) ask(m message, text []byte) *messageFault {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, waits := t.asked[m.id]; waits {
		return &messageFault{jsonrpc.CodeInvalidRequest, "a request of this id is not answered yet"}
	}
	if len(t.asked) >= maxAsked || t.bytes+len(text) > maxAskedBytes && t.bytes > 0 {
		return &messageFault{codeBusy, "too many requests are not answered yet; ask again when one is"}
	}
	t.asked[m.id] = asked{text: text, parks: m.method == "subscriptions/listen"}
	t.bytes += len(text)
	return nil
}

// waiting gives the line of a request that is not answered yet.
func (t *stdio) waiting(id string) (text []byte, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, waits := t.asked[id]
	return a.text, waits
}

// answered takes a request off, before its answer can be read: its id may be
// used again at once.
func (t *stdio) answered(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes -= len(t.asked[id].text)
	delete(t.asked, id)
	t.unsent++
}

// hush closes quiet and empty when they are; mu is held.
func (t *stdio) hush() {
	if t.unsent > 0 {
		return
	}
	for _, a := range t.asked {
		if !a.parks {
			return
		}
	}
	if !t.ended {
		return
	}
	closeOnce(t.quiet)
	if len(t.asked) == 0 {
		closeOnce(t.empty)
	}
}

// closeOnce closes a channel that nothing is sent through; the caller holds the lock that guards it.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// Write implements mcp.Connection.
func (t *stdio) Write(ctx context.Context, msg jsonrpc.Message) error {
	r, answers := msg.(*jsonrpc.Response)
	if answers {
		msg = t.plain(r)
		t.answered(idText(r.ID.Raw()))
	}
	text, err := jsonrpc.EncodeMessage(msg)
	if err == nil {
		err = t.write(ctx, outgoing{text: text, answer: answers})
	}
	if err != nil && answers {
		t.sent()
	}
	return err
}

// plain gives an answer as it may leave. An error that the SDK made before the
// door saw the request is recorded here, and its text, which can quote the
// request, stays.
func (t *stdio) plain(r *jsonrpc.Response) *jsonrpc.Response {
	var ours *decidedError
	if r.Error == nil || errors.As(r.Error, &ours) {
		return r
	}
	f := refusedBySDK(r.Error)
	text, _ := t.waiting(idText(r.ID.Raw()))
	t.refuse(text, f.Message)
	return &jsonrpc.Response{ID: r.ID, Error: f}
}

// write queues a message. An answer waits for its place; a notification that
// finds none is dropped, as nobody reads.
func (t *stdio) write(ctx context.Context, o outgoing) error {
	if !o.answer {
		select {
		case t.queue <- o:
		default:
		}
		return nil
	}
	select {
	case t.queue <- o:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.stop:
		return context.Canceled
	case <-t.closed:
		return io.ErrClosedPipe
	}
}

// sendFault answers what is no message, in words that hold nothing of it; without
// an id if that could be taken for another request's answer.
func (t *stdio) sendFault(id string, f *messageFault) {
	if _, waits := t.waiting(id); waits || id == "" {
		id = "null"
	}
	text := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":`, id, f.code)
	o := outgoing{text: append(strictjson.AppendString(text, f.why), `}}`...), answer: true}
	t.mu.Lock()
	t.unsent++
	t.mu.Unlock()
	if t.write(context.Background(), o) != nil { // the connection has ended
		t.sent()
	}
}

// Close implements mcp.Connection.
func (t *stdio) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}
