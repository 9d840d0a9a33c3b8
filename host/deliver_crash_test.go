//go:build unix

package host

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// What a process leaves that dies while it delivers.

// A receiver is the other side of deliveries: it notes each that it takes.
type receiver struct {
	mu    sync.Mutex
	taken []string
}

func (r *receiver) take(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = append(r.taken, what)
}

func (r *receiver) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken)
}

// webhook is an HTTP server that takes everything, and notes method, path, key
// and body.
func (r *receiver) webhook(t testing.TB) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // what came
		r.take(fmt.Sprintf("%s %s %s %s", q.Method, q.URL.Path, q.Header.Get("Idempotency-Key"), body))
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// relay is an SMTP server that takes every mail, and notes its Message-ID.
func (r *receiver) relay(t testing.TB) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.conversation(conn)
		}
	}()
	return listener.Addr().String()
}

func (r *receiver) conversation(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	say := func(text string) { _, _ = io.WriteString(conn, text+"\r\n") }
	say("220 here")
	for lines.Scan() {
		switch word, _, _ := strings.Cut(strings.ToUpper(lines.Text()), " "); word {
		case "EHLO", "HELO":
			say("250 here")
		case "DATA":
			say("354 go on")
			id := ""
			for lines.Scan() && lines.Text() != "." {
				if text, ok := strings.CutPrefix(lines.Text(), "Message-Id: "); ok {
					id = text
				}
			}
			r.take(id)
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// wantDelivery holds where a delivery stands.
func wantDelivery(t testing.TB, h *Host, id string, want state.DeliveryState, in state.ApprovalState) {
	t.Helper()
	if a := approvalOf(t, h, id); a.Delivery != want || a.State != in {
		t.Errorf("the delivery is %q of what is %s, want %q, %s", a.Delivery, a.State, want, in)
	}
}

// A process is killed while it sends to a webhook: it is sent again, with the
// same key, so that the other side sees that it is the same.
func TestKilledWhileSendingToAWebhook(t *testing.T) {
	for at, sent := range map[string]int{"before sending": 0, "after sending": 0, "before delivered": 1, "after delivered": 1} {
		t.Run(at, func(t *testing.T) {
			r := &receiver{}
			d := newWritingDesk(t, strings.ReplaceAll(writingConfig(t, "creer_demande_conges"), "127.0.0.1:8431", r.webhook(t)), "creer_demande_conges")
			d.sql(t, "INSERT INTO people VALUES ('E001', NULL, 'employee')")
			h := d.openAs(t, nil)
			next := time.Now().AddDate(0, 1, 0).Format(time.DateOnly)
			a := proposes(t, h, Session{Subject: "E001", Role: "employee"}, "creer_demande_conges", `{"employe_id":"E001","date_debut":"`+next+`","date_fin":"`+next+`","type_conge":"rtt"}`)
			wantOutcome(t, agree(t, h, "E001", a), "ok")
			wantDelivery(t, h, a.ID, state.Due, state.Done)
			if said, killed := start(t, job{Dir: d.dir, Do: "deliver", At: at}).wait(t); !killed {
				t.Fatalf("it was not killed, and said %v", said)
			}
			if n := len(r.all()); n != sent {
				t.Errorf("the other side has %d, want %d", n, sent)
			}
			if tried := deliverDue(t, h); len(tried) != 0 {
				t.Errorf("it was tried while it could be on its way: %v", tried)
			}
			d.pass(deliverHold + time.Second)
			deliverDue(t, h)
			wantDelivery(t, h, a.ID, state.Delivered, state.Done)
			got := r.all()
			if len(got) != sent+1 || len(slices.Compact(got)) != 1 || !strings.HasPrefix(got[0], "POST /demandes "+a.ID+" {") {
				t.Errorf("the other side has %q", got)
			}
			d.pass(24 * time.Hour)
			deliverDue(t, h)
			if n := len(r.all()); n != sent+1 {
				t.Errorf("it was sent again, %d times in all", n)
			}
			d.shut(t, h)
			d.wantVerified(t)
		})
	}
}

// A process is killed while it sends a mail: nobody knows whether it was taken,
// and it is not sent again unless a person says so.
func TestKilledWhileSendingAMail(t *testing.T) {
	for at, sent := range map[string]int{"before sending": 0, "after sending": 0, "before delivered": 1, "after delivered": 1} {
		t.Run(at, func(t *testing.T) {
			r := &receiver{}
			d := newWritingDesk(t, strings.ReplaceAll(writingConfig(t, "send_email"), "127.0.0.1:8432", r.relay(t)), "send_email")
			h := d.openAs(t, nil)
			a := proposes(t, h, asker(), "send_email", `{"to":"nadia@example.net","subject":"Your chairs","body":"On Monday."}`)
			wantOutcome(t, agree(t, h, "usr-grace", a), "ok")
			if said, killed := start(t, job{Dir: d.dir, Do: "deliver", At: at}).wait(t); !killed {
				t.Fatalf("it was not killed, and said %v", said)
			}
			for range 3 {
				d.pass(deliverHold + time.Second)
				deliverDue(t, h)
				wantDelivery(t, h, a.ID, state.Doubtful, state.Unknown)
				if n := len(r.all()); n != sent {
					t.Errorf("the other side has %d, want %d", n, sent)
				}
			}
			status := h.Call(t.Context(), asker(), ask(StatusTool, `{"approval":"`+a.ID+`"}`))
			if !strings.Contains(string(status.Result), `"state":"unknown"`) {
				t.Errorf("the model hears %s", status.Result)
			}
			if _, _, err := h.DeliverAgain(t.Context(), a.ID); err != nil { // a person has looked
				t.Fatal(err)
			}
			deliverDue(t, h)
			wantDelivery(t, h, a.ID, state.Delivered, state.Done)
			if got := r.all(); len(got) != sent+1 || len(slices.Compact(got)) != 1 || !strings.Contains(got[0], a.ID) {
				t.Errorf("the other side has %q", got)
			}
			if _, _, err := h.DeliverAgain(t.Context(), a.ID); err == nil {
				t.Error("what has arrived can be sent again")
			}
			d.shut(t, h)
			d.wantVerified(t)
		})
	}
}

// Many workers send each row once.
func TestManyWorkersSendOnce(t *testing.T) {
	r := &receiver{}
	d := newWritingDesk(t, strings.ReplaceAll(writingConfig(t, "send_email"), "127.0.0.1:8432", r.relay(t)), "send_email")
	hosts := []*Host{d.openAs(t, nil), d.openAs(t, nil), d.openAs(t, nil)}
	for n := range 8 {
		a := proposes(t, hosts[0], asker(), "send_email", fmt.Sprintf(`{"to":"nadia@example.net","subject":"Number %d","body":"On Monday."}`, n))
		wantOutcome(t, agree(t, hosts[0], "usr-grace", a), "ok")
	}
	var wait sync.WaitGroup
	for _, h := range hosts {
		wait.Go(func() { deliverDue(t, h) })
	}
	wait.Wait()
	got := r.all()
	slices.Sort(got)
	if len(got) != 8 || len(slices.Compact(slices.Clone(got))) != 8 {
		t.Errorf("the other side has %q", got)
	}
}
