package capabilities

import (
	"bytes"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestFetchWithholdsWhatOthersSent: a server can show in one answer what another
// request has told it, so that the secrets of all entries, and of other
// capabilities, are looked for in each.
func TestFetchWithholdsWhatOthersSent(t *testing.T) {
	s := newSite(t)
	last := ""
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "before you: "+last)
		last = r.Header.Get("X-Key") + r.Header.Get("Accept")
	})
	private, health := entry(t, base+"v1/"), entry(t, base+"health")
	f := s.open(t, private, health)
	secrets := []FetchSecrets{
		{Headers: []FetchHeader{{"X-Key", "correct-horse-1"}}, Secrets: []string{"correct-horse-1"}},
		{Headers: []FetchHeader{{"X-Ticket", "T-24011"}}, MayEcho: []string{"T-24011"}},
	}
	r := f.Reach(secrets, nil)
	wantText(t, s.get(t, r, base+"v1/a"), 200, "before you: ")
	want(t, s.get(t, r, base+"health"), NotAvailable, "echo")
	wantText(t, s.get(t, r, base+"health"), 200, "before you: ")

	r.Withhold([]string{"of-another-capability"})
	wantText(t, s.send(t, r, `{"url":"`+base+`health","headers":{"accept":"of-another-capability"}}`), 200, "before you: ")
	want(t, s.get(t, r, base+"health"), NotAvailable, "echo")

	// What one entry may repeat, another may not.
	secrets[0].Secrets = append(secrets[0].Secrets, "T-24011")
	r = f.Reach(secrets, nil)
	wantText(t, s.send(t, r, `{"url":"`+base+`health","headers":{"accept":"T-24011"}}`), 200, "before you: ")
	wantText(t, s.get(t, r, base+"health"), 200, "before you: T-24011")
	wantText(t, s.send(t, r, `{"url":"`+base+`health","headers":{"accept":"T-24011"}}`), 200, "before you: ")
	want(t, s.get(t, r, base+"v1/a"), NotAvailable, "echo")
}

// TestFetchAsked: the record has of a request what is not usual about it, too.
func TestFetchAsked(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(http.ResponseWriter, *http.Request) {})
	r := s.reach(t, entry(t, base))
	for request, asked := range map[string]string{
		`{"url":"` + base + `"}`:                                          base,
		`{"url":"` + base + `","method":"GET"}`:                           base,
		`{"url":"` + base + `","method":"HEAD"}`:                          "HEAD " + base,
		`{"url":"` + base + `","method":"POST"}`:                          "POST " + base,
		`{"url":"` + base + `","headers":{"accept":"a","etag":"b"}}`:      base + " accept: a",
		`{"url":"` + base + `?q=1","headers":{"if-none-match":"secret"}}`: base + "?q=1 if-none-match: secret",
	} {
		if a := s.send(t, r, request); a.Asked != asked {
			t.Errorf("%s: asked %q", request, a.Asked)
		}
	}
}

// TestFetchHushesALaterLogger: a program may set its logger after the host is
// open.
func TestFetchHushesALaterLogger(t *testing.T) {
	s := newSite(t)
	closed := make(chan struct{})
	base := s.raw(t, "track.example", func(c net.Conn, a string) bool {
		_, _ = io.WriteString(c, okHead+"Content-Length: 2\r\n\r\nok"+a)
		_, _ = io.Copy(io.Discard, c)
		close(closed)
		return false
	})
	r := s.reach(t, entry(t, base))
	var text bytes.Buffer
	before, out, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	defer func() {
		slog.SetDefault(before)
		log.SetOutput(out)
		log.SetFlags(flags)
	}()
	wantText(t, s.get(t, r, base), 200, "ok")
	<-closed
	log.Print("of the program")
	if strings.Contains(text.String(), fetchSecret) || !strings.Contains(text.String(), "of the program") {
		t.Errorf("the program's logger got %s", text.String())
	}
}
