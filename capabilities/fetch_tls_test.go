package capabilities

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// secure starts a server with a TLS of the test's own.
func (s *site) secure(t testing.TB, c *tls.Config) string {
	t.Helper()
	server := http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+fetchSecret {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})}
	l := listen(t, "127.0.0.1:0")
	go func() { _ = server.Serve(tls.NewListener(l, c)) }()
	t.Cleanup(func() { _ = server.Close() })
	s.names.set("track.example", "127.0.0.1")
	return "https://track.example:" + portOf(l) + "/"
}

// TestFetchCertificates: who the server is, is known before anything is sent.
func TestFetchCertificates(t *testing.T) {
	good := func() *x509.Certificate { return leaf("track.example") }
	changed := func(change func(*x509.Certificate)) *x509.Certificate {
		c := good()
		change(c)
		return c
	}
	other := newCA("another authority")
	lookalike := newCA("the test's authority")
	for name, tt := range map[string]struct {
		by   *ca
		cert *x509.Certificate
		word string
	}{
		"good":                                 {authority(), good(), ""},
		"by-another":                           {other, good(), "certificate"},
		"by-one-of-its-name":                   {lookalike, good(), "certificate"},
		"wrong-name":                           {authority(), leaf("evil.test"), "certificate"},
		"name-below":                           {authority(), leaf("a.track.example"), "certificate"},
		"wildcard-of-all":                      {authority(), leaf("*.example"), ""},
		"address":                              {authority(), leaf("127.0.0.1"), "certificate"},
		"common-name-alone":                    {authority(), changed(func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = nil, "track.example" }), "certificate"},
		"expired":                              {authority(), changed(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "certificate"},
		"not-yet":                              {authority(), changed(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), "certificate"},
		"for-clients":                          {authority(), changed(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), "certificate"},
		"secret-as-a-name":                     {authority(), leaf("x." + fetchSecret), "certificate"},
		"secret-as-the-common-name-by-another": {other, changed(func(c *x509.Certificate) { c.Subject.CommonName = fetchSecret }), "certificate"},
		"secret-as-a-broken-uri": {authority(), changed(func(c *x509.Certificate) {
			c.URIs = []*url.URL{{Scheme: "spiffe", Host: "a b", Path: "/" + fetchSecret}}
		}), "no_connection"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			base := s.secure(t, &tls.Config{Certificates: []tls.Certificate{tt.by.issue(t, tt.cert)}})
			if a := s.get(t, s.reach(t, entry(t, base)), base); tt.word == "" {
				wantText(t, a, 200, "")
			} else {
				want(t, a, NotAvailable, tt.word)
				t.Log(a.Reason)
			}
		})
	}
	s := newSite(t)
	base := s.secure(t, &tls.Config{Certificates: []tls.Certificate{authority().issue(t, good())}})
	a := entry(t, base)
	a.Roots = nil // the system's
	want(t, s.get(t, s.reach(t, a), base), NotAvailable, "certificate")
}

// TestFetchTLS: an old protocol is no protocol, and there is no way from https
// down to http.
func TestFetchTLS(t *testing.T) {
	s := newSite(t)
	config := func(c *tls.Config) *tls.Config {
		c.Certificates = []tls.Certificate{authority().issue(t, leaf("track.example"))}
		return c
	}
	for name, tt := range map[string]struct {
		c    *tls.Config
		word string
	}{
		"tls-1.3":     {&tls.Config{MinVersion: tls.VersionTLS13}, ""},
		"tls-1.2":     {&tls.Config{MaxVersion: tls.VersionTLS12}, ""},
		"tls-1.1":     {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "no_connection"},
		"tls-1.0":     {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, "no_connection"},
		"http-2-only": {&tls.Config{NextProtos: []string{"h2"}}, ""}, // none is asked for
		"client-cert": {&tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, "no_connection"},
	} {
		t.Run(name, func(t *testing.T) {
			base := s.secure(t, config(tt.c))
			if a := s.get(t, s.reach(t, entry(t, base)), base); tt.word == "" {
				wantText(t, a, 200, "")
			} else {
				want(t, a, NotAvailable, tt.word)
				t.Log(a.Reason)
			}
		})
	}
	for name, answer := range map[string]string{
		"http-server": "HTTP/1.1 400 " + fetchSecret + "\r\n\r\n" + fetchSecret, "other-server": fetchSecret, "closes": "",
		"alert": "\x15\x03\x01\x00\x02\x02\x28", "record-of-a-secret": "\x16\x03\x01\x00\x17" + fetchSecret + strings.Repeat("x", 200),
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, "127.0.0.1:0")
			serveConns(l, func(c net.Conn) {
				line, _ := bufio.NewReader(c).Peek(5)
				if strings.HasPrefix(string(line), "GET") {
					t.Errorf("the request came in the open: %q", line)
				}
				_, _ = io.WriteString(c, answer)
			})
			s.names.set("track.example", "127.0.0.1")
			base := "https://track.example:" + portOf(l) + "/"
			a := s.get(t, s.reach(t, entry(t, base)), base)
			want(t, a, NotAvailable, "no_connection")
			t.Log(a.Reason)
		})
	}
}
