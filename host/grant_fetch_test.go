package host

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host/config"
)

// The names that guests fetch from are looked up by the host's resolver, and
// where that leads to an address that is not public, nothing is dialled.
func TestFetchAsksTheResolver(t *testing.T) {
	var asked atomic.Int64
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked.Add(1)
		return nil, errors.New("no name server")
	}}
	d := newDesk(t, "", "fetch_url")
	h, err := Open(t.Context(), filepath.Join(d.dir, "config.toml"), Options{Recorder: d.recorder, Resolver: resolver})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o := h.Call(t.Context(), sam(), ask("fetch_url", `{"url":"https://track.carrier.example/v1/7"}`))
	if o.Code != codePluginError || asked.Load() == 0 {
		t.Errorf("%s, asked %d times", o.Line(), asked.Load())
	}
	uses := d.recorder.Records()[0].Uses
	if len(uses) != 1 || uses[0].Asked != "https://track.carrier.example/v1/7" || !strings.HasPrefix(uses[0].Reason, "name: ") {
		t.Errorf("uses %+v", uses)
	}
}

// A slow server is no reason for a call to outlive its limits.
func TestFetchEndsWithTheCall(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	d := newDesk(t, `[capabilities.carrier]
kind = "fetch"
time = "1m"
[[capabilities.carrier.allow]]
url = "`+server.URL+`/"
methods = ["GET"]
addresses = ["127.0.0.1/32"]
[tools.fetch_url]
plugin = "plugins/fetch_url"
effect = "read"
callers = ["staff"]
limits = { time = "2s" }
grants = { carrier = { only = "{args.url}" } }
`, "fetch_url")
	h := d.open(t)
	if o := h.Call(t.Context(), sam(), ask("fetch_url", `{"url":"`+server.URL+`/"}`)); o.Code != codeDeadline {
		t.Errorf("%s: %s", o.Line(), o.Reason)
	}
	if uses := d.recorder.Records()[0].Uses; len(uses) != 1 || !strings.HasPrefix(uses[0].Reason, "timeout: ") {
		t.Errorf("uses %+v", uses)
	}
}

// A value of the session that is too short to be told from ordinary text in an
// answer closes the entry, unless it may be repeated.
func TestFetchShortValues(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("from Leeds for " + r.Header.Get("X-Ticket")))
	}))
	defer server.Close()
	text := func(mayEcho string) string {
		return `[capabilities.carrier]
kind = "fetch"
[[capabilities.carrier.allow]]
url = "` + server.URL + `/"
methods = ["GET"]
addresses = ["127.0.0.1/32"]
headers = { X-Ticket = "{session.ticket}" }
` + mayEcho + `
[tools.fetch_url]
plugin = "plugins/fetch_url"
effect = "read"
callers = ["staff"]
grants = { carrier = {} }
`
	}
	s := sam()
	for name, tt := range map[string]struct{ mayEcho, ticket, code string }{
		"short-is-refused":      {"", "L", codeFetchDenied},
		"long-is-sent":          {"", "T-2401-1234", codePluginError}, // and the answer repeats it
		"short-may-be-repeated": {`may_echo = ["{session.ticket}"]`, "L", ""},
		"none-is-refused":       {`may_echo = ["{session.ticket}"]`, "", codeFetchDenied},
		"break-is-refused":      {`may_echo = ["{session.ticket}"]`, "a\nX-Y: z", codeFetchDenied},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, text(tt.mayEcho), "fetch_url")
			s.Attributes = map[string]string{"ticket": tt.ticket}
			if o := d.open(t).Call(t.Context(), s, ask("fetch_url", `{"url":"`+server.URL+`/"}`)); o.Code != tt.code {
				t.Errorf("%s: %s", o.Line(), o.Reason)
			}
		})
	}
}

// The secrets of an entry that is closed to a session are withheld from it all
// the same: the server has them from others.
func TestSecretsOfAClosedEntry(t *testing.T) {
	entry := config.Allow{Headers: []config.Header{
		{Name: "A-Customer", Value: reference(t, "{session.customer}")},
		{Name: "Authorization", Secrets: []string{"correct-horse-battery"}},
	}}
	got := adds(entry, Session{})
	if got.Closed == "" || !slices.Contains(got.Secrets, "correct-horse-battery") || len(got.Headers) > 0 {
		t.Errorf("got %+v", got)
	}
}

// reference is a template of a config.
func reference(t *testing.T, text string) config.Template {
	t.Helper()
	c, err := config.Parse("config.toml", []byte(`[capabilities.c]
kind = "files"
root = "docs"
folder = "`+text+`"
access = "read"
`), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Capabilities[0].Files.Folder[0]
}
