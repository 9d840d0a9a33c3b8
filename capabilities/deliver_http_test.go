package capabilities

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// takes allows the writing methods at a URL.
func takes(t testing.TB, text string) FetchAllow {
	t.Helper()
	a := entry(t, text)
	a.Methods = deliveryMethods()
	return a
}

// deliver makes one attempt, of which the secret comes to nothing that an
// operator is told and which reaches no canary.
func (s *site) deliver(t testing.TB, f *Fetch, d Delivery) Attempt {
	t.Helper()
	a := f.Deliver(t.Context(), withSecret(len(f.entries)), d)
	if holdsSecret(a.Reason) || holdsSecret(a.Status) {
		t.Errorf("the attempt holds the secret: %+v", a)
	}
	if n := s.canary.touched(); n > 0 {
		t.Errorf("the canary was reached %d times", n)
	}
	return a
}

// wantEnd compares an end, a status and the word of a reason; the words of the
// other side are "theirs-" in each test.
func wantEnd(t testing.TB, a Attempt, end AttemptEnd, status, word string) {
	t.Helper()
	got, _, _ := strings.Cut(a.Reason, ":")
	if a.End != end || a.Status != status || got != word {
		t.Errorf("got %v %q %q, want %v %q %q", a.End, a.Status, a.Reason, end, status, word)
	}
	if strings.Contains(a.Reason, "theirs") {
		t.Errorf("the reason repeats what the other side said: %q", a.Reason)
	}
}

func order(url string) Delivery {
	return Delivery{Method: "POST", URL: url, Body: []byte(`{"amount":"12.50"}`), Key: "apr-1"}
}

// saying answers with a status, headers and a body.
func saying(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		if status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified {
			_, _ = io.WriteString(w, "theirs-"+fetchSecret)
		}
	}
}

// TestDeliverRequest: these are all the bytes that a server gets.
func TestDeliverRequest(t *testing.T) {
	s := newSite(t)
	var got *http.Request
	var body []byte
	base := s.serve(t, "http", "erp.example", func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(201)
	})
	f := s.open(t, takes(t, base+"v1/"))
	for _, method := range deliveryMethods() {
		d := order(base + "v1/orders/LK-1/refunds")
		d.Method = method
		wantEnd(t, s.deliver(t, f, d), Delivered, "201", "")
		if got.Method != method || got.RequestURI != "/v1/orders/LK-1/refunds" || string(body) != `{"amount":"12.50"}` || got.ContentLength != int64(len(body)) {
			t.Errorf("%s: the server got %s %s %q", method, got.Method, got.RequestURI, body)
		}
		want := "map[Accept-Encoding:[identity] Authorization:[Bearer " + fetchSecret + "] Connection:[close] Content-Length:[18] Content-Type:[application/json] Idempotency-Key:[apr-1] User-Agent:[toolhost]]"
		if fmt.Sprint(got.Header) != want {
			t.Errorf("%s: the server got %v", method, got.Header)
		}
	}
	d := order(base + "v1/x")
	d.Method, d.Body = "DELETE", nil
	wantEnd(t, s.deliver(t, f, d), Delivered, "201", "")
	if len(body) > 0 || got.Header.Get("Content-Type") != "" {
		t.Errorf("without a body the server got %q, %v", body, got.Header)
	}
	secrets := []FetchSecrets{{Headers: []FetchHeader{{"Content-Type", "application/vnd.erp+json"}}}}
	wantEnd(t, f.Deliver(t.Context(), secrets, order(base+"v1/x")), Delivered, "201", "")
	if got.Header.Get("Content-Type") != "application/vnd.erp+json" {
		t.Errorf("the entry's headers do not stand: %v", got.Header)
	}
}

// TestDeliverRefusesItself: what our own check refuses never leaves the host.
func TestDeliverRefusesItself(t *testing.T) {
	s := newSite(t)
	var reached atomic.Int64
	base := s.serve(t, "http", "erp.example", func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	post := takes(t, base+"v1/")
	post.Methods = []string{"POST", "GET"}
	with := func(change func(*Delivery)) Delivery {
		d := order(base + "v1/refunds")
		change(&d)
		return d
	}
	for name, tt := range map[string]struct {
		d       Delivery
		secrets []FetchSecrets
		end     AttemptEnd
		word    string
	}{
		"zero-delivery":          {Delivery{}, withSecret(1), Refused, "method"},
		"method-reads":           {with(func(d *Delivery) { d.Method = "GET" }), withSecret(1), Refused, "method"},
		"method-not-listed":      {with(func(d *Delivery) { d.Method = "PUT" }), withSecret(1), Refused, "method_not_allowed"},
		"method-in-lower-case":   {with(func(d *Delivery) { d.Method = "post" }), withSecret(1), Refused, "method"},
		"method-smuggles":        {with(func(d *Delivery) { d.Method = "POST / HTTP/1.1\r\n" }), withSecret(1), Refused, "method"},
		"method-connect":         {with(func(d *Delivery) { d.Method = "CONNECT" }), withSecret(1), Refused, "method"},
		"url-outside":            {with(func(d *Delivery) { d.URL = base + "v2/refunds" }), withSecret(1), Refused, "not_allowed"},
		"url-climbs":             {with(func(d *Delivery) { d.URL = base + "v1/../v2" }), withSecret(1), Refused, "url_dot_segment"},
		"url-of-another-host":    {with(func(d *Delivery) { d.URL = "http://127.0.0.1:" + s.canary.port + "/v1/" }), withSecret(1), Refused, "not_allowed"},
		"no-key":                 {with(func(d *Delivery) { d.Key = "" }), withSecret(1), Refused, "key"},
		"key-with-a-line":        {with(func(d *Delivery) { d.Key = "a\r\nX: y" }), withSecret(1), Refused, "key"},
		"key-with-a-space":       {with(func(d *Delivery) { d.Key = "a " }), withSecret(1), Refused, "key"},
		"key-not-ascii":          {with(func(d *Delivery) { d.Key = "ü" }), withSecret(1), Refused, "key"},
		"key-too-long":           {with(func(d *Delivery) { d.Key = strings.Repeat("k", 201) }), withSecret(1), Refused, "key"},
		"entry-sets-the-key":     {with(func(*Delivery) {}), []FetchSecrets{{Headers: []FetchHeader{{"idempotency-key", "k"}}}}, Refused, "key"},
		"entry-header-of-a-line": {with(func(*Delivery) {}), []FetchSecrets{{Headers: []FetchHeader{{"Authorization", fetchSecret + "\r\nX: y"}}}}, Refused, "header"},
		"entry-closed":           {with(func(*Delivery) {}), []FetchSecrets{{Closed: "{session.customer} has no value"}}, Refused, "no_session_value"},
		"no-headers-for-entry":   {with(func(*Delivery) {}), nil, NotTried, "host"},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.open(t, post).Deliver(t.Context(), tt.secrets, tt.d)
			wantEnd(t, a, tt.end, "", tt.word)
			if holdsSecret(a.Reason) {
				t.Errorf("the reason is %q", a.Reason)
			}
		})
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	wantEnd(t, s.open(t, post).Deliver(over, withSecret(1), order(base+"v1/refunds")), NotTried, "", "cancelled")
	if reached.Load() > 0 || s.names.lookups("erp.example") > 0 {
		t.Errorf("%d requests and %d lookups", reached.Load(), s.names.lookups("erp.example"))
	}
}

// TestDeliverCallEnds: a host that stops ends the attempt, which may have been taken.
func TestDeliverCallEnds(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	base := s.serve(t, "http", "erp.example", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		_, _ = io.Copy(io.Discard, r.Body) // before its end no server sees that the other side is gone
		<-r.Context().Done()
	})
	wantEnd(t, s.open(t, takes(t, base)).Deliver(ctx, withSecret(1), order(base)), Later, "", "cancelled")
}

// TestDeliverMethodsAreNoGuests: a method that an entry lists for deliveries is
// refused to a guest, at the gate and at the host function.
func TestDeliverMethodsAreNoGuests(t *testing.T) {
	s := newSite(t)
	var got atomic.Int64
	base := s.serve(t, "http", "erp.example", func(http.ResponseWriter, *http.Request) { got.Add(1) })
	both, writes := takes(t, base+"v1/"), takes(t, base+"v2/")
	both.Methods = append([]string{"GET"}, both.Methods...)
	writes.Methods = append(writes.Methods, "OPTIONS", "get")
	r := s.reach(t, both, writes)
	for _, method := range append(deliveryMethods(), "OPTIONS", "get", "HEAD") {
		for _, path := range []string{"v1/x", "v2/x"} {
			want(t, s.send(t, r, fmt.Sprintf(`{"url":%q,"method":%q}`, base+path, method)), Denied, "method_not_allowed")
		}
	}
	want(t, s.get(t, r, base+"v2/x"), Denied, "method_not_allowed")
	url := base + "v2/x"
	if err := s.open(t, both, writes).Reach(withSecret(2), &url).Admit(t.Context()); err == nil {
		t.Error("the gate admits the URL of an entry that only delivers")
	}
	closedToGuests := []FetchSecrets{{Closed: "{session.ticket} has no value"}, {}}
	if err := s.open(t, both, writes).Reach(closedToGuests, nil).Admit(t.Context()); err == nil {
		t.Error("an entry that only delivers opens the capability to a guest")
	}
	if got.Load() > 0 {
		t.Errorf("%d requests", got.Load())
	}
	wantText(t, s.get(t, r, base+"v1/x"), 200, "")
}

// A shop takes each key once, as the header's specification has it, and fails as
// it is told.
type shop struct {
	mu       sync.Mutex
	requests int
	taken    map[string]int // by key: orders that were made
	fails    []http.HandlerFunc
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	n := s.requests
	s.requests++
	key := r.Header.Get(keyHeader)
	if err == nil && bytes.HasPrefix(body, []byte(`{`)) && s.taken[key] == 0 && n > 0 {
		s.taken[key]++ // even where it then fails to say so
	}
	s.mu.Unlock()
	if n < len(s.fails) {
		s.fails[n](w, r)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TestDeliverLosesNothing: whatever fails, tried until it is delivered the other
// side has it once.
func TestDeliverLosesNothing(t *testing.T) {
	s := newSite(t)
	s.time = time.Second
	made := &shop{taken: map[string]int{}, fails: []http.HandlerFunc{
		saying(500),
		hangUp, // taken, and not said
		saying(429, "Retry-After", "1"),
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		saying(503), saying(408), saying(425), saying(502), hangUp,
	}}
	base := s.serve(t, "http", "erp.example", made.ServeHTTP)
	f := s.open(t, takes(t, base))
	tries := 0
	for {
		tries++
		a := s.deliver(t, f, order(base+"v1/orders"))
		if a.End == Delivered {
			break
		}
		if a.End != Later || tries > 20 {
			t.Fatalf("attempt %d: %+v", tries, a)
		}
	}
	if made.requests != tries || tries != len(made.fails)+1 || fmt.Sprint(made.taken) != "map[apr-1:1]" {
		t.Errorf("%d attempts, %d requests, taken %v", tries, made.requests, made.taken)
	}
}

// TestDeliverBesideEachOther: attempts share nothing that a race could spoil.
func TestDeliverBesideEachOther(t *testing.T) {
	s := newSite(t)
	made := &shop{taken: map[string]int{}, requests: 1}
	base := s.serve(t, "http", "erp.example", made.ServeHTTP)
	a := takes(t, base)
	a.Addresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	f := s.open(t, a)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			d := order(base)
			d.Key = fmt.Sprint("apr-", i)
			wantEnd(t, s.deliver(t, f, d), Delivered, "201", "")
		})
	}
	wg.Wait()
	if len(made.taken) != 20 {
		t.Errorf("taken %v", made.taken)
	}
}

// TestAttemptEnds: the zero attempt has delivered nothing.
func TestAttemptEnds(t *testing.T) {
	if (Attempt{}).End != NotTried {
		t.Error("the zero attempt says more than that nothing was tried")
	}
	for end, word := range map[AttemptEnd]string{NotTried: "not_tried", Delivered: "delivered", Refused: "refused", Later: "later", Unknown: "unknown", 9: "AttemptEnd(9)"} {
		if end.String() != word {
			t.Errorf("%d is %q", end, end)
		}
	}
}
