package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/toolhost/toolhost/bench/order"
)

// The guests.
const (
	guestGo    = "go"
	guestSmall = "small"
)

// expected is what a call of each guest gives, as JSON.
func expected(guest string) string {
	if guest == guestSmall {
		return order.Answer
	}
	return order.Result
}

// A caller makes one call and gives its result, which holds until the next. It serves one goroutine.
type caller func() ([]byte, error)

// A row is one guest run in one way. open makes it ready once; newCaller is then asked for one caller after another.
type row struct {
	guest, way string
	open       func(ctx context.Context) (newCaller func() (caller, error), err error)
	atOnce     bool // one caller's next call comes at once, without a pause
}

func (r row) String() string { return r.guest + " " + r.way }

// rows are all rows in the order of the table.
func rows(b *bench) []row {
	of := func(guest string, wasm, wasmExtism []byte) []row {
		out := stockRows(guest, wasm)
		out = append(out, engineRows(guest, wasm)...)
		out = append(out, extismRows(guest, wasmExtism)...)
		return append(out, wasmtimeRows(guest, wasm)...)
	}
	out := of(guestGo, b.guests.goPDK, b.guests.goExtism)
	out = append(out,
		row{guest: guestGo, way: "process/grpc", open: b.openGRPC},
		row{guest: guestGo, way: "process/stdio-mcp", open: b.openMCP},
		row{guest: guestGo, way: "native", open: openNative})
	return append(out, of(guestSmall, small(), smallExtism())...)
}

// ready is a row with its callers, each of which was right once.
type ready struct {
	row
	result  []byte // the bytes of every result
	callers []caller
}

// prepare opens a row and makes its callers. A wrong result is a wrongError.
func prepare(ctx context.Context, r row, callers int) (*ready, error) {
	newCaller, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	p := &ready{row: r}
	for range callers {
		c, err := newCaller()
		if err != nil {
			return nil, err
		}
		p.callers = append(p.callers, c)
	}
	return p, p.check()
}

// check makes one call by each caller and compares its result as JSON.
func (p *ready) check() error {
	for _, call := range p.callers {
		got, err := call()
		if err != nil {
			return err
		}
		if !sameJSON(got, []byte(expected(p.guest))) {
			return wrongError{p.row, string(got)}
		}
		p.result = append(p.result[:0], got...)
	}
	return nil
}

// wrongError ends the whole run: there is no figure for a wrong result.
type wrongError struct {
	row row
	got string
}

func (e wrongError) Error() string {
	return fmt.Sprintf("%v: the result is %q, want %q", e.row, e.got, expected(e.row.guest))
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
