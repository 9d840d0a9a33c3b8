package host

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

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

// What a reviewer signs says each thing that decides how far a grant reaches.
func TestSentences(t *testing.T) {
	const files = "[capabilities.c]\nkind = \"files\"\nroot = \"docs\"\naccess = \"read\"\n"
	const fetch = "[capabilities.c]\nkind = \"fetch\"\n[[capabilities.c.allow]]\nmethods = [\"GET\"]\n"
	const only, all = `{ only = "{args.id}" }`, "{}"
	for name, tt := range map[string]struct {
		config, grant string
		want          string
	}{
		"files-of-a-session": {files + "folder = \"t/{session.ticket}\"\n", all, "to list and read the files in docs/t/{session.ticket} and below, of at most 256KiB each"},
		"the-one-file":       {files + "folder = \"{session.ticket}\"\nmax_bytes = \"1000B\"\n", only, "to read the one file named by id in docs/{session.ticket}, of at most 1000B"},
		"files-for-everyone": {files + "scope = \"everyone\"\n", all, "to list and read the files in docs and below, of at most 256KiB each, for everyone"},
		"file-for-everyone":  {files + "scope = \"everyone\"\n", only, "to read the one file named by id in docs, of at most 256KiB, for everyone"},
		"linked-root":        {strings.Replace(files, `"docs"`, `"linked"`, 1) + "scope = \"everyone\"\n", all, "to list and read the files in linked (linked leads to DIR/docs) and below, of at most 256KiB each, for everyone"},
		"urls-below":         {fetch + "url = \"https://a.example/v1/\"\n", all, "GET https://a.example/v1/ and below, with any query, at public addresses, of at most 256KiB"},
		"this-url":           {fetch + "url = \"https://a.example/v1\"\n", all, "GET https://a.example/v1, with any query, at public addresses, of at most 256KiB"},
		"the-one-url-below":  {fetch + "url = \"https://a.example/v1/\"\n", only, "GET https://a.example/v1/ and below, the one URL named by id, at public addresses, of at most 256KiB"},
		"the-one-url":        {fetch + "url = \"https://a.example/v1\"\n", only, "GET https://a.example/v1, the one URL named by id, at public addresses, of at most 256KiB"},
		"two-methods":        {strings.Replace(fetch, `["GET"]`, `["GET", "HEAD"]`, 1) + "url = \"https://a.example/v1\"\n", only, "GET and HEAD https://a.example/v1, the one URL named by id, at public addresses, of at most 256KiB"},
		"headers": {
			fetch + "url = \"https://a.example/\"\nheaders = { X-Ticket = \"{session.ticket}\", X-Client = \"desk\" }\nmay_echo = [\"{session.ticket}\"]\n", all,
			`GET https://a.example/ and below, with any query, with the host's X-Client = "desk", X-Ticket = {session.ticket}, which an answer may repeat: {session.ticket}, at public addresses, of at most 256KiB`,
		},
		"addresses": {
			fetch + "url = \"https://a.example:8443/\"\naddresses = [\"10.0.0.0/8\", \"127.0.0.1/32\"]\nroots = \"ca.pem\"\n", all,
			"GET https://a.example:8443/ and below, with any query, at 10.0.0.0/8, 127.0.0.1/32, by the certificates of ca.pem, of at most 256KiB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tt.config+"[tools.plain]\nplugin = \"plugins/plain\"\neffect = \"read\"\ncallers = [\"anyone\"]\ngrants = { c = "+tt.grant+" }\n")
			d.write(t, "docs/x", "")
			d.write(t, "ca.pem", certificate(t))
			d.link(t, "linked", "docs")
			d.write(t, "plugins/plain/plugin.wasm", wasm([]string{map[bool]string{true: "files.read", false: "fetch.send"}[strings.Contains(tt.config, "files")]}, nil))
			d.write(t, "plugins/plain/contract.json", plainContract)
			reaches := d.open(t).Reports()[0].Reaches
			if len(reaches) != 1 || len(reaches[0].Sentences) != 1 || reaches[0].Sentences[0] != strings.ReplaceAll(tt.want, "DIR", where(d.dir)) || len(reaches[0].By) != 1 {
				t.Errorf("got %+v", reaches)
			}
		})
	}
}

// Where a link leads is a part of the policy.
func TestPolicyCoversWhereARootLeads(t *testing.T) {
	d := newDesk(t, strings.Replace(filesConfig, "ROOT", "docs", 1)+
		"[tools.plain]\nplugin = \"plugins/plain\"\neffect = \"read\"\ncallers = [\"anyone\"]\ngrants = { f = { only = \"{args.id}\" } }\n")
	d.write(t, "one/x", "")
	d.write(t, "two/x", "")
	d.write(t, "plugins/plain/plugin.wasm", wasm(nil, nil))
	d.write(t, "plugins/plain/contract.json", plainContract)
	var digests []string
	for _, to := range []string{"one", "one", "two"} {
		_ = os.Remove(d.path("docs"))
		d.link(t, "docs", to)
		h, err := d.tryOpen(t)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, h.tools["plain"].policy.Resolved)
		_ = h.Close()
	}
	if digests[0] != digests[1] || digests[1] == digests[2] {
		t.Errorf("the digests are %q", digests)
	}
}

// Of too many requests, those that matter are kept.
func TestRequestsThatAreKept(t *testing.T) {
	var all []Use
	for i := range 800 {
		all = append(all, Use{Function: "files.read", Status: "ok", Asked: fmt.Sprintf("read-%03d", i)})
	}
	all = slices.Insert(all, 700, Use{Function: "files.read", Status: "not_available", Asked: "../secret", Reason: "dot_segment"},
		Use{Function: "fetch.send", Status: "ok", Asked: "https://a.example/"}, Use{Function: "records.list", Status: "ok"})
	text := string(requests(all))
	for _, want := range []string{`"asked":"../secret","reason":"dot_segment"`, `"asked":"https://a.example/"}`, "read-000", "read-497", `{"more":302}]`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(text, "read-498") || strings.Contains(text, "records.list") {
		t.Error("keeps too much")
	}
	if got := requests(all[:0]); got != nil {
		t.Errorf("nothing gives %s", got)
	}
}

func certificate(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// What is kept of a request does not keep the request.
func TestAskedIsBounded(t *testing.T) {
	g := &guest{}
	long := strings.Repeat("x", 1<<20)
	if got := g.asked(long); len(got) != 4096+3 || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes", len(got))
	}
	for _, short := range []string{long[:4096], cut(long, 64)} {
		if got := g.asked(short); len(got) != len(short) || unsafe.StringData(got) == unsafe.StringData(long) {
			t.Errorf("%d bytes, a part of the request: %t", len(got), unsafe.StringData(got) == unsafe.StringData(long))
		}
	}
	if unsafe.StringData(cut(long, 64)) == unsafe.StringData(long) {
		t.Error("what was cut keeps all of it")
	}
}
