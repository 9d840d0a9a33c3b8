package server

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	_ "modernc.org/sqlite"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/hosttest"
)

// A mcpDesk is a folder as an operator has it, and the host that was opened on it.
type mcpDesk struct {
	dir      string
	host     *host.Host
	recorder *host.MemoryRecorder
}

// compiled keeps the modules that this process has compiled.
var compiled = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "toolhost-server") })

func TestMain(m *testing.M) {
	code := m.Run()
	if folder, err := compiled(); err == nil {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// newMCPDesk opens the config of the root with the named tools alone; tools of
// plugins/hostile are added to it, for customers.
func newMCPDesk(t testing.TB, tools ...string) *mcpDesk {
	t.Helper()
	return openMCPDesk(t, host.NewMemoryRecorder(100000), tools...)
}

func openMCPDesk(t testing.TB, recorder *host.MemoryRecorder, tools ...string) *mcpDesk {
	t.Helper()
	d := &mcpDesk{dir: t.TempDir(), recorder: recorder}
	raw, err := os.ReadFile("../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(tools, "get_order") { // the config's directory needs its roles
		tools = append(tools, "get_order")
	}
	config := hosttest.WideBounds(hosttest.OnlyTools(string(raw), tools...))
	for _, name := range tools {
		guest, err := hosttest.Build("..", name)
		if err != nil {
			t.Fatal(err)
		}
		d.write(t, "plugins/"+name+"/plugin.wasm", string(guest.Module))
		d.write(t, "plugins/"+name+"/contract.json", string(guest.Contract))
		if !strings.Contains(config, "[tools."+name+"]") {
			config += "\n[tools." + name + "]\nplugin = \"plugins/" + name + "\"\neffect = \"read\"\ncallers = [\"customer\"]\n"
		}
		config += map[string]string{
			"repeats_secret": "grants = { orders = {} }\n", "loops": "limits = { time = \"300ms\" }\n",
		}[name]
	}
	d.write(t, "config.toml", config)
	d.write(t, "var/tickets/T-24011/chairs.txt", "One of the four chairs <came> with a \"broken\" leg.\n")
	d.sql(t, "leave.db", hosttest.LeaveSchema)
	d.sql(t, "notices.db", hosttest.NoticesSchema+`INSERT INTO notices VALUES ('D1', 'u-alice', '2026-09-10', '读书会 <b>&</b>'), ('D3', 'u-bob', '2026-09-16', '读书会')`)
	d.sql(t, "desk.db", hosttest.DeskSchema+`INSERT INTO people VALUES ('usr-sam', 'larkfield', 'staff');
		INSERT INTO orders VALUES ('LK-615204', 'larkfield', 'C-20417', 'shipped', '2026-09-12', NULL, NULL, '0.10', '899.00', 'CAD', '"4 garden chairs"'),
			('LK-581106', 'larkfield', 'C-81265', 'shipped', '2026-09-12', NULL, NULL, '9.95', '49.00', 'CAD', '"1 hose"')`)
	cache, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	o := host.Options{Program: "a test", Cache: cache}
	if recorder != nil {
		o.Recorder = recorder
	}
	if d.host, err = host.Open(context.Background(), filepath.Join(d.dir, "config.toml"), o); err != nil {
		t.Fatal(err)
	}
	if err := d.host.Prepare(context.Background()); err != nil { // a test waits for calls, and not for the compiler
		t.Fatal(err)
	}
	t.Cleanup(func() { d.host.Close() })
	return d
}

func (d *mcpDesk) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (d *mcpDesk) sql(t testing.TB, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "var", file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// instances counts the guests that were made.
func (d *mcpDesk) runs() (n uint64) {
	for _, of := range d.host.Stats().Runs {
		n += of
	}
	return n
}

func tom() host.Session {
	return host.Session{Tenant: "larkfield", Role: "customer", Attributes: map[string]string{"customer": "C-20417"}}
}

func sam() host.Session {
	return host.Session{Subject: "usr-sam", Tenant: "larkfield", Role: "staff", Attributes: map[string]string{"ticket": "T-24011"}}
}

func alice() host.Session { return host.Session{Subject: "u-alice", Role: "member"} }

// connect serves a session and connects the official client to it, over pipes.
// An empty revision is the client's own choice.
func (d *mcpDesk) connect(t testing.TB, s host.Session, revision string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client, _ := d.connectTapped(t, s, revision, o)
	return client
}

// connectTapped gives what the server has written too.
func (d *mcpDesk) connectTapped(t testing.TB, s host.Session, revision string, o *mcp.ClientOptions) (*mcp.ClientSession, *tap) {
	t.Helper()
	inRead, inWrite := mustPipe(t)
	outRead, outWrite := mustPipe(t)
	out := &tap{Writer: outWrite}
	done := make(chan error, 1)
	go func() {
		done <- ServeMCP(context.Background(), d.host, s, MCPOptions{In: inRead, Out: out, Version: "0", Watch: 10 * time.Millisecond})
		outWrite.Close()
	}()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "a test", Version: "0"}, o).
		Connect(t.Context(), &mcp.IOTransport{Reader: outRead, Writer: inWrite}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		inWrite.Close()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, syscall.EPIPE) { // the client has closed what the server may still write to
				t.Errorf("the server ends with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server does not end with its input")
		}
	})
	return client, out
}

func mustPipe(t testing.TB) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// A tap keeps what passes through it.
type tap struct {
	io.Writer
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.text.Write(p)
	t.mu.Unlock()
	return t.Writer.Write(p)
}

func (t *tap) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Split(strings.TrimSuffix(t.text.String(), "\n"), "\n")
}

// greeting begins a session of the last revision that has one.
const greeting = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a test","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// say gives a server these lines, and then nothing more, and returns its lines.
func (d *mcpDesk) say(t testing.TB, s host.Session, input string) []string {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := ServeMCP(ctx, d.host, s, MCPOptions{In: strings.NewReader(input), Out: &out, Version: "0"}); err != nil {
		t.Errorf("the server ends with %v", err)
	}
	if ctx.Err() != nil {
		t.Error("the server does not end with its input")
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// answerTo finds the one answer of an id as JSON has it; "" where there is none.
func answerTo(t testing.TB, lines []string, id string) string {
	t.Helper()
	found := ""
	for _, line := range lines {
		if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`+id+`,`) {
			if found != "" {
				t.Errorf("two answers to %s", id)
			}
			found = line
		}
	}
	return found
}
