package capabilities

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkFetchCheck is the gate's check of one URL.
func BenchmarkFetchCheck(b *testing.B) {
	text := "https://track.example/v1/shipments/LK-581106?fields=state"
	f := OpenFetch(FetchConfig{Name: "track", Allow: []FetchAllow{entry(b, "https://other.example/"), entry(b, "https://track.example/v1/")}})
	r := f.Reach(withSecret(2), &text)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Admit(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

var benchBody = `{"shipment":"LK-581106","state":"on the way","steps":[` + strings.Repeat(`{"at":"2026-09-16T10:00:00Z","where":"depot"},`, 20) + `{}]}`

func benchServer(b *testing.B) (*site, string) {
	s := newSite(b)
	s.maxBytes = 1 << 16
	return s, s.serve(b, "http", "track.example", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, benchBody)
	})
}

// BenchmarkFetch is one call over a connection that is kept; BenchmarkNetHTTP
// beside it is the same request by a plain client.
func BenchmarkFetch(b *testing.B) {
	s, base := benchServer(b)
	r := s.reach(b, entry(b, base))
	request := requestFor(b, base)
	b.ReportAllocs()
	for b.Loop() {
		if a, err := r.Call(b.Context(), "send", request); err != nil || a.Status != OK {
			b.Fatal(a, err)
		}
	}
}

func BenchmarkNetHTTP(b *testing.B) {
	_, base := benchServer(b)
	base = strings.Replace(base, "track.example", "127.0.0.1", 1)
	transport := &http.Transport{}
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	b.ReportAllocs()
	for b.Loop() {
		response, err := client.Get(base)
		if err != nil {
			b.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || len(body) != len(benchBody) {
			b.Fatal(len(body), err)
		}
		response.Body.Close()
	}
}
