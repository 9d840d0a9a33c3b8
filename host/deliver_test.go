package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/hosttest"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/strictjson"
)

// A hook is a real HTTP server on loopback that answers as it is told, and knows
// a key that it has taken.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(w http.ResponseWriter, take func()) // nil: take and 201
	taken  map[string]int                           // by key
	bodies []string
	users  []string
	over   chan struct{} // closed when the test ends
}

func newHook(t *testing.T) *hook {
	t.Helper()
	k := &hook{taken: map[string]int{}, over: make(chan struct{})}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		k.mu.Lock()
		answer := k.answer
		k.bodies, k.users = append(k.bodies, r.Method+" "+r.URL.Path+" "+string(body)), append(k.users, r.Header.Get("X-Utilisateur"))
		k.mu.Unlock()
		take := func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.taken[r.Header.Get("Idempotency-Key")]++
		}
		if answer == nil {
			take()
			w.WriteHeader(http.StatusCreated)
			return
		}
		answer(w, take)
	}))
	t.Cleanup(func() {
		close(k.over) // what hangs ends first
		k.Close()
	})
	return k
}

func (k *hook) answers(f func(w http.ResponseWriter, take func())) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answer = f
}

// A moved clock is the real one, and what a test adds.
type movedClock struct {
	mu   sync.Mutex
	past time.Duration
}

func (c *movedClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.past)
}

func (c *movedClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past += d
}

const testToken = "a-token-that-a-test-keeps"

// rootDesk is a desk with one tool of the root's config, in which texts are
// replaced in pairs, and who approves there.
func rootDesk(t testing.TB, tool, approver string, pairs ...string) *desk {
	t.Helper()
	raw, err := os.ReadFile("../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, strings.NewReplacer(pairs...).Replace(hosttest.OnlyTools(string(raw), tool)), tool)
	d.notices(t)
	sum := sha256.Sum256([]byte(testToken))
	d.write(t, "var/keys/"+approver+".sha256", "sha256:"+hex.EncodeToString(sum[:]))
	d.sql(t, `INSERT INTO people VALUES ('E001', '', 'employee'), ('usr-grace', 'larkfield', 'owner')`)
	return d
}

func (d *desk) openAt(t testing.TB, clock func() time.Time) *Host {
	t.Helper()
	h, err := Open(context.Background(), filepath.Join(d.dir, "config.toml"), Options{Recorder: d.recorder, Clock: clock, Env: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// agreed proposes a write and approves it.
func agreed(t testing.TB, h *Host, s Session, tool, args string) string {
	t.Helper()
	o := h.Call(context.Background(), s, ask(tool, args))
	if o.State != Pending {
		t.Fatalf("%s: %s", o.Line(), o.Reason)
	}
	a, err := h.Approval(context.Background(), o.Approval)
	if err != nil {
		t.Fatal(err)
	}
	who, err := h.Approver(testToken)
	if err != nil {
		t.Fatal(err)
	}
	if done, _ := h.Approve(context.Background(), who, a.ID, a.Digest); done.State != OK {
		t.Fatalf("%s: %s", done.Line(), done.Reason)
	}
	return a.ID
}

func camille() Session { return Session{Subject: "E001", Role: "employee"} }

const leave = `{"employe_id":"E001","date_debut":"2099-10-20","date_fin":"2099-10-21","type_conge":"rtt"}`

func deliveryOf(t testing.TB, h *Host, id string) state.Approval {
	t.Helper()
	a, err := h.Approval(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a.Approval
}

func deliverDue(t testing.TB, h *Host) (all []Delivered) {
	t.Helper()
	if err := h.DeliverDue(context.Background(), func(d Delivered) { all = append(all, d) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever a service does, nothing is lost and nothing is done twice: what it
// has taken has one key, and what it has not is sent until it has.
func TestDeliveriesArrive(t *testing.T) {
	for name, troubles := range map[string][]func(w http.ResponseWriter, take func()){
		"up": nil,
		"500-twice": {
			func(w http.ResponseWriter, _ func()) { w.WriteHeader(500) },
			func(w http.ResponseWriter, _ func()) { w.WriteHeader(503) },
		},
		"busy":     {func(w http.ResponseWriter, _ func()) { w.Header().Set("Retry-After", "60"); w.WriteHeader(429) }},
		"hangs":    {nil},
		"hangs-up": {func(http.ResponseWriter, func()) { panic(http.ErrAbortHandler) }},
		"dies-between-taking-and-answering": {func(_ http.ResponseWriter, take func()) {
			take()
			panic(http.ErrAbortHandler)
		}},
		"takes-and-says-500": {func(w http.ResponseWriter, take func()) { take(); w.WriteHeader(500) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, clock := newHook(t), &movedClock{}
			d := rootDesk(t, "creer_demande_conges", "E001", "127.0.0.1:8431", k.Listener.Addr().String(), "kind = \"fetch\"\n[[capabilities.rh_ecrire", "kind = \"fetch\"\ntime = \"300ms\"\n[[capabilities.rh_ecrire")
			h := d.openAt(t, clock.now)
			id := agreed(t, h, camille(), "creer_demande_conges", leave)
			for i, trouble := range troubles {
				if trouble == nil {
					trouble = func(http.ResponseWriter, func()) { <-k.over }
				}
				k.answers(trouble)
				if all := deliverDue(t, h); len(all) != 1 || all[0].State != state.Due || all[0].Tries != i+1 {
					t.Fatalf("try %d: %+v", i+1, all)
				}
				if again := deliverDue(t, h); len(again) != 0 {
					t.Fatalf("tried again at once: %+v", again)
				}
				clock.move(2 * time.Minute)
			}
			k.answers(nil)
			if all := deliverDue(t, h); len(all) != 1 || all[0].State != state.Delivered || all[0].Status != "201" {
				t.Fatalf("%+v", all)
			}
			clock.move(24 * time.Hour)
			if all := deliverDue(t, h); len(all) != 0 {
				t.Errorf("delivered again: %+v", all)
			}
			if len(k.taken) != 1 || k.taken[id] == 0 {
				t.Errorf("keys %v, want %s alone", k.taken, id)
			}
			for i, body := range k.bodies {
				if body != "POST /demandes "+leave || k.users[i] != "E001" {
					t.Errorf("%s by %q", body, k.users[i])
				}
			}
		})
	}
}

// A service that is away is tried as often as the config says, each time later;
// then the row is a dead letter, which a person can send again.
func TestDeadLetter(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // nobody is there
	clock := &movedClock{}
	d := rootDesk(t, "creer_demande_conges", "E001", "127.0.0.1:8431", address, `method = "POST"`, "method = \"POST\"\ntries = 4")
	h := d.openAt(t, clock.now)
	id := agreed(t, h, camille(), "creer_demande_conges", leave)
	last := time.Duration(0)
	for i := range 4 {
		all := deliverDue(t, h)
		if len(all) != 1 || i < 3 && all[0].State != state.Due || i == 3 && all[0].State != state.Dead {
			t.Fatalf("try %d: %+v", i+1, all)
		}
		if i == 3 {
			break
		}
		wait := all[0].Next.Sub(clock.now())
		if wait <= last {
			t.Errorf("try %d waits %s after %s", i+1, wait, last)
		}
		last = wait
		clock.move(wait + time.Second)
	}
	if a := deliveryOf(t, h, id); a.State != state.Done || a.Delivery != state.Dead {
		t.Errorf("%+v", a)
	}
	k := newHook(t)
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	server := &http.Server{Handler: k.Config.Handler}
	t.Cleanup(func() { server.Close() })
	go func() { _ = server.Serve(again) }()
	if _, _, err := h.DeliverAgain(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if all := deliverDue(t, h); len(all) != 1 || all[0].State != state.Delivered {
		t.Errorf("%+v", all)
	}
	if _, _, err := h.DeliverAgain(t.Context(), id); err == nil {
		t.Error("what has arrived is sent again")
	}
}

// What is not tried, as the database is away, is no try; and what a person has
// sent elsewhere goes there at each later try.
func TestWhatCountsAsATry(t *testing.T) {
	k, other := newHook(t), newHook(t)
	here := k.Listener.Addr().String()
	clock := &movedClock{}
	d := rootDesk(t, "creer_demande_conges", "E001", "127.0.0.1:8431", here, `method = "POST"`, "method = \"POST\"\ntries = 3")
	h := d.openAt(t, clock.now)
	id := agreed(t, h, camille(), "creer_demande_conges", leave)
	stands := func(h *Host, want state.DeliveryState, tries int) {
		t.Helper()
		if a := deliveryOf(t, h, id); a.Delivery != want || a.Tries != tries {
			t.Fatalf("%q after %d tries, want %q after %d", a.Delivery, a.Tries, want, tries)
		}
	}
	d.sqlIn(t, "leave.db", "ALTER TABLE demandes RENAME TO gone")
	for range 5 {
		deliverDue(t, h)
		stands(h, state.Due, 0)
		clock.move(notTriedAgain)
	}
	d.sqlIn(t, "leave.db", "ALTER TABLE gone RENAME TO demandes")
	away := func(w http.ResponseWriter, _ func()) { w.WriteHeader(http.StatusServiceUnavailable) }
	k.answers(away)
	for i := range 3 {
		deliverDue(t, h)
		clock.move(lastAgain)
		stands(h, map[bool]state.DeliveryState{false: state.Due, true: state.Dead}[i == 2], i+1)
	}
	raw, err := os.ReadFile(d.path("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "config.toml", strings.ReplaceAll(string(raw), here, other.Listener.Addr().String()))
	h = d.openAt(t, clock.now)
	if _, _, err := h.DeliverAgain(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	other.answers(away)
	deliverDue(t, h)
	stands(h, state.Due, 1)
	clock.move(lastAgain)
	other.answers(nil)
	deliverDue(t, h)
	stands(h, state.Delivered, 2)
}

// A no for good ends the approval, and the model is told it as a status.
func TestRefusedDelivery(t *testing.T) {
	for status, word := range map[int]string{403: "forbidden", 404: "not_found", 422: "refused"} {
		k := newHook(t)
		k.answers(func(w http.ResponseWriter, _ func()) { w.WriteHeader(status) })
		d := rootDesk(t, "creer_demande_conges", "E001", "127.0.0.1:8431", k.Listener.Addr().String())
		clock := &movedClock{}
		h := d.openAt(t, clock.now)
		id := agreed(t, h, camille(), "creer_demande_conges", leave)
		deliverDue(t, h)
		clock.move(24 * time.Hour)
		if all := deliverDue(t, h); len(all) != 0 {
			t.Errorf("%d is tried again: %+v", status, all)
		}
		if a := deliveryOf(t, h, id); a.State != state.Failed || a.Delivery != state.Refused {
			t.Errorf("%+v", a)
		}
		told := h.Call(t.Context(), camille(), ask(StatusTool, `{"approval":"`+id+`"}`))
		if !strings.Contains(string(told.Result), `"state":"failed"`) || !strings.Contains(string(told.Result), `"status":"`+word+`"`) {
			t.Errorf("%d: %s", status, told.Result)
		}
	}
}

// What leaves is what was approved: a row that was changed since, and an address
// that is another, are not sent.
func TestDeliveryIsWhatWasApproved(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, d *desk, other string) string{
		"row": func(t *testing.T, d *desk, _ string) string {
			d.sqlIn(t, "leave.db", "UPDATE demandes SET employe_id = 'E002'")
			return ""
		},
		"row-gone": func(t *testing.T, d *desk, _ string) string {
			d.sqlIn(t, "leave.db", "DELETE FROM demandes")
			return ""
		},
		"address": func(_ *testing.T, _ *desk, other string) string { return other },
	} {
		t.Run(name, func(t *testing.T) {
			k, other := newHook(t), newHook(t)
			here := k.Listener.Addr().String()
			d := rootDesk(t, "creer_demande_conges", "E001", "127.0.0.1:8431", here)
			h := d.openAt(t, time.Now)
			id := agreed(t, h, camille(), "creer_demande_conges", leave)
			if elsewhere := change(t, d, other.Listener.Addr().String()); elsewhere != "" {
				raw, err := os.ReadFile(filepath.Join(d.dir, "config.toml"))
				if err != nil {
					t.Fatal(err)
				}
				d.write(t, "config.toml", strings.ReplaceAll(string(raw), here, elsewhere))
				h = d.openAt(t, time.Now)
			}
			if all := deliverDue(t, h); len(all) != 1 || all[0].State != state.Dead {
				t.Fatalf("%+v", all)
			}
			if n := len(k.bodies) + len(other.bodies); n != 0 {
				t.Errorf("%d requests", n)
			}
			// A person can mean that it goes elsewhere, and nobody that it is another row.
			if _, _, err := h.DeliverAgain(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			want, sent := state.Dead, 0
			if name == "address" {
				want, sent = state.Delivered, 1
			}
			if all := deliverDue(t, h); len(all) != 1 || all[0].State != want || len(other.bodies) != sent || len(k.bodies) != 0 {
				t.Errorf("%+v", all)
			}
		})
	}
}

// Workers of several hosts send each row once.
func TestWorkersSideBySide(t *testing.T) {
	k := newHook(t)
	d := rootDesk(t, "creer_demande_conges", "E001", "127.0.0.1:8431", k.Listener.Addr().String())
	hosts := []*Host{d.openAt(t, time.Now), d.openAt(t, time.Now), d.openAt(t, time.Now)}
	const rows = 12
	for i := range rows {
		agreed(t, hosts[0], camille(), "creer_demande_conges", strings.Replace(leave, "2099-10-20", []string{"2099-10-20", "2099-10-19"}[i%2], 1))
	}
	var wait sync.WaitGroup
	for _, h := range hosts {
		wait.Go(func() { deliverDue(t, h) })
	}
	wait.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.taken) != rows || len(k.bodies) != rows {
		t.Errorf("%d requests of %d keys, want %d", len(k.bodies), len(k.taken), rows)
	}
}

// Who approves sees the headers that go with it: whom the service is told of, and
// which credential, by its name.
func TestShownHeaders(t *testing.T) {
	t.Setenv("RH_TOKEN", "correct-horse-battery")
	k := newHook(t)
	d := rootDesk(t, "creer_demande_conges", "E001", "127.0.0.1:8431", k.Listener.Addr().String(),
		"methods = [\"POST\"]\nheaders = {", "methods = [\"POST\"]\nheaders = { Authorization = \"Bearer {env.RH_TOKEN}\",")
	h := d.openAt(t, time.Now)
	a := deliveryOf(t, h, agreed(t, h, camille(), "creer_demande_conges", leave))
	if want := `"headers":{"Authorization":"Bearer {env.RH_TOKEN}","X-Utilisateur":"E001"}`; !strings.Contains(string(a.Content), want) {
		t.Errorf("no %s in %s", want, a.Content)
	}
	if bytes.Contains(a.Content, []byte("correct-horse")) {
		t.Error("the credential is shown")
	}
	if all := deliverDue(t, h); len(all) != 1 || all[0].State != state.Delivered {
		t.Errorf("%+v", all)
	}
}

// A value of a row can be any JSON, also one that looks as if the approval gave it.
func TestNoValuePassesForAnother(t *testing.T) {
	read := func(text string) strictjson.Value {
		v, err := strictjson.Read([]byte(text), strictjson.Default(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	d := newDesk(t, "")
	d.sql(t, `CREATE TABLE noted (id TEXT NOT NULL PRIMARY KEY, "by" TEXT, at TEXT, note TEXT, amount INTEGER)`)
	db, err := capabilities.OpenSQLite("desk", d.path("var/desk.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	outbox, faults := capabilities.OpenOutbox(t.Context(), db, capabilities.OutboxConfig{
		Name: "noted", Table: "noted", Key: "id", Columns: []string{"id", "by", "at", "note", "amount"},
		Types: map[string]capabilities.ColumnType{"note": {Name: "json"}, "amount": {Name: "minor", Places: 2}},
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	g := &outboxGrant{outbox: outbox}
	a := state.Approval{ID: "AAAA", Approver: "usr-grace", Decided: time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)}
	then := Shown{
		Row:   read(`{"note":{"approval":"{approval.id}"},"amount":5.0}`),
		Given: read(`{"id":"{approval.id}","by":"{approval.approver}","at":"{approval.time}"}`),
	}
	const row = `{"id":"AAAA","by":"usr-grace","at":"2026-11-30T12:00:00Z","note":{"approval":"{approval.id}"},"amount":5.00}`
	for change, want := range map[[2]string]string{
		{"", ""}:                            "",
		{`"{approval.id}"`, `"another"`}:    "row: note is not what was approved",
		{"5.00", "5"}:                       "",
		{"5.00", "5.01"}:                    "row: amount is not what was approved",
		{`,"amount":5.00`, ""}:              "row: amount is not what was approved",
		{"AAAA", "AAAB"}:                    "row: id is not that of the approval",
		{"usr-grace", "usr-mara"}:           "row: by is not that of the approval",
		{`"by":"usr-grace"`, `"by":null`}:   "row: by is not that of the approval",
		{`"by":"usr-grace"`, `"by":{}`}:     "row: by is not that of the approval",
		{"2026-11-30T12:00:00Z", "2026-12"}: "row: at is not that of the approval",
	} {
		got, _, _ := strings.Cut(g.sameRow(a, then, read(strings.Replace(row, change[0], change[1], 1))), ";")
		if got != want {
			t.Errorf("%q: %q, want %q", change, got, want)
		}
	}
}

// What only the approval gives is shown as that, and leaves as what it is; no
// value of a model can look like it.
func TestShownAsGiven(t *testing.T) {
	k := newHook(t)
	d := rootDesk(t, "creer_demande_conges", "E001", "127.0.0.1:8431", k.Listener.Addr().String(), "body = { employe_id", `body = { reference = "{row.id}", note = "demande {row.id} de {row.employe_id}", employe_id`)
	h := d.openAt(t, time.Now)
	a := deliveryOf(t, h, agreed(t, h, camille(), "creer_demande_conges", leave))
	if want := `"body":{"reference":"{approval.id}","note":"demande {approval.id} de E001",`; !strings.Contains(string(a.Content), want) {
		t.Errorf("no %s in %s", want, a.Content)
	}
	deliverDue(t, h)
	if want := `{"reference":"` + a.ID + `","note":"demande ` + a.ID + ` de E001",`; len(k.bodies) != 1 || !strings.Contains(k.bodies[0], want) {
		t.Errorf("no %s in %q", want, k.bodies)
	}
	for given, want := range map[string]string{"": "pending: waiting (approval)", " {row.email_id}": "refused: no_row (approval)"} {
		d := newWritingDesk(t, strings.Replace(writingConfig(t, "send_email"), "{row.body}", "{row.body}"+given, 1), "send_email")
		h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
		wantOutcome(t, h.Call(t.Context(), asker(), ask("send_email", `{"to":"nadia@example.net","subject":"Your chairs","body":"see {approval.id}"}`)), want)
		wantOutcome(t, h.Call(t.Context(), asker(), ask("send_email", `{"to":"nadia@example.net","subject":"Your chairs","body":"see {row.email_id} {approved}"}`)), "pending: waiting (approval)")
	}
}

// A URL that no time can be a part of does not load, as no row could ever leave.
func TestGivenInAURL(t *testing.T) {
	raw, err := os.ReadFile("../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	text := hosttest.OnlyTools(string(raw), "creer_demande_conges")
	for column, want := range map[string]string{"id": "", "demandeur": "deliver.url: {row.demandeur}: "} {
		changed := strings.NewReplacer(`demandeur = "{session.subject}"`, `demandeur = "{approval.time}"`, `url = "http://127.0.0.1:8431/demandes"`+"\nbody", `url = "http://127.0.0.1:8431/demandes/{row.`+column+"}\"\nbody",
			`url = "http://127.0.0.1:8431/demandes"`+"\nmethods", `url = "http://127.0.0.1:8431/demandes/"`+"\nmethods").Replace(text)
		d := newDesk(t, changed, "creer_demande_conges")
		d.notices(t)
		_, err := d.tryOpen(t)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", column, err)
		}
	}
}
