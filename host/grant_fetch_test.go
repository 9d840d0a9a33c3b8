package host

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// The names that guests fetch from are looked up by the host's resolver, and
// where that leads to an address that is not public, nothing is dialled.
func TestFetchAsksTheResolver(t *testing.T) {
	asked := make(chan struct{}, 10)
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked <- struct{}{}
		return nil, errors.New("no name server")
	}}
	d := newDesk(t, "", "fetch_url")
	h, err := Open(t.Context(), filepath.Join(d.dir, "config.toml"), Options{Recorder: d.recorder, Resolver: resolver})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o := h.Call(t.Context(), sam(), ask("fetch_url", `{"url":"https://track.carrier.example/v1/7"}`))
	if o.Code != codePluginError || len(asked) == 0 {
		t.Errorf("%s, asked %d times", o.Line(), len(asked))
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
[[capabilities.carrier.allow]]
url = "`+server.URL+`/"
methods = ["GET"]
addresses = ["127.0.0.1/32"]
[tools.fetch_url]
plugin = "plugins/fetch_url"
effect = "read"
callers = ["staff"]
limits = { time = "300ms" }
grants = { carrier = { only = "{args.url}" } }
`, "fetch_url")
	h := d.open(t)
	if o := h.Call(t.Context(), sam(), ask("fetch_url", `{"url":"`+server.URL+`/"}`)); o.Code != codeDeadline {
		t.Errorf("%s: %s", o.Line(), o.Reason)
	}
}
