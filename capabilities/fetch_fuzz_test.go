package capabilities

import (
	"net"
	"strconv"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"github.com/toolhost/toolhost/host/strictjson"
	"github.com/toolhost/toolhost/host/stricturl"
)

func fuzzedReach(f *testing.F) *FetchReach {
	f.Helper()
	var allow []FetchAllow
	for _, text := range []string{"https://track.example/v1/", "https://track.example:8443/", "http://127.0.0.1:8080/a/", "http://[::1]:8080/", "https://xn--bcher-kva.example/x"} {
		allow = append(allow, entry(f, text))
		for _, rest := range []string{"", "a", "a%20b?c=d'", "../x", "%2e%2e/", "//x", "@evil.test/", "?", "#", "\\x", "..;/"} {
			f.Add(text + rest)
		}
	}
	for _, rule := range refusedURLs {
		for _, text := range rule.texts {
			f.Add(strings.NewReplacer("{P}", "443", "{C}", "8080").Replace(text))
		}
	}
	fetch := OpenFetch(FetchConfig{Name: "track", Allow: allow})
	f.Cleanup(func() { _ = fetch.Close() })
	return fetch.Reach(withSecret(len(allow)), nil)
}

// FuzzFetchURL: whatever text the check lets through, the request goes to the
// entry's host and port, with the path and query as they were written; and the
// URL Standard's parser finds the same host, port and path in the text.
func FuzzFetchURL(f *testing.F) {
	r := fuzzedReach(f)
	f.Fuzz(func(t *testing.T, text string) {
		choice, err := r.choose("GET", text)
		if err != nil {
			return
		}
		request, err := newRequest(t.Context(), fetchRequest{url: text, method: "GET"}, choice)
		if err != nil {
			t.Fatalf("%q is allowed, and then: %v", text, err)
		}
		allowed := choice.entry.URL
		if request.URL.Scheme != allowed.Scheme || request.URL.Host != allowed.Authority() || request.Host != allowed.Authority() {
			t.Fatalf("%q goes to %s (Host %q), allowed is %s", text, request.URL, request.Host, allowed)
		}
		_, rest, _ := strings.Cut(text, "://")
		target := "/"
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			target = rest[i:]
		}
		if request.URL.RequestURI() != target || !strings.HasPrefix(target, allowed.Path) {
			t.Fatalf("%q asks for %q", text, request.URL.RequestURI())
		}
		other, err := whatwg.Parse(text)
		if err != nil {
			t.Fatalf("the URL Standard refuses %q: %v", text, err)
		}
		port := other.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[other.Scheme()]
		}
		host := strings.Trim(other.Hostname(), "[]")
		if net.JoinHostPort(host, port) != net.JoinHostPort(allowed.Host, strconv.Itoa(int(allowed.Port))) || other.Pathname() != strings.SplitN(target, "?", 2)[0] {
			t.Fatalf("%q is by the URL Standard %s", text, other.Href(false))
		}
	})
}

// FuzzFetchRequest: no request of a guest puts anything into a request but a
// URL that is allowed, a method of the entry's and the four headers.
func FuzzFetchRequest(f *testing.F) {
	for _, text := range []string{
		`{"from":"track","url":"https://track.example/v1/a"}`, `{"url":"https://track.example/v1/","method":"HEAD","headers":{"accept":"a\r\nb"}}`,
		`{"url":"https://track.example/v1/","method":"","headers":{"if-none-match":"\"x\"","host":"x"}}`,
	} {
		f.Add(text)
	}
	r := fuzzedReach(f)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := strictjson.Read([]byte(text), strictjson.Default(4096))
		if err != nil {
			return
		}
		q, err := parseFetch(v)
		if err != nil {
			return
		}
		choice, err := r.choose(q.method, q.url)
		if err != nil {
			return
		}
		request, err := newRequest(t.Context(), q, choice)
		if err != nil {
			t.Fatal(err)
		}
		if request.Method != "GET" && request.Method != "HEAD" || request.Body != nil {
			t.Fatalf("%s becomes %q with the body %v", text, request.Method, request.Body)
		}
		for name, values := range request.Header {
			if !strings.Contains(" Accept Accept-Encoding Accept-Language Authorization If-Modified-Since If-None-Match User-Agent ", " "+name+" ") || len(values) != 1 || !stricturl.Printable(values[0]) {
				t.Fatalf("%s sets %s: %q", text, name, values)
			}
		}
		if request.Header.Get("Authorization") != "Bearer "+fetchSecret {
			t.Fatalf("%s sets Authorization", text)
		}
	})
}
