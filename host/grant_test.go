package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/config"
)

func sam() Session {
	return Session{
		Subject: "usr-sam", Tenant: "larkfield", Role: "staff",
		Attributes: map[string]string{"customer": "C-31186", "ticket": "T-24011"},
	}
}

// What is missing, lies outside or is a link is alike to the model, and no
// guest starts for it (I1).
func TestDeniedFilesAreAlike(t *testing.T) {
	d := newDesk(t, "", "read_file")
	d.write(t, "var/tickets/T-2/other.txt", "another ticket's")
	if err := os.Symlink("../T-2/other.txt", filepath.Join(d.dir, "var/tickets/T-24011/link.txt")); err != nil {
		t.Fatal(err)
	}
	h := d.open(t)
	var first []byte
	for _, path := range []string{"nope.txt", "../T-2/other.txt", "link.txt", "/etc/passwd", ".", "..", "chairs.txt/", "a//b", "CHAIRS.TXT", "var/tickets/T-24011/chairs.txt"} {
		o := h.Call(t.Context(), sam(), ask("read_file", `{"path":"`+path+`"}`))
		if o.State != Refused || o.Gate != GateCapability || o.Code != codeFileDenied || o.Field != "path" {
			t.Errorf("%s: %s", path, o.Line())
		}
		said := bytes.Replace(o.Result, []byte(path), []byte("PATH"), 1)
		if first == nil {
			first = said
		}
		if !bytes.Equal(said, first) {
			t.Errorf("%s: the model hears %s, and for another path %s", path, said, first)
		}
	}
	if n := h.Stats().Instances["read_file"]; n != 0 {
		t.Errorf("%d guests were started", n)
	}
	if o := h.Call(t.Context(), sam(), ask("read_file", `{"path":"chairs.txt"}`)); o.State != OK || !bytes.Contains(o.Result, []byte("broken leg")) {
		t.Errorf("%s %s", o.Line(), o.Result)
	}
}

const filesConfig = `[audit]
folder = "var/audit"
[capabilities.f]
kind = "files"
root = "ROOT"
scope = "everyone"
access = "read"
`

const fetchConfig = `[capabilities.c]
kind = "fetch"
[[capabilities.c.allow]]
url = "https://a.example/"
methods = ["GET"]
roots = "ca.pem"
`

// What a capability needs is looked at when the config is loaded, and told
// with file, line and key.
func TestCapabilitiesThatDoNotLoad(t *testing.T) {
	link := func(from, to string) func(*testing.T, *desk) {
		return func(t *testing.T, d *desk) {
			d.write(t, "var/audit/x", "")
			d.write(t, "var/keys/x", "")
			if err := os.Symlink(to, filepath.Join(d.dir, from)); err != nil {
				t.Fatal(err)
			}
		}
	}
	files := func(root string) string { return strings.Replace(filesConfig, "ROOT", root, 1) }
	for name, tt := range map[string]struct {
		config string
		before func(*testing.T, *desk)
		want   string
	}{
		"no-root":                       {files("nowhere"), nil, `config.toml:5: [capabilities.f] root: the folder "nowhere" is not there; make it, or correct the path`},
		"root-that-is-a-file":           {files("config.toml"), nil, `config.toml:5: [capabilities.f] root: the folder "config.toml" cannot be opened: it is no folder`},
		"link-to-the-audit-folder":      {files("docs"), link("docs", "var/audit"), `config.toml:5: [capabilities.f] root: the folder "docs" leads to one that holds the audit folder, which no tool may read as a file`},
		"link-around-the-key":           {files("docs"), link("docs", "var/keys"), `config.toml:5: [capabilities.f] root: the folder "docs" leads to one that holds the audit key, which no tool may read as a file`},
		"link-into-the-audit-folder":    {files("docs/deep"), link("docs", "var/audit"), `config.toml:5: [capabilities.f] root: the folder "docs/deep" leads into the audit folder`},
		"certificates-that-are-missing": {fetchConfig, nil, `config.toml:6: [capabilities.c] allow.roots: "ca.pem" cannot be read: no such file or directory`},
		"certificates-that-are-none": {
			fetchConfig, func(t *testing.T, d *desk) { d.write(t, "ca.pem", "none") },
			`config.toml:6: [capabilities.c] allow.roots: "ca.pem" holds no certificate in PEM`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tt.config)
			if tt.before != nil {
				tt.before(t, d)
			}
			if name == "link-into-the-audit-folder" {
				d.write(t, "var/audit/deep/x", "")
			}
			_, err := d.tryOpen(t)
			var faults *config.Faults
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nlacks %s", err, tt.want)
			}
		})
	}
}

// The digest of a tool's policy covers all that the config says of what it reaches.
func TestPolicyCoversCapabilities(t *testing.T) {
	const capabilities = `[capabilities.f]
kind = "files"
root = "docs"
folder = "{session.ticket}"
access = "read"
[capabilities.c]
kind = "fetch"
[[capabilities.c.allow]]
url = "https://a.example/v1/"
methods = ["GET"]
headers = { X-Ticket = "{session.ticket}" }
[tools.plain]
plugin = "plugins/plain"
effect = "read"
callers = ["anyone"]
grants = { f = { only = "{args.id}" }, c = { only = "{args.id}" } }
`
	digests := map[string]string{}
	for _, change := range [][2]string{
		{"", ""},
		{`root = "docs"`, `root = "docs2"`},
		{`folder = "{session.ticket}"`, `folder = "{session.customer}"`},
		{`folder = "{session.ticket}"`, `scope = "everyone"`},
		{`access = "read"`, "access = \"read\"\nmax_bytes = \"1KiB\""},
		{`access = "read"`, "access = \"read\"\nmax_files = 3"},
		{"a.example/v1/", "a.example/v2/"},
		{`methods = ["GET"]`, `methods = ["GET", "HEAD"]`},
		{`X-Ticket = "{session.ticket}"`, `X-Ticket = "{session.customer}"`},
		{`X-Ticket = "{session.ticket}"`, `X-Ticked = "{session.ticket}"`},
		{`methods = ["GET"]`, "methods = [\"GET\"]\nmay_echo = [\"{session.ticket}\"]"},
		{`methods = ["GET"]`, "methods = [\"GET\"]\naddresses = [\"10.0.0.0/8\"]"},
		{`methods = ["GET"]`, "methods = [\"GET\"]\nconnections = 9"},
		{`kind = "fetch"`, "kind = \"fetch\"\ntime = \"1s\""},
		{`kind = "fetch"`, "kind = \"fetch\"\nmax_bytes = \"1KiB\""},
	} {
		d := newDesk(t, strings.Replace(capabilities, change[0], change[1], 1))
		d.write(t, "docs/x", "")
		d.write(t, "docs2/x", "")
		d.write(t, "plugins/plain/plugin.wasm", wasm(nil, nil))
		d.write(t, "plugins/plain/contract.json", plainContract)
		d.open(t)
		digest := d.recorder.Loads()[0].Tools["plain"].Resolved
		if other, taken := digests[digest]; taken {
			t.Errorf("%q and %q give one digest", change, other)
		}
		digests[digest] = fmt.Sprint(change)
	}
}

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
