package capabilities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// refusedRequests are requests as a guest writes them; {U} is an allowed URL.
var refusedRequests = map[string]struct {
	request string
	status  Status
	reason  string
}{
	"post":                   {`{{U},"method":"POST"}`, Denied, "method_not_allowed"},
	"put":                    {`{{U},"method":"PUT"}`, Denied, "method_not_allowed"},
	"delete":                 {`{{U},"method":"DELETE"}`, Denied, "method_not_allowed"},
	"connect":                {`{{U},"method":"CONNECT"}`, Denied, "method_not_allowed"},
	"options":                {`{{U},"method":"OPTIONS"}`, Denied, "method_not_allowed"},
	"trace":                  {`{{U},"method":"TRACE"}`, Denied, "method_not_allowed"},
	"head-where-get-alone":   {`{{U},"method":"HEAD"}`, Denied, "method_not_allowed"},
	"method-in-lower-case":   {`{{U},"method":"get"}`, Denied, "method_not_allowed"},
	"method-with-a-line":     {`{{U},"method":"GET\r\nX: y"}`, Denied, "method_not_allowed"},
	"method-with-a-space":    {`{{U},"method":"GET "}`, Denied, "method_not_allowed"},
	"method-smuggles":        {`{{U},"method":"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET"}`, Denied, "method_not_allowed"},
	"method-with-nul":        {`{{U},"method":"GET\u0000"}`, Denied, "method_not_allowed"},
	"method-empty":           {`{{U},"method":""}`, Invalid, "invalid_request"},
	"method-no-string":       {`{{U},"method":1}`, Invalid, "invalid_request"},
	"method-null":            {`{{U},"method":null}`, Invalid, "invalid_request"},
	"no-url":                 {`{"from":"track"}`, Invalid, "invalid_request"},
	"url-no-string":          {`{"url":1}`, Invalid, "invalid_request"},
	"url-an-array":           {`{"url":["{B}v1/"]}`, Invalid, "invalid_request"},
	"url-an-object":          {`{"url":{"href":"{B}v1/"}}`, Invalid, "invalid_request"},
	"unknown-member":         {`{{U},"body":"x"}`, Invalid, "invalid_request"},
	"misspelt-member":        {`{{U},"header":{}}`, Invalid, "invalid_request"},
	"member-in-other-case":   {`{{U},"Method":"GET"}`, Invalid, "invalid_request"},
	"address-of-ones-own":    {`{{U},"address":"127.0.0.1"}`, Invalid, "invalid_request"},
	"headers-an-array":       {`{{U},"headers":[]}`, Invalid, "invalid_request"},
	"headers-null":           {`{{U},"headers":null}`, Invalid, "invalid_request"},
	"headers-text":           {`{{U},"headers":"accept: x"}`, Invalid, "invalid_request"},
	"header-value-number":    {`{{U},"headers":{"accept":1}}`, Invalid, "invalid_request"},
	"header-value-array":     {`{{U},"headers":{"accept":["a","b"]}}`, Invalid, "invalid_request"},
	"header-value-null":      {`{{U},"headers":{"accept":null}}`, Invalid, "invalid_request"},
	"header-201-bytes":       {`{{U},"headers":{"accept":"` + strings.Repeat("a", 201) + `"}}`, Invalid, "invalid_request"},
	"header-with-a-line":     {`{{U},"headers":{"accept":"a\r\nHost: evil.test"}}`, Invalid, "invalid_request"},
	"header-with-a-lf":       {`{{U},"headers":{"accept":"a\nX: y"}}`, Invalid, "invalid_request"},
	"header-with-a-cr":       {`{{U},"headers":{"accept":"a\rX: y"}}`, Invalid, "invalid_request"},
	"header-with-nul":        {`{{U},"headers":{"accept":"a\u0000"}}`, Invalid, "invalid_request"},
	"header-with-a-tab":      {`{{U},"headers":{"accept":"a\tb"}}`, Invalid, "invalid_request"},
	"header-with-delete":     {`{{U},"headers":{"accept":"a\u007f"}}`, Invalid, "invalid_request"},
	"header-with-nel":        {`{{U},"headers":{"accept":"a\u0085X: y"}}`, Invalid, "invalid_request"},
	"header-folds-to-a-line": {`{{U},"headers":{"accept":"a\u560d\u560aX: y"}}`, Invalid, "invalid_request"},
}

// TestFetchRefusesRequests: what a guest may not say never leaves the host.
func TestFetchRefusesRequests(t *testing.T) {
	s := newSite(t)
	var reached atomic.Int64
	base := s.serve(t, "http", "track.example", func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	get := entry(t, base+"v1/")
	get.Methods = []string{"GET"}
	r := s.reach(t, get)
	url := `"url":"` + base + `v1/"`
	for name, tt := range refusedRequests {
		t.Run(name, func(t *testing.T) {
			request := strings.NewReplacer("{U}", url, "{B}", base).Replace(tt.request)
			want(t, s.send(t, r, request), tt.status, tt.reason)
		})
	}
	for _, header := range []string{
		"host", "Host", "transfer-encoding", "content-length", "authorization", "Authorization", "cookie", "x-forwarded-for", "x-forwarded-host", "forwarded", "via",
		"proxy-authorization", "proxy-connection", "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "range", "accept-encoding", "user-agent", "referer", "origin",
		"content-type", "x-http-method-override", "x-original-url", "x-real-ip", "Accept", "ACCEPT", "accept ", " accept", "accept:", "accept\r\nx", "", ":path", "accept_language",
	} {
		request := `{` + url + `,"headers":{` + string(strictjson.AppendString(nil, header)) + `:"x"}}`
		if a := s.send(t, r, request); a.Status != Invalid || a.Reason != "invalid_request" {
			t.Errorf("%q: %s %q", header, a.Status.Word(), a.Reason)
		}
	}
	for _, function := range []string{"", "get", "Send", "send ", "post"} {
		want(t, call(t, r, function, `{`+url+`}`), Invalid, "unknown_function")
	}
	if reached.Load() > 0 || s.names.lookups("track.example") > 0 {
		t.Errorf("%d requests and %d lookups", reached.Load(), s.names.lookups("track.example"))
	}
}

// TestFetchHeaders: these are all the headers that a server gets. The host's
// stand where a guest sets the same one.
func TestFetchHeaders(t *testing.T) {
	s := newSite(t)
	var got http.Header
	base := s.serve(t, "http", "track.example", func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	f := s.open(t, entry(t, base))
	all := `"accept":"application/json","accept-language":"zh, en;q=0.5","if-none-match":"\"abc\"","if-modified-since":"Wed, 16 Sep 2026 00:00:00 GMT"`
	plain := map[string]string{"User-Agent": "toolhost", "Accept-Encoding": "gzip"}
	guests := map[string]string{"Accept": "application/json", "Accept-Language": "zh, en;q=0.5", "If-None-Match": `"abc"`, "If-Modified-Since": "Wed, 16 Sep 2026 00:00:00 GMT"}
	hosts := map[string]string{"Authorization": "Bearer " + fetchSecret, "Accept": "application/vnd.track+json", "X-Customer": "C-1"}
	for name, tt := range map[string]struct {
		headers string
		adds    map[string]string
		want    []map[string]string
	}{
		"none":              {"", nil, []map[string]string{plain}},
		"the-guests":        {all, nil, []map[string]string{plain, guests}},
		"the-hosts":         {"", hosts, []map[string]string{plain, hosts}},
		"the-hosts-stand":   {all, hosts, []map[string]string{plain, guests, hosts}},
		"longest":           {`"accept":"` + strings.Repeat("a", 200) + `"`, nil, []map[string]string{plain, {"Accept": strings.Repeat("a", 200)}}},
		"the-hosts-in-case": {"", map[string]string{"x-api-key": "k"}, []map[string]string{plain, {"X-Api-Key": "k"}}},
	} {
		t.Run(name, func(t *testing.T) {
			secrets := FetchSecrets{Secrets: []string{fetchSecret}}
			for _, header := range slices.Sorted(maps.Keys(tt.adds)) {
				secrets.Headers = append(secrets.Headers, FetchHeader{header, tt.adds[header]})
			}
			wantText(t, s.send(t, f.Reach([]FetchSecrets{secrets}, nil), `{"url":"`+base+`","headers":{`+tt.headers+`}}`), 200, "")
			expected := http.Header{}
			for _, part := range tt.want {
				for header, value := range part {
					expected[header] = []string{value}
				}
			}
			if !maps.EqualFunc(got, expected, slices.Equal[[]string]) {
				t.Errorf("the server got %q, want %q", got, expected)
			}
		})
	}
}

// A value that makes no header is not sent, nor told of.
func TestFetchBadHostHeader(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	f := s.open(t, entry(t, base))
	for _, h := range []FetchHeader{{"Authorization", fetchSecret + "\r\nX: y"}, {"Author\nization", fetchSecret}, {"X", fetchSecret + "\x00"}} {
		if a := s.get(t, f.Reach([]FetchSecrets{{Headers: []FetchHeader{h}, Secrets: []string{fetchSecret}}}, nil), base); a.Status == OK {
			t.Errorf("%q: %s", h, a.Body)
		}
	}
}

// TestFetchGuestSees: of a response's headers exactly these reach the guest, and
// none of what the host has added to the request.
func TestFetchGuestSees(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Type": "text/plain; charset=utf-8", "Content-Language": "zh", "Etag": `"abc"`, "Last-Modified": "Wed, 16 Sep 2026 00:00:00 GMT", "Retry-After": "120",
			"Set-Cookie": "sid=1", "Location": "/else", "Server": "x", "X-Debug": "y", "Www-Authenticate": "Basic", "Link": "<x>", "Content-Location": "/x", "Warning": "w",
		} {
			w.Header().Set(name, value)
		}
		if r.URL.Path == "/odd" {
			w.Header().Set("Etag", strings.Repeat("e", 201))
			w.Header().Set("Retry-After", "\u00fcber")
			w.Header().Set("Content-Language", "a\tb")
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(r.Method))
	})
	r := s.reach(t, entry(t, base))
	body := `{"status":418,"headers":{"content-language":"zh","content-type":"text/plain; charset=utf-8","etag":"\"abc\"","last-modified":"Wed, 16 Sep 2026 00:00:00 GMT","retry-after":"120"},"text":"GET"}`
	if a := s.get(t, r, base); string(a.Body) != body {
		t.Errorf("got %s\nwant %s", a.Body, body)
	}
	if a := s.send(t, r, `{"url":"`+base+`","method":"HEAD"}`); string(a.Body) != strings.Replace(body, "GET", "", 1) {
		t.Errorf("HEAD gives %s", a.Body)
	}
	body = `{"status":418,"headers":{"content-type":"text/plain; charset=utf-8","last-modified":"Wed, 16 Sep 2026 00:00:00 GMT"},"text":"GET"}`
	if a := s.get(t, r, base+"odd"); string(a.Body) != body {
		t.Errorf("got %s\nwant %s", a.Body, body)
	}
}

// TestFetchOnly: where the grant names one URL, no other is asked for.
func TestFetchOnly(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.RequestURI)) })
	f := s.open(t, entry(t, base+"v1/"))
	only := base + "v1/a"
	r := f.Reach(withSecret(1), &only)
	for _, text := range []string{base + "v1/", base + "v1/b", base + "v1/a?", base + "v1/a?x", base + "v1/%61", base + "v1/a/", base + "v1/A", " " + only, only + " ", only + "#", ""} {
		if a := s.get(t, r, text); a.Status != Denied || a.Reason != "not_the_granted_url" || a.Asked != text {
			t.Errorf("%q: %s %q, asked %q", text, a.Status.Word(), a.Reason, a.Asked)
		}
	}
	if n := s.names.lookups("track.example"); n > 0 {
		t.Errorf("%d lookups", n)
	}
	wantText(t, s.get(t, r, only), 200, "/v1/a")
	want(t, s.send(t, r, `{"url":"`+only+`","headers":{"accept":"iban=DE02"}}`), Denied, "headers_not_granted")
	if err := f.Reach(withSecret(1), nil).Admit(t.Context()); err != nil {
		t.Errorf("the gate without a URL: %v", err)
	}
}

// TestFetchEntries: the first entry that covers a URL and takes the method
// counts; one that needs a value which the session lacks is closed.
func TestFetchEntries(t *testing.T) {
	s := newSite(t)
	var got string
	base := s.serve(t, "http", "track.example", func(_ http.ResponseWriter, r *http.Request) { got = r.Method + " " + r.Header.Get("X-Entry") })
	inner, outer, head := entry(t, base+"v1/a/"), entry(t, base+"v1/"), entry(t, base)
	inner.Methods, outer.Methods, head.Methods = []string{"GET"}, []string{"GET"}, []string{"HEAD"}
	f := s.open(t, inner, outer, head)
	adds := func(absent string) []FetchSecrets {
		return []FetchSecrets{{Headers: []FetchHeader{{"X-Entry", "inner"}}, Closed: absent}, {Headers: []FetchHeader{{"X-Entry", "outer"}}}, {Headers: []FetchHeader{{"X-Entry", "head"}}}}
	}
	for name, tt := range map[string]struct{ absent, path, method, got, reason string }{
		"first-that-covers":     {"", "v1/a/x", "GET", "GET inner", ""},
		"second":                {"", "v1/b", "GET", "GET outer", ""},
		"first-with-the-method": {"", "v1/a/x", "HEAD", "HEAD head", ""},
		"no-method-is-not-any":  {"", "x", "", "", "invalid_request"},
		"none-with-the-method":  {"", "x", "GET", "", "method_not_allowed"},
		"absent-value-closes":   {"{session.customer}", "v1/a/x", "GET", "", "no_session_value"},
		"absent-elsewhere":      {"{session.customer}", "v1/b", "GET", "GET outer", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got = ""
			a := s.send(t, f.Reach(adds(tt.absent), nil), fmt.Sprintf(`{"url":%q,"method":%q}`, base+tt.path, tt.method))
			if tt.reason != "" && (a.Status == OK || wordOf(a) != tt.reason) {
				t.Errorf("got %s %q", a.Status.Word(), a.Reason)
			}
			if got != tt.got {
				t.Errorf("the server saw %q, want %q: %s", got, tt.got, a.Reason)
			}
		})
	}
	url := base + "v1/a/x"
	if err := f.Reach(adds("{session.customer}"), &url).Admit(t.Context()); err == nil || !strings.Contains(err.Error(), "session.customer") {
		t.Errorf("the gate: %v", err)
	}
	if err := f.Reach(adds("closed"), nil).Admit(t.Context()); err != nil {
		t.Errorf("the gate, with entries that are open: %v", err)
	}
	var d *Denial
	all := adds("closed")
	for i := range all {
		all[i].Closed = "closed"
	}
	if err := f.Reach(all, nil).Admit(t.Context()); !errors.As(err, &d) || d.Word != "no_session_value" {
		t.Errorf("the gate, with no entry open: %v", err)
	}
	if a, err := f.Reach(adds("")[:1], nil).Call(t.Context(), "send", requestFor(t, base+"v1/b")); err == nil {
		t.Errorf("fewer sets of headers than entries give %s", a.Body)
	}
}

func requestFor(t testing.TB, url string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Read(fmt.Appendf(nil, `{"from":"track","url":%q}`, url), strictjson.Default(4096))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFetchProxies: no proxy of the environment is used. As net/http reads it
// once, this runs in a process of its own.
func TestFetchProxies(t *testing.T) {
	if os.Getenv(apart) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFetchProxies$")
		again.Env = append(os.Environ(), apart+"=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := newSite(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+s.canary.port)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
	for _, scheme := range []string{"http", "https"} {
		base := s.serve(t, scheme, "track.example", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("straight")) })
		wantText(t, s.get(t, s.reach(t, entry(t, base)), base), 200, "straight")
	}
}

// TestFetchCookies: a cookie is neither shown nor sent back.
func TestFetchCookies(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "crumbs"})
		_, _ = w.Write([]byte(r.Header.Get("Cookie")))
	})
	r := s.reach(t, entry(t, base))
	for range 2 {
		if a := s.get(t, r, base); strings.Contains(string(a.Body), "crumbs") {
			t.Errorf("got %s", a.Body)
		}
	}
}

// TestFetchRedirects: none is followed, within the allow list neither.
func TestFetchRedirects(t *testing.T) {
	s := newSite(t)
	var reached atomic.Int64
	var target string
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/inside" {
			reached.Add(1)
			return
		}
		var code int
		_ = json.Unmarshal([]byte(r.URL.RawQuery), &code)
		w.Header().Set("Location", target)
		w.Header().Set("Refresh", "0; url="+target)
		w.WriteHeader(code)
		_, _ = w.Write([]byte("moved to " + r.Header.Get("Authorization")))
	})
	r := s.reach(t, entry(t, base+"v1/"))
	for _, target = range []string{base + "v1/inside", "/v1/inside", "http://127.0.0.1:" + s.canary.port + "/", "//127.0.0.1:" + s.canary.port, "file:///etc/passwd", "http://" + fetchSecret, ""} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			want(t, s.get(t, r, fmt.Sprint(base, "v1/?", code)), NotAvailable, "redirect")
		}
	}
	if reached.Load() > 0 {
		t.Errorf("%d redirects were followed", reached.Load())
	}
}

// TestFetchCallEnds: a call that is over ends the request.
func TestFetchCallEnds(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	base := s.serve(t, "http", "track.example", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	a, err := s.reach(t, entry(t, base)).Call(ctx, "send", requestFor(t, base))
	if err != nil {
		t.Fatal(err)
	}
	want(t, a, NotAvailable, "cancelled")
}
