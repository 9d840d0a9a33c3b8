// Package order is the work that every row of the benchmark does: one order is looked up.
package order

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// What is asked and what there is. The host finds the row by the bytes of the request: looking it up
// costs nothing, so that what is measured is the way there and back.
const (
	Arguments = `{"order_id":"LK-702219"}`
	Request   = `{"from":"orders","key":"LK-702219"}`
	Answer    = `{"row":` + row + `}`
	Result    = `{"order":` + row + `}`

	row = `{"order_id":"LK-702219","status":"shipped","ordered_on":"2026-03-02","shipped_on":"2026-03-04",` +
		`"delivered_on":null,"shipping_fee":4.90,"total":216.00,"currency":"EUR",` +
		`"items":[{"product":"The Lighthouse Keeper","quantity":2,"unit_price":105.55}]}`
)

// ErrUnknown is the host's answer to any other request.
var ErrUnknown = errors.New("no such row")

// Find is the host's side: the answer to a request for a row.
func Find(request []byte) ([]byte, error) {
	if string(request) != Request {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, request)
	}
	return []byte(Answer), nil
}

// Get is the tool's side: plugins/get_order without the pdk, for ways that have another or none. find asks the host.
func Get(arguments []byte, find func(request []byte) ([]byte, error)) ([]byte, error) {
	var given struct {
		OrderID string `json:"order_id"`
	}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, fmt.Errorf("decode the arguments: %w", err)
	}
	request, err := encode(struct {
		From string `json:"from"`
		Key  string `json:"key"`
	}{"orders", given.OrderID})
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	found, err := find(request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Row json.RawMessage `json:"row"`
	}
	if err := json.Unmarshal(found, &answer); err != nil {
		return nil, fmt.Errorf("decode the row: %w", err)
	}
	return encode(map[string]any{"order": answer.Row})
}

// encode writes as the pdk does.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
