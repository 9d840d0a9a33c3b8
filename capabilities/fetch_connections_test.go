package capabilities

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// openConns counts the connections that a server has.
type openConns struct {
	now, most, ever atomic.Int64
}

func (o *openConns) state(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		o.ever.Add(1)
		now := o.now.Add(1)
		for most := o.most.Load(); now > most && !o.most.CompareAndSwap(most, now); most = o.most.Load() {
		}
	case http.StateClosed, http.StateHijacked:
		o.now.Add(-1)
	default:
	}
}

func (s *site) counted(t testing.TB, h http.HandlerFunc) (string, *openConns) {
	t.Helper()
	o := &openConns{}
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = o.state
	server.Start()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	s.names.set("track.example", "127.0.0.1")
	return "http://track.example:" + portOf(server.Listener) + "/", o
}

// TestFetchConnectionsAreBounded: an entry has so many connections at once and
// no more; calls wait for one, and no longer than their time.
func TestFetchConnectionsAreBounded(t *testing.T) {
	for name, header := range map[string]string{"kept": "", "closed": "close"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			var now, most atomic.Int64
			base, open := s.counted(t, func(w http.ResponseWriter, r *http.Request) {
				at := now.Add(1)
				defer now.Add(-1)
				for seen := most.Load(); at > seen && !most.CompareAndSwap(seen, at); seen = most.Load() {
				}
				time.Sleep(10 * time.Millisecond)
				if header != "" {
					w.Header().Set("Connection", header)
				}
				_, _ = io.WriteString(w, r.URL.RawQuery)
			})
			a := entry(t, base)
			a.Connections = 3
			r := s.reach(t, a)
			for range 2 {
				var calls sync.WaitGroup
				for i := range 20 {
					calls.Go(func() { wantText(t, s.get(t, r, fmt.Sprint(base, "?", i)), 200, fmt.Sprint(i)) })
				}
				calls.Wait()
			}
			// Of a connection that is closed the server hears after the next one has begun.
			if conns := open.most.Load(); most.Load() > 3 || header == "" && (conns > 3 || open.ever.Load() > 3) {
				t.Errorf("the server had %d requests on %d connections at once, of %d", most.Load(), conns, open.ever.Load())
			}
		})
	}
	s := newSite(t)
	s.time = 200 * time.Millisecond
	base, _ := s.counted(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := entry(t, base)
	a.Connections = 1
	r := s.reach(t, a)
	var calls sync.WaitGroup
	start := time.Now()
	for range 5 {
		calls.Go(func() { want(t, s.get(t, r, base), NotAvailable, "timeout") })
	}
	calls.Wait()
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("waiting for a connection took %v", d)
	}
}

// TestFetchKeepsConnections: calls use the connection of the call before, of a
// gzip body and a HEAD too; a body that was not read to its end is not kept.
func TestFetchKeepsConnections(t *testing.T) {
	s := newSite(t)
	base, open := s.counted(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped("hello"))
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		default:
			_, _ = io.WriteString(w, "hello")
		}
	})
	r := s.reach(t, entry(t, base))
	wantText(t, s.get(t, r, base), 200, "hello")
	wantText(t, s.get(t, r, base+"gzip"), 200, "hello")
	wantText(t, s.get(t, r, base+"x"), 200, "hello")
	wantText(t, s.send(t, r, `{"url":"`+base+`","method":"HEAD"}`), 200, "")
	wantText(t, s.get(t, r, base), 200, "hello")
	if n := open.ever.Load(); n != 1 {
		t.Errorf("five calls took %d connections", n)
	}
	want(t, s.get(t, r, base+"long"), NotAvailable, "too_long")
	want(t, s.get(t, r, base+"moved"), NotAvailable, "redirect")
	wantText(t, s.get(t, r, base), 200, "hello")
}

// TestFetchTogether: calls of many sessions side by side, each with headers of
// its own, never mix.
func TestFetchTogether(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "https", "track.example", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Customer")+" "+r.Header.Get("Accept")+" "+r.URL.RawQuery)
	})
	f := s.open(t, entry(t, base))
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			customer := fmt.Sprintf("C-%08d", i)
			r := f.Reach([]FetchSecrets{{Headers: []FetchHeader{{"X-Customer", customer}, {"Authorization", fetchSecret}}, Secrets: []string{fetchSecret}}}, nil)
			for j := range 25 {
				a := s.send(t, r, fmt.Sprintf(`{"url":"%s?%d","headers":{"accept":"a%d"}}`, base, j, i))
				wantText(t, a, 200, fmt.Sprintf("%s a%d %d", customer, i, j))
			}
		})
	}
	calls.Wait()
}
