//go:build wasip1

// bends_row has an approval for one row, and asks, past the PDK, for another amount, order, tenant and
// approver, and for rows of other outboxes. Then it asks as it should.
package main

import (
	"unsafe"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(bendRow) }

func bendRow(c pdk.Call, _ struct{}) (any, error) {
	for _, request := range []string{
		`{"to":"refunds","amount":5000.00}`,
		`{"to":"refunds","row":{"order_id":"LK-640436","amount":"5000.00","tenant":"bramble","approved_by":"usr-grace"}}`,
		`{"to":"refunds","to":"emails"}`,
		`{"to":"emails"}`,
		`{"to":"new_labels"}`,
		`{"to":"orders"}`,
		`{"to":["refunds","refunds"]}`,
		`{"to":"refunds"}{"to":"refunds"}`,
		`[{"to":"refunds"}]`,
		`{"from":"refunds"}`,
		`{"to":"refunds","refund_id":"RF-0001"}`,
		`{}`,
		``,
	} {
		response := make([]byte, 4096)
		text := append([]byte(request), 0)
		packed := ask(unsafe.Pointer(&text[0]), uint32(len(request)), unsafe.Pointer(&response[0]), uint32(len(response)))
		if packed>>32 == 0 {
			panic("was given a row for " + request)
		}
	}
	if err := c.Outbox("refunds").Append(); err != nil {
		return nil, err
	}
	return map[string]string{"status": "recorded"}, nil
}

//go:wasmimport outbox append
//go:noescape
func ask(req unsafe.Pointer, reqLen uint32, resp unsafe.Pointer, respCap uint32) uint64

func main() {}
