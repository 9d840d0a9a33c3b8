package capabilities

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// writings are the ways in which web servers write a text that they repeat.
func writings() map[string]func(string) string {
	percent := func(s, keep string) string { // as encodeURIComponent and its like
		var b strings.Builder
		for i := range len(s) {
			if c := s[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(keep, c) >= 0 {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		return b.String()
	}
	replaced := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	return map[string]func(string) string{
		"raw":           func(s string) string { return s },
		"go-quoted":     strconv.Quote,
		"go-json":       func(s string) string { b, _ := json.Marshal(s); return string(b) },
		"js-json":       replaced(`\`, `\\`, `"`, `\"`),
		"php-json":      replaced(`\`, `\\`, `"`, `\"`, `/`, `\/`),
		"dotnet-json":   replaced(`\`, `\\`, `"`, `\u0022`, `&`, `\u0026`, `<`, `\u003C`, `>`, `\u003E`, `'`, `\u0027`, `+`, `\u002B`, "`", `\u0060`),
		"go-html":       html.EscapeString,
		"php-html":      replaced(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`, `"`, `&quot;`, `'`, `&#039;`),
		"python-html":   replaced(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`, `"`, `&quot;`, `'`, `&#x27;`),
		"mustache-html": replaced(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`, `"`, `&quot;`, `'`, `&#39;`, `/`, `&#x2F;`, "`", `&#x60;`, `=`, `&#x3D;`),
		"xml":           func(s string) string { var b strings.Builder; _ = xml.EscapeText(&b, []byte(s)); return b.String() },
		"go-query":      url.QueryEscape,
		"go-path":       url.PathEscape,
		"js-component":  func(s string) string { return percent(s, "-_.!~*'()") },
		"js-uri":        func(s string) string { return percent(s, "-_.!~*'();/?:@&=+$,#") },
		"python-quote":  func(s string) string { return percent(s, "-_.~/") },
		"java-query":    func(s string) string { return strings.ReplaceAll(percent(s, "-_.* "), " ", "+") },
		"lower-percent": func(s string) string {
			return replaced("%2F", "%2f", "%2B", "%2b", "%3D", "%3d", "%3C", "%3c", "%3E", "%3e", "%7E", "%7e")(percent(s, "-_."))
		},
		"hex":             func(s string) string { return hex.EncodeToString([]byte(s)) },
		"hex-upper":       func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"base64":          func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64-at-1":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte("{" + s + "}")) },
		"base64-at-2":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(`{"` + s + `"}`)) },
		"base64-within":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte("Bearer " + s + ", and more")) },
		"base64-url":      func(s string) string { return base64.URLEncoding.EncodeToString([]byte("?" + s)) },
		"base64-no-pad":   func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"base64-in-lines": func(s string) string { return inLines(base64.StdEncoding.EncodeToString([]byte("Bearer " + s))) },
		"base64-in-lines-of-json": func(s string) string {
			return strings.ReplaceAll(inLines(base64.StdEncoding.EncodeToString([]byte("Bearer "+s))), "\n", `\n`)
		},
		"in-a-http-dump": func(s string) string { return "GET / HTTP/1.1\r\nAUTHORIZATION: Bearer " + s + "\r\n" },
	}
}

// inLines breaks a text as mailers do, only sooner.
func inLines(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i += 8 {
		b.WriteString(text[i:min(i+8, len(text))] + "\n")
	}
	return b.String()
}

// TestFetchEchoes: a response that repeats a secret in one of these writings
// does not reach the guest, wherever it stands.
func TestFetchEchoes(t *testing.T) {
	s := newSite(t)
	var repeated, place string
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, _ *http.Request) {
		switch place {
		case "body":
			_, _ = io.WriteString(w, `{"you sent":"`+repeated+`"}`)
		case "gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped("you sent "+repeated))
		case "status-404":
			http.Error(w, "no: "+repeated, http.StatusNotFound)
		case "etag", "content-type", "x-debug", "set-cookie":
			w.Header().Set(place, "x="+repeated)
		case "two-headers":
			w.Header().Add("X-Debug", "first")
			w.Header().Add("X-Debug", repeated)
		case "before-much":
			_, _ = io.WriteString(w, repeated+strings.Repeat("x", 3000))
		case "after-much":
			_, _ = io.WriteString(w, strings.Repeat("x", 3000)+repeated)
		case "bytes":
			_, _ = io.WriteString(w, "\xff\x00"+repeated+"\xff")
		}
	})
	f := s.open(t, entry(t, base))
	for _, secret := range []string{fetchSecret, "12345678", `k"e<y>&'/\+=x~1`, "with spaces, (and) more!", "0123456789abcdef0123456789abcdef"} {
		reach := f.Reach([]FetchSecrets{{Headers: []FetchHeader{{"X-Key", secret}}, Secrets: []string{"another-one", secret}}}, nil)
		for name, write := range writings() {
			for _, place = range []string{"body", "gzip", "status-404", "etag", "content-type", "x-debug", "set-cookie", "two-headers", "before-much", "after-much", "bytes"} {
				repeated = write(secret)
				if a := s.get(t, reach, base); a.Status != NotAvailable || wordOf(a) != "echo" || strings.Contains(a.Reason, secret) {
					t.Errorf("%s of %s in %s: %s %q %s", name, secret, place, a.Status.Word(), a.Reason, a.Body)
				}
			}
		}
	}
}

// TestFetchEchoInAName: header names come in another case than they were sent,
// and a reason phrase is a text of the server's too.
func TestFetchEchoInAName(t *testing.T) {
	const secret = "tok-9f81-abCdEf-x7Q"
	for name, answer := range map[string]string{
		"name": okHead + secret + ": x\r\nContent-Length: 0\r\n\r\n", "name-in-lower-case": okHead + strings.ToLower(secret) + ": x\r\nContent-Length: 0\r\n\r\n",
		"name-in-upper-case": okHead + strings.ToUpper(secret) + ": x\r\nContent-Length: 0\r\n\r\n", "phrase": "HTTP/1.1 200 OK, " + secret + "\r\nContent-Length: 0\r\n\r\n",
		"phrase-in-base64": "HTTP/1.1 200 " + base64.StdEncoding.EncodeToString([]byte(secret)) + "\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			base := s.raw(t, "track.example", func(c net.Conn, _ string) bool { _, _ = io.WriteString(c, answer); return false })
			r := s.open(t, entry(t, base)).Reach([]FetchSecrets{{Secrets: []string{secret}}}, nil)
			want(t, s.get(t, r, base), NotAvailable, "echo")
		})
	}
}

// TestFetchEchoOfCredentials: what stands encoded in a secret is a secret.
func TestFetchEchoOfCredentials(t *testing.T) {
	s := newSite(t)
	var repeated string
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, repeated) })
	credentials := base64.StdEncoding.EncodeToString([]byte("shop:open sesame/42"))
	r := s.open(t, entry(t, base)).Reach([]FetchSecrets{{Headers: []FetchHeader{{"Authorization", "Basic " + credentials}}, Secrets: []string{credentials}}}, nil)
	for text, stopped := range map[string]bool{
		credentials: true, "shop:open sesame/42": true, "open sesame/42": true, `{"password":"open sesame\/42"}`: true, "open+sesame%2F42": true,
		base64.StdEncoding.EncodeToString([]byte("password open sesame/42")): true, hex.EncodeToString([]byte("open sesame/42")): true,
		"shop": false, "open": false, "open sesame": false, "": false, "Basic": false,
	} {
		repeated = text
		if a := s.get(t, r, base); stopped {
			want(t, a, NotAvailable, "echo")
		} else {
			wantText(t, a, 200, text)
		}
	}
}

// TestFetchMayEcho: a value that is not among the secrets may come back, and an
// empty secret stops nothing.
func TestFetchMayEcho(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Customer")) })
	f := s.open(t, entry(t, base))
	adds := FetchSecrets{Headers: []FetchHeader{{"X-Customer", "C-58110642"}, {"Authorization", "Bearer " + fetchSecret}}, Secrets: []string{"", fetchSecret}}
	wantText(t, s.get(t, f.Reach([]FetchSecrets{adds}, nil), base), 200, "C-58110642")
	adds.Secrets = append(adds.Secrets, "C-58110642")
	want(t, s.get(t, f.Reach([]FetchSecrets{adds}, nil), base), NotAvailable, "echo")
	wantText(t, s.get(t, f.Reach([]FetchSecrets{{Headers: adds.Headers}}, nil), base), 200, "C-58110642")
}

// TestFetchLoggerGetsNoSecret: net/http writes to the standard logger what comes
// on a connection that nothing was asked on; see hush.
func TestFetchLoggerGetsNoSecret(t *testing.T) {
	s := newSite(t)
	closed := make(chan struct{})
	base := s.raw(t, "track.example", func(c net.Conn, a string) bool {
		_, _ = io.WriteString(c, okHead+"Content-Length: 2\r\n\r\nok"+a)
		_, _ = io.Copy(io.Discard, c) // until the client closes, which is after it has written
		close(closed)
		return false
	})
	wantText(t, s.get(t, s.reach(t, entry(t, base)), base), 200, "ok")
	<-closed
	if text := s.said.String(); text != "" {
		t.Errorf("the standard logger got %s", text)
	}
}
