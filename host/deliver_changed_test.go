//go:build unix

package host

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/state"
)

// A row that somebody has changed since it was written does not leave, whoever
// asks for it to be sent.
func TestChangedRowDoesNotLeave(t *testing.T) {
	for column, value := range map[string]string{"recipient": "'eve@example.net'", "subject": "'Yours'", "body": "NULL", "customer_id": "'C-20001'", "tenant": "''"} {
		t.Run(column, func(t *testing.T) {
			r := &receiver{}
			d := newWritingDesk(t, strings.ReplaceAll(writingConfig(t, "send_email"), "127.0.0.1:8432", r.relay(t)), "send_email")
			h := d.openAs(t, nil)
			a := proposes(t, h, asker(), "send_email", `{"to":"nadia@example.net","subject":"Your chairs","body":"On Monday."}`)
			wantOutcome(t, agree(t, h, "usr-grace", a), "ok")
			d.sql(t, fmt.Sprintf("UPDATE emails SET %s = %s", column, value))
			deliverDue(t, h)
			wantDelivery(t, h, a.ID, state.Dead, state.Done)
			if _, _, err := h.DeliverAgain(t.Context(), a.ID); err != nil {
				t.Fatal(err)
			}
			deliverDue(t, h)
			wantDelivery(t, h, a.ID, state.Dead, state.Done)
			if got := r.all(); len(got) > 0 {
				t.Errorf("the other side has %q", got)
			}
			d.sql(t, "UPDATE emails SET recipient = 'nadia@example.net', subject = 'Your chairs', body = 'On Monday.', customer_id = 'C-20000', tenant = 'larkfield'")
			if _, _, err := h.DeliverAgain(t.Context(), a.ID); err != nil {
				t.Fatal(err)
			}
			deliverDue(t, h)
			wantDelivery(t, h, a.ID, state.Delivered, state.Done)
		})
	}
}

// objectContract is a contract whose argument is an object that looks like what
// an approval gives.
const objectContract = `{"name":"pay","description":"d","inputSchema":{"type":"object","additionalProperties":false,"required":["order_id","amount","what"],"properties":{
	"order_id":{"type":"string","maxLength":9},"amount":{"type":"number","minimum":-1000,"maximum":100000},
	"what":{"type":"object","additionalProperties":false,"properties":{"approval":{"type":"string","maxLength":50},"more":{"type":"string","maxLength":50}}}}},
"outputSchema":{"type":"object","properties":{},"additionalProperties":false}}`

// An argument that looks like what the approval gives is an argument: it is
// compared as one, and is not taken for the other.
func TestArgumentThatLooksLikeAnApproval(t *testing.T) {
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { bodies = append(bodies, q.URL.Path) }))
	defer server.Close()
	config := pays(effectWrite) + paysInto(effectWrite) + fmt.Sprintf(`deliver = { fetch = "bank", method = "POST", url = "%[1]s/x", body = { what = "{row.what}" } }
[capabilities.bank]
kind = "fetch"
[[capabilities.bank.allow]]
url = "%[1]s/"
methods = ["POST"]
addresses = ["127.0.0.1/32"]
`, server.URL)
	config = replaceOnce(t, config, `amount = "{args.amount}" }`, `amount = "{args.amount}", what = "{args.what}" }`)
	config = replaceOnce(t, config, `order_id = "{args.order_id}", amount = "{args.amount}", what = "{args.what}" }`+"\n"+`types = { amount = "decimal" }`,
		`order_id = "{args.order_id}", amount = "{args.amount}", what = "{args.what}" }`+"\n"+`types = { amount = "decimal", what = "json" }`)
	d := &writingDesk{desk: newPayDesk(t, effectWrite, ""), closed: map[*Host]bool{}}
	d.write(t, "config.toml", config)
	d.write(t, "plugins/pay/contract.json", objectContract)
	d.sql(t, "ALTER TABLE paid ADD COLUMN what TEXT")
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	a := proposes(t, h, staff(), "pay", `{"order_id":"LK-500000","amount":5.00,"what":{"approval":"{approval.id}"}}`)
	if given := shownJSON(a.Shown.Given); given != `{"id":"{approval.id}"}` {
		t.Errorf("the approval gives %s", given)
	}
	o, _ := h.Approve(t.Context(), proved(h, "usr-boss"), a.ID, a.Digest)
	if o.Code != codeInvalidResult { // the module of the fixture gives none
		t.Fatal(o.Line(), o.Reason)
	}
	// Its row is written as if it had ended well, and changed then.
	d.sql(t, "INSERT INTO paid VALUES ('"+a.ID+"', 'LK-500000', '5.00', '{\"approval\":\"x\"}')")
	d.sqlIn(t, "state/state.db", "UPDATE approval SET state = 'done', code = '', delivery = 'due', next = 0")
	deliverDue(t, h)
	wantDelivery(t, h, a.ID, state.Dead, state.Done)
	if len(bodies) > 0 {
		t.Errorf("the other side has had %q", bodies)
	}
}
