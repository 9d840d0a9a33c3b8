package capabilities

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestDeliverStatuses: the status line decides, and nothing else of an answer.
func TestDeliverStatuses(t *testing.T) {
	s := newSite(t)
	for status, end := range map[int]AttemptEnd{
		200: Delivered, 201: Delivered, 202: Delivered, 204: Delivered, 299: Delivered,
		300: Refused, 301: Refused, 302: Refused, 303: Refused, 304: Refused, 307: Refused, 308: Refused,
		400: Refused, 401: Refused, 403: Refused, 404: Refused, 405: Refused, 409: Refused, 410: Refused, 413: Refused, 418: Refused, 422: Refused, 451: Refused, 499: Refused,
		408: Later, 425: Later, 429: Later,
		500: Later, 501: Later, 502: Later, 503: Later, 504: Later, 507: Later, 599: Later,
		600: Later, 999: Later,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			base := s.serve(t, "http", "erp.example", saying(status, "Location", "http://127.0.0.1:"+s.canary.port+"/"))
			a := s.deliver(t, s.open(t, takes(t, base)), order(base+"v1/refunds"))
			word := "status"
			switch {
			case end == Delivered:
				word = ""
			case status < 400:
				word = "redirect"
			case status >= 600:
				word = "bad_answer"
			}
			wantEnd(t, a, end, fmt.Sprint(status), word)
		})
	}
}

// TestDeliverRetryAfter: how long the other side asks to wait, bounded.
func TestDeliverRetryAfter(t *testing.T) {
	now := time.Date(2026, 9, 16, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":    0,
		"0":   0,
		"120": 2 * time.Minute, "86400": MaxAfter, "86401": MaxAfter, "99999999999999999999999": MaxAfter,
		"-1": 0, "+1": 0, "1.5": 0, "soon": 0, "1e3": 0,
		"Wed, 16 Sep 2026 10:05:00 GMT": 5 * time.Minute, "Wed, 16 Sep 2026 09:00:00 GMT": 0, "Fri, 16 Sep 2994 09:00:00 GMT": MaxAfter,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	s := newSite(t)
	for status, want := range map[int]time.Duration{429: 7 * time.Second, 503: 7 * time.Second, 403: 0, 201: 0} {
		base := s.serve(t, "http", "erp.example", saying(status, "Retry-After", "7"))
		if a := s.deliver(t, s.open(t, takes(t, base)), order(base)); a.After != want {
			t.Errorf("%d: %v, want %v", status, a.After, want)
		}
	}
}

// brokenDeliveries are servers that have read the whole request and then do not
// answer as they should: the other side may have taken it, and the key tells.
var brokenDeliveries = map[string]struct {
	answer string // "-": nothing, and the connection stays
	end    AttemptEnd
	status string
	word   string
}{
	"hangs":                           {"-", Later, "", "timeout"},
	"closes-without-an-answer":        {"", Later, "", "bad_answer"},
	"closes-in-the-status-line":       {"HTTP/1.1 2", Later, "", "bad_answer"},
	"closes-in-the-headers":           {"HTTP/1.1 201 Created\r\nX: theirs-", Later, "", "bad_answer"},
	"hangs-in-the-headers":            {"HTTP/1.1 201 Created\r\nX: theirs-\r\n-", Later, "", "timeout"},
	"speaks-no-http":                  {"250 theirs-\r\n", Later, "", "bad_answer"},
	"headers-without-end":             {"HTTP/1.1 201 Created\r\n" + strings.Repeat("X: theirs-\r\n", 8000), Later, "", "bad_answer"},
	"goes-on-for-ever-about-progress": {strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 9000), Later, "", "bad_answer"},
	"switches-protocols":              {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: theirs\r\nConnection: Upgrade\r\n\r\n", Later, "101", "bad_answer"},
	"early-hints-first":               {"HTTP/1.1 103 Early Hints\r\nLink: theirs-\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", Delivered, "201", ""},
	// The status has been said: what becomes of a body that nobody reads is no part of it.
	"taken-and-closes-in-the-body":   {"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\ntheirs-", Delivered, "201", ""},
	"taken-and-hangs-in-the-body":    {"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\ntheirs-", Delivered, "201", ""},
	"taken-and-a-broken-chunk":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Delivered, "200", ""},
	"taken-and-an-unknown-encoding":  {"HTTP/1.1 200 OK\r\nContent-Encoding: theirs\r\nContent-Length: 1\r\n\r\nx", Delivered, "200", ""},
	"taken-and-says-too-much":        {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1<<20), Delivered, "200", ""},
	"refused-and-closes-in-the-body": {"HTTP/1.1 403 theirs-\r\nContent-Length: 100\r\n\r\ntheirs-", Refused, "403", "status"},
	"busy-and-closes-in-the-body":    {"HTTP/1.1 503 theirs-\r\nContent-Length: 100\r\n\r\ntheirs-", Later, "503", "status"},
}

func TestDeliverBrokenAnswers(t *testing.T) {
	s := newSite(t)
	for name, tt := range brokenDeliveries {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			hangs := strings.Contains(name, "hangs")
			s.time = 5 * time.Second
			if hangs {
				s.time = 500 * time.Millisecond
			}
			base := s.raw(t, "erp.example", func(c net.Conn, _ string) bool {
				requests.Add(1)
				_, _ = io.WriteString(c, strings.TrimSuffix(tt.answer, "-"))
				return hangs
			})
			start := time.Now()
			d := order(base)
			d.Body = nil // raw reads a request's head alone
			wantEnd(t, s.deliver(t, s.open(t, takes(t, base)), d), tt.end, tt.status, tt.word)
			if n := requests.Load(); n != 1 {
				t.Errorf("%d requests for one attempt", n)
			}
			if d := time.Since(start); d > s.time+2*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestDeliverSlow: the whole attempt is bounded, and what a server says within
// the bound counts.
func TestDeliverSlow(t *testing.T) {
	s := newSite(t)
	s.time = 2 * time.Second
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		end     AttemptEnd
		status  string
		word    string
	}{
		"headers-in-time": {func(w http.ResponseWriter, _ *http.Request) { time.Sleep(100 * time.Millisecond); w.WriteHeader(201) }, Delivered, "201", ""},
		"headers-too-late": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // before its end no server sees that the other side is gone
			<-r.Context().Done()
		}, Later, "", "timeout"},
		"body-without-end": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("."))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}, Delivered, "200", ""},
	} {
		t.Run(name, func(t *testing.T) {
			base := s.serve(t, "http", "erp.example", tt.handler)
			start := time.Now()
			wantEnd(t, s.deliver(t, s.open(t, takes(t, base)), order(base)), tt.end, tt.status, tt.word)
			if d := time.Since(start); d > s.time+2*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestDeliverNoConnection: nothing has been sent, and what keeps it from being
// sent can change.
func TestDeliverNoConnection(t *testing.T) {
	s := newSite(t)
	s.time = time.Second
	other := newCA("another authority")
	secure := func(by *ca, names ...string) string {
		return strings.Replace(s.secure(t, &tls.Config{Certificates: []tls.Certificate{by.issue(t, leaf(names...))}}), "track", "erp", 1)
	}
	l := listen(t, "127.0.0.1:0")
	down := "http://erp.example:" + portOf(l) + "/"
	_ = l.Close()
	dies := listen(t, "127.0.0.1:0")
	serveConns(dies, func(net.Conn) {})
	silent := listen(t, "127.0.0.1:0")
	serveConns(silent, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	plain := s.serve(t, "http", "erp.example", saying(200))
	for name, tt := range map[string]struct {
		url       string
		addresses []string
		word      string
	}{
		"down":                        {down, []string{"127.0.0.1"}, "no_connection"},
		"dies-after-accept":           {"http://erp.example:" + portOf(dies) + "/", []string{"127.0.0.1"}, "bad_answer"},
		"dies-in-the-handshake":       {"https://erp.example:" + portOf(dies) + "/", []string{"127.0.0.1"}, "no_connection"},
		"silent-in-the-handshake":     {"https://erp.example:" + portOf(silent) + "/", []string{"127.0.0.1"}, "timeout"},
		"no-such-name":                {down, nil, "name"},
		"address-not-listed":          {plain, []string{"127.0.0.2"}, "address"},
		"address-private":             {plain, []string{"10.0.0.1", "169.254.169.254"}, "address"},
		"https-to-http":               {strings.Replace(plain, "http:", "https:", 1), []string{"127.0.0.1"}, "no_connection"},
		"certificate-by-another":      {secure(other, "erp.example"), []string{"127.0.0.1"}, "certificate"},
		"certificate-of-another-name": {secure(authority(), "evil.test"), []string{"127.0.0.1"}, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			s.names.set("erp.example", tt.addresses...)
			wantEnd(t, s.deliver(t, s.open(t, takes(t, tt.url)), order(tt.url)), Later, "", tt.word)
		})
	}
	t.Run("certificate-expired", func(t *testing.T) {
		old := leaf("erp.example")
		old.NotAfter = time.Now().Add(-time.Minute)
		url := strings.Replace(s.secure(t, &tls.Config{Certificates: []tls.Certificate{authority().issue(t, old)}}), "track", "erp", 1)
		s.names.set("erp.example", "127.0.0.1")
		a := s.deliver(t, s.open(t, takes(t, url)), order(url))
		wantEnd(t, a, Later, "", "certificate")
		if !strings.Contains(a.Reason, "expired") {
			t.Errorf("the reason is %q", a.Reason)
		}
	})
	t.Run("certificate-that-holds", func(t *testing.T) {
		url := secure(authority(), "erp.example")
		s.names.set("erp.example", "127.0.0.1")
		wantEnd(t, s.deliver(t, s.open(t, takes(t, url)), order(url)), Delivered, "200", "")
		a := takes(t, url)
		a.Roots = x509.NewCertPool()
		wantEnd(t, s.deliver(t, s.open(t, a), order(url)), Later, "", "certificate")
	})
	t.Run("public-addresses-alone", func(t *testing.T) {
		a := takes(t, "http://erp.example:"+s.canary.port+"/")
		a.Addresses = nil
		s.names.set("erp.example", "127.0.0.1")
		wantEnd(t, s.deliver(t, s.open(t, a), order(a.URL.String())), Later, "", "address")
	})
}
