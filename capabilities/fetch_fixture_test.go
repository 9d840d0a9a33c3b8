package capabilities

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/strictjson"
	"github.com/toolhost/toolhost/host/stricturl"
)

// fetchSecret is what the host sends and nobody but the server may see.
const fetchSecret = "tok-9f81/AbC+dEf~x7Q=="

// apart tells a test that it runs in a process of its own.
const apart = "TOOLHOST_TEST_APART"

// A site is all that a test of fetch needs, on loopback: a resolver, servers,
// and a canary that nothing may reach.
type site struct {
	maxBytes int64
	time     time.Duration
	names    *names
	canary   *canary
	said     *said // what net/http writes to the standard logger
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{maxBytes: 4096, time: 5 * time.Second, names: newNames(t), canary: newCanary(t, "127.0.0.1:0"), said: &said{}}
	before := log.Writer()
	log.SetOutput(s.said)
	t.Cleanup(func() {
		log.SetOutput(before)
		if text := s.said.String(); holdsSecret(text) {
			t.Errorf("the standard logger got the secret: %s", text)
		}
	})
	return s
}

type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// entry allows a URL on loopback, with the test's own authority.
func entry(t testing.TB, text string) FetchAllow {
	t.Helper()
	u, err := stricturl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return FetchAllow{
		URL: u, Methods: []string{"GET", "HEAD"}, Connections: 4,
		Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Roots: authority().pool,
	}
}

func (s *site) open(t testing.TB, allow ...FetchAllow) *Fetch {
	t.Helper()
	f := OpenFetch(FetchConfig{Name: "track", Allow: allow, MaxBytes: s.maxBytes, Time: s.time, Resolver: s.names.resolver()})
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// reach sends the secret to every entry.
func (s *site) reach(t testing.TB, allow ...FetchAllow) *FetchReach {
	t.Helper()
	return s.open(t, allow...).Reach(withSecret(len(allow)), nil)
}

func withSecret(entries int) []FetchSecrets {
	secrets := make([]FetchSecrets, entries)
	for i := range secrets {
		secrets[i] = FetchSecrets{Headers: []FetchHeader{{"Authorization", "Bearer " + fetchSecret}}, Secrets: []string{fetchSecret}}
	}
	return secrets
}

// get asks for a URL.
func (s *site) get(t testing.TB, r Reach, url string) Answer {
	t.Helper()
	return s.send(t, r, `{"from":"track","url":`+string(strictjson.AppendString(nil, url))+`}`)
}

// send makes one call, of which the secret comes to nothing that leaves and
// which reaches no canary.
func (s *site) send(t testing.TB, r Reach, request string) Answer {
	t.Helper()
	a := call(t, r, "send", request)
	if text := string(a.Body) + "\n" + a.Reason; holdsSecret(text) {
		t.Errorf("the answer holds the secret: %s", text)
	}
	if n := s.canary.touched(); n > 0 {
		t.Errorf("the canary was reached %d times", n)
	}
	return a
}

// holdsSecret knows the ways of writing itself, not by the code under test.
func holdsSecret(text string) bool {
	for _, form := range []string{
		fetchSecret, "tok-9f81", "dEf~x7Q", `tok-9f81\/AbC`, "tok-9f81%2FAbC%2BdEf~x7Q%3D%3D", "dG9rLTlmODEvQWJDK2RFZn54N1E9", "746f6b2d39663831",
	} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// wordOf is the word of a reason.
func wordOf(a Answer) string {
	w, _, _ := strings.Cut(a.Reason, ":")
	return w
}

func want(t testing.TB, a Answer, status Status, reason string) {
	t.Helper()
	if a.Status != status || wordOf(a) != reason {
		t.Errorf("got %s %q %s, want %s %q", a.Status.Word(), a.Reason, a.Body, status.Word(), reason)
	}
	if a.Status == NotAvailable && len(a.Body) > 0 {
		t.Errorf("a refusal tells the guest %s", a.Body)
	}
}

// content is what a guest gets of a response.
type content struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Text    *string           `json:"text"`
	Base64  *string           `json:"base64"`
}

func wantText(t testing.TB, a Answer, status int, text string) content {
	t.Helper()
	var c content
	if err := json.Unmarshal(a.Body, &c); err != nil || a.Status != OK {
		t.Errorf("got %s %q %s (%v)", a.Status.Word(), a.Reason, a.Body, err)
		return c
	}
	if c.Status != status || c.Text == nil || *c.Text != text {
		t.Errorf("got %s, want %d %q", a.Body, status, text)
	}
	return c
}

// serve starts a real server for a name on loopback and gives its URL.
func (s *site) serve(t testing.TB, scheme, name string, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if scheme == "https" {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{authority().issue(t, leaf(name))}}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	s.names.set(name, "127.0.0.1")
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	return scheme + "://" + net.JoinHostPort(name, port) + "/"
}

// raw starts a server that says whatever the test likes: answer gets each
// request of a connection with its Authorization, until it gives false.
func (s *site) raw(t testing.TB, name string, answer func(c net.Conn, authorization string) bool) string {
	t.Helper()
	l := listen(t, "127.0.0.1:0")
	s.names.set(name, "127.0.0.1")
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	serveConns(l, func(c net.Conn) {
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-ended:
			case <-stop:
			}
			_ = c.Close()
		}()
		r := bufio.NewReader(c)
		for {
			request, err := http.ReadRequest(r)
			if err != nil || !answer(c, request.Header.Get("Authorization")) {
				return
			}
		}
	})
	return "http://" + net.JoinHostPort(name, portOf(l)) + "/"
}

func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func portOf(l net.Listener) string {
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func serveConns(l net.Listener, each func(net.Conn)) {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				each(c)
			}()
		}
	}()
}

// A canary counts the connections to an address that nobody may dial.
type canary struct {
	port  string
	count atomic.Int64
}

func newCanary(t testing.TB, address string) *canary {
	t.Helper()
	l := listen(t, address)
	c := &canary{port: portOf(l)}
	serveConns(l, func(conn net.Conn) {
		c.count.Add(1)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\ncanary")
	})
	return c
}

func (c *canary) touched() int64 { return c.count.Load() }
