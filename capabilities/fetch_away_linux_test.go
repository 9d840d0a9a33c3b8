package capabilities

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestFetchNoServer: a server that is away, or that never takes a connection.
func TestFetchNoServer(t *testing.T) {
	s := newSite(t)
	s.time = 200 * time.Millisecond
	s.names.set("track.example", "127.0.0.1")
	_, bound := boundSocket(t) // nobody else can take the port, and nobody listens on it
	base := fmt.Sprint("http://track.example:", bound, "/")
	want(t, s.get(t, s.reach(t, entry(t, base)), base), NotAvailable, "no_connection")

	full := fullListener(t)
	base = fmt.Sprint("http://track.example:", full, "/")
	want(t, s.get(t, s.reach(t, entry(t, base)), base), NotAvailable, "timeout")
	secure := fmt.Sprint("https://track.example:", portOf(listen(t, "127.0.0.1:0")), "/") // accepted by the kernel alone
	want(t, s.get(t, s.reach(t, entry(t, secure)), secure), NotAvailable, "timeout")
}

// boundSocket has a port of its own and does not listen.
func boundSocket(t *testing.T) (socket, port int) {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return socket, name.(*syscall.SockaddrInet4).Port
}

// fullListener is a port whose queue of connections is full.
func fullListener(t *testing.T) int {
	t.Helper()
	socket, port := boundSocket(t)
	if err := syscall.Listen(socket, 0); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		c, err := net.DialTimeout("tcp", fmt.Sprint("127.0.0.1:", port), 50*time.Millisecond)
		if err != nil {
			break
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	return port
}

// TestFetchLeaksNothing: after Close, what was asked has left no goroutine and
// no connection, whatever the servers did.
func TestFetchLeaksNothing(t *testing.T) {
	s := newSite(t)
	s.time = 100 * time.Millisecond
	base, open := s.counted(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			<-r.Context().Done()
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/broken":
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, okHead+"Transfer-Encoding: chunked\r\n\r\nx\r\n")
		case "/switch":
			w.Header().Set("Upgrade", "x")
			w.Header().Set("Connection", "upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}
	})
	full := fullListener(t)
	before := runtime.NumGoroutine()
	f := OpenFetch(FetchConfig{
		Name: "track", Allow: []FetchAllow{entry(t, base), entry(t, fmt.Sprint("http://track.example:", full, "/"))},
		MaxBytes: s.maxBytes, Time: s.time, Resolver: s.names.resolver(),
	})
	r := f.Reach(withSecret(2), nil)
	var calls sync.WaitGroup
	for _, path := range []string{"", "slow", "long", "moved", "broken", "switch", "", "slow"} {
		calls.Go(func() { s.get(t, r, base+path) })
	}
	calls.Go(func() { want(t, s.get(t, r, fmt.Sprint("http://track.example:", full, "/")), NotAvailable, "timeout") })
	calls.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		goroutines, conns := runtime.NumGoroutine(), open.now.Load()
		if goroutines <= before && conns == 0 {
			return
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines were %d, %d connections\n%s", goroutines, before, conns, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
