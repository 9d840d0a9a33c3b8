package host

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/hosttest"
)

// newReplyDesk makes a desk with get_order and the forms of final answers.
func newReplyDesk(t testing.TB) *desk {
	t.Helper()
	raw, err := os.ReadFile("../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("../replies/ticket.json")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, hosttest.OnlyTools(string(raw), "get_order", hosttest.Replies), "get_order")
	d.notices(t)
	d.write(t, "replies/ticket.json", string(schema))
	return d
}

func answerOf(order string) string {
	return `{"language":"en","team":"delivery","needs_human":false,"reason":"","confidence":"high","order":` + order + `,"reply":""}`
}

const shippedAnswer = `{"order_id":"LK-581106","status":"shipped"}`

// looked is the outcome of a lookup as the host gives it.
func looked(order string) Outcome {
	return Outcome{State: OK, Tool: "get_order", Result: []byte(`{"ok":true,"order":` + order + `}`), CallID: "A"}
}

func TestCheckReply(t *testing.T) {
	const ticket = "Where is LK-581106?"
	d := replyDesk(t)
	refused := looked(shippedAnswer)
	refused.State = Refused
	other := looked(shippedAnswer)
	other.Tool = "get_orders"
	for _, c := range []struct {
		rule, text, ticket string
		results            []Outcome
		want               string
	}{
		{"status-from-a-lookup", answerOf(shippedAnswer), ticket, []Outcome{looked(shippedAnswer)}, "valid"},
		{"status-null", answerOf(`{"order_id":"LK-581106","status":null}`), ticket, nil, "valid"},
		{"order-null", answerOf("null"), "", nil, "valid"},
		{"no-lookup", answerOf(shippedAnswer), ticket, nil, "status_not_from_lookup"},
		{"lookup-of-another-order", answerOf(shippedAnswer), ticket, []Outcome{looked(`{"order_id":"LK-581107","status":"shipped"}`)}, "status_not_from_lookup"},
		{"lookup-of-another-status", answerOf(shippedAnswer), ticket, []Outcome{looked(`{"order_id":"LK-581106","status":"packed"}`)}, "status_not_from_lookup"},
		{"lookup-without-a-status", answerOf(shippedAnswer), ticket, []Outcome{looked(`{"order_id":"LK-581106","status":null}`)}, "status_not_from_lookup"},
		{"the-second-lookup", answerOf(shippedAnswer), ticket, []Outcome{looked(`{"order_id":"LK-581106","status":null}`), looked(shippedAnswer)}, "valid"},
		{"a-refusal-returned-nothing", answerOf(shippedAnswer), ticket, []Outcome{refused}, "status_not_from_lookup"},
		{"the-zero-outcome-returned-nothing", answerOf(shippedAnswer), ticket, []Outcome{{}}, "status_not_from_lookup"},
		{"another-tool-returned-it", answerOf(shippedAnswer), ticket, []Outcome{other}, "status_not_from_lookup"},
		{"a-result-that-does-not-fit", answerOf("null"), ticket, []Outcome{looked(`{"order_id":7}`)}, "unavailable"},
		{"a-result-of-an-error", answerOf("null"), ticket, []Outcome{{State: OK, Tool: "get_order", Result: []byte(`{"ok":false,"error":"no"}`)}}, "unavailable"},
		{"too-many-results", answerOf("null"), ticket, slicesOf(looked(shippedAnswer), maxReturned+1), "unavailable"},
		{"as-many-results-as-may-be", answerOf(shippedAnswer), ticket, slicesOf(looked(shippedAnswer), maxReturned), "valid"},
		{"id-with-a-digit-more-in-the-ticket", answerOf(shippedAnswer), "LK-5811061", []Outcome{looked(shippedAnswer)}, "order_not_in_ticket"},
		{"id-over-a-line-break", answerOf(shippedAnswer), "LK-58\n1106", []Outcome{looked(shippedAnswer)}, "order_not_in_ticket"},
		{"another-id-in-the-text", strings.Replace(answerOf("null"), `"reply":""`, `"reply":"See LK-615204."`, 1), ticket, nil, "other_order_in_text"},
		{"another-id-in-the-reason", strings.Replace(answerOf("null"), `"reason":""`, `"reason":"lk615204"`, 1), ticket, nil, "other_order_in_text"},
		{"the-tickets-id-in-the-text", strings.Replace(answerOf("null"), `"reply":""`, `"reply":"See LK-581106."`, 1), ticket, nil, "valid"},
		{"both-rules-fail-and-the-first-is-told", answerOf(shippedAnswer), "", nil, "order_not_in_ticket"},
		{"empty", "", ticket, nil, "invalid_reply"},
		{"null", "null", ticket, nil, "invalid_reply"},
		{"a-list", "[" + answerOf("null") + "]", ticket, nil, "invalid_reply"},
		{"two-values", answerOf("null") + answerOf("null"), ticket, nil, "invalid_reply"},
		{"folded-name", strings.Replace(answerOf("null"), "team", "Team", 1), ticket, nil, "invalid_reply"},
		{"bad-utf-8", strings.Replace(answerOf("null"), `"reply":""`, "\"reply\":\"\xff\"", 1), ticket, nil, "invalid_reply"},
		{"long", strings.Replace(answerOf("null"), `"reply":""`, `"reply":"`+strings.Repeat("é", 4000)+`"`, 1), ticket, nil, "invalid_reply"},
		{"very-long", strings.Repeat(" ", 1<<20), ticket, nil, "invalid_reply"},
		{"deep", strings.Repeat("[", 4000), ticket, nil, "invalid_reply"},
		{"long-ticket", answerOf("null"), strings.Repeat("é", 8001), nil, "unavailable"},
		{"ticket-of-bad-utf-8", answerOf("null"), "\xff", nil, "unavailable"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			o := d.host.CheckReply(tom(), Reply{Text: []byte(c.text), Ticket: c.ticket, Results: c.results})
			got := o.Code
			if o.Valid {
				got = o.Line()
			}
			if got != c.want || o.Valid != (o.Gate == NoGate) || o.Valid != (o.Words == "") {
				t.Errorf("%s: %s", o.Line(), o.Reason)
			}
			if rec := d.last(); rec.CallID != o.CheckID || rec.Reply != "ticket" || rec.Code != o.Code || rec.Outcome() != strings.Split(o.Line(), ":")[0] {
				t.Errorf("recorded is %+v", rec)
			}
		})
	}
}

func slicesOf(o Outcome, n int) []Outcome {
	var out []Outcome
	for range n {
		out = append(out, o)
	}
	return out
}

// openReplyDesk is a desk that several cases share.
type openReplyDesk struct {
	*desk
	host *Host
}

func (d openReplyDesk) last() Record {
	all := d.recorder.Records()
	return all[len(all)-1]
}

func replyDesk(t *testing.T) openReplyDesk {
	t.Helper()
	d := newReplyDesk(t)
	return openReplyDesk{d, d.open(t)}
}

// What is not known denies: a role without a form, results that are lost.
func TestReplyThatCannotBeChecked(t *testing.T) {
	d := replyDesk(t)
	valid := Reply{Text: []byte(answerOf("null"))}
	if o := d.host.CheckReply(tom(), valid); !o.Valid {
		t.Fatal(o.Reason)
	}
	lost := valid
	lost.Lost = errors.New("erased")
	if o := d.host.CheckReply(tom(), lost); o.Valid || o.Code != codeUnavailable {
		t.Error(o.Line())
	}
	for _, s := range []Session{staff(), {}} {
		if o := d.host.CheckReply(s, valid); o.Valid || o.Code != codeUnavailable || d.host.HasForm(s.Role) {
			t.Error(o.Line())
		}
		if rec := d.last(); rec.Outcome() != "rejected" {
			t.Errorf("recorded as %s", rec.Outcome())
		}
	}
	if (ReplyOutcome{}).Valid {
		t.Error("the zero outcome lets an answer leave")
	}
	if _, err := d.host.Returned(tom()); !errors.Is(err, errNoLoop) {
		t.Errorf("a session without an id has a loop: %v", err)
	}
}

// Each fault of a form is told with its place, and nothing is loaded.
func TestReplyDoesNotLoad(t *testing.T) {
	for _, c := range []struct{ rule, old, new, want string }{
		{"no-such-tool", "results.get_order.exists", "results.get_orders.exists", `results has no "get_orders" (did you mean "get_order"?)`},
		{"no-such-member", "has(reply.order.status)", "has(reply.order.state)", `reply.order has no "state"`},
		{"no-such-column", "has(r.order.status)", "has(r.order.state)", `there is no field "state"`},
		{"several-kinds", "has(r.order.status)", "r.order.items == 'x'", "items"},
		{"other-types", "ticket.containsWord(reply.order.order_id)", "ticket == reply.needs_human", "text"},
		{"args-are-of-calls", "ticket.containsWord(reply.order.order_id)", "ticket == args.order_id", `there is no "args"`},
		{"dear", "ticket.containsWord(reply.order.order_id)", "results.get_order.all(r, results.get_order.all(q, results.get_order.all(p, ticket.contains(r.order.order_id))))", "could cost"},
		{"words-of-nothing", "words = \"{reply.order.order_id} does", "words = \"{reply.order.id} does", "{reply.order.id} names no value"},
		{"words-of-an-object", "words = \"{reply.order.order_id} does", "words = \"{reply.order} does", "{reply.order} names no single value"},
		{"example-that-does-not-fit", `"confidence":"high","order":{"order_id":"LK-581106","status":null}`, `"confidence":"sure","order":{"order_id":"LK-581106","status":null}`, "examples: reply does not fit the schema"},
		{"result-that-does-not-fit", `{"order_id":"LK-428830","status":"shipped"}}]`, `{"order_id":"LK-428830","state":"shipped"}}]`, "is not in the contract"},
		{"result-of-no-tool", `'{"get_order":[{"order":{"order_id":"LK-428830"`, `'{"get_orders":[{"order":{"order_id":"LK-428830"`, `"get_orders" is no list of results that rules can read (did you mean "get_order"?)`},
		{"no-schema", `schema = "replies/ticket.json"`, `schema = "replies/tickets.json"`, "replies/tickets.json: is not there"},
		{"role-that-calls-nothing", `roles = ["customer"]` + "\nschema", `roles = ["custmer"]` + "\nschema", `"custmer" may call no tool, so that no loop of it ends (did you mean "customer"?)`},
		{"code-of-the-host", `name = "order_not_in_ticket"`, `name = "invalid_reply"`, `"invalid_reply" is a code of the host's own`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			d := newReplyDesk(t)
			raw, err := os.ReadFile(d.dir + "/config.toml")
			if err != nil || strings.Count(string(raw), c.old) == 0 {
				t.Fatalf("%v: the config has no %q", err, c.old)
			}
			d.write(t, "config.toml", strings.Replace(string(raw), c.old, c.new, 1))
			if h, err := d.tryOpen(t); err == nil || !strings.Contains(err.Error(), c.want) {
				if err == nil {
					_ = h.Close()
				}
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// A secret of a result is not kept, so that no rule can read it.
func TestSecretResultsAreNotRead(t *testing.T) {
	d := newReplyDesk(t)
	raw, err := os.ReadFile(d.dir + "/plugins/get_order/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "plugins/get_order/contract.json", strings.Replace(string(raw), `"description": "ISO 4217."`, `"description": "ISO 4217.", "x-secret": true`, 1))
	if _, err := d.tryOpen(t); err == nil || !strings.Contains(err.Error(), "results.get_order holds what its contract marks x-secret") {
		t.Error(err)
	}
}

// FuzzCheckReply: whatever the answer and the ticket, nothing panics, and an
// answer that is valid names an order only if the ticket does and a status only
// if there was a lookup: here there was none.
func FuzzCheckReply(f *testing.F) {
	d := newReplyDesk(f)
	h := d.open(f)
	f.Add(answerOf("null"), "")
	f.Add(answerOf(shippedAnswer), "Where is LK-581106?")
	f.Add(answerOf(`{"order_id":"LK-581106","status":null}`), "LK-581106")
	f.Add(`{"a":1e999,"a":NaN}`, "\u202e")
	f.Fuzz(func(t *testing.T, text, ticket string) {
		o := h.CheckReply(tom(), Reply{Text: []byte(text), Ticket: ticket})
		if !o.Valid {
			return
		}
		v, err := h.replies[0].read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		order, _ := v.Get("order")
		id, named := order.TextAt("order_id")
		if _, stated := order.TextAt("status"); stated || named && !strings.Contains(ticket, id) {
			t.Errorf("%q is valid of %q", text, ticket)
		}
	})
}
