package host

import (
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
)

// smallGuest puts a module without a runtime in the place of get_order's. It
// gives the row as records.get gives it, so that its contract calls it row.
//
//	(module
//	  (import "toolhost" "arguments" (func $arguments (param i32 i32 i32 i32) (result i64)))
//	  (import "records"  "get"       (func $get       (param i32 i32 i32 i32) (result i64)))
//	  (import "toolhost" "result"    (func $result    (param i32 i32 i32 i32) (result i64)))
//	  (memory (export "memory") 1)
//	  (data (i32.const 0) "{\"from\":\"orders\",\"key\":\"LK-500000\"}")
//	  (func (export "run") (result i32)
//	    (drop (call $arguments (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 1024)))
//	    (i32.wrap_i64 (i64.shr_u
//	      (call $result
//	        (i32.const 2048)
//	        (i32.wrap_i64 (call $get (i32.const 0) (i32.const 35) (i32.const 2048) (i32.const 4096)))
//	        (i32.const 0) (i32.const 0))
//	      (i64.const 32)))))
func (d *desk) smallGuest(t testing.TB) {
	t.Helper()
	d.write(t, "plugins/get_order/plugin.wasm", string(smallModule(`{"from":"orders","key":"LK-500000"}`)))
	contract, err := os.ReadFile("../plugins/get_order/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "plugins/get_order/contract.json", strings.ReplaceAll(string(contract), `"order"`, `"row"`))
}

func smallModule(request string) []byte {
	const i32, i64 = 0x7f, 0x7e
	run := slices.Concat(
		wasmI32(0), wasmI32(0), wasmI32(1024), wasmI32(1024), []byte{0x10, 0}, []byte{0x1a}, // call arguments, drop
		wasmI32(2048),
		wasmI32(0), wasmI32(len(request)), wasmI32(2048), wasmI32(4096), []byte{0x10, 1}, []byte{0xa7}, // call get, i32.wrap_i64
		wasmI32(0), wasmI32(0), []byte{0x10, 2}, // call result
		[]byte{0x42, 32, 0x88, 0xa7, 0x0b}, // i64.const 32, i64.shr_u, i32.wrap_i64, end
	)
	imported := func(module, name string) []byte {
		return slices.Concat(wasmSized([]byte(module)), wasmSized([]byte(name)), []byte{0, 0})
	}
	return slices.Concat(
		[]byte("\x00asm\x01\x00\x00\x00"),
		wasmSection(1, []byte{0x60, 4, i32, i32, i32, i32, 1, i64}, []byte{0x60, 0, 1, i32}),
		wasmSection(2, imported("toolhost", "arguments"), imported("records", "get"), imported("toolhost", "result")),
		wasmSection(3, []byte{1}),
		wasmSection(5, []byte{0, 1}),
		wasmSection(7, append(wasmSized([]byte("memory")), 2, 0), append(wasmSized([]byte("run")), 0, 3)),
		wasmSection(10, wasmSized(append([]byte{0}, run...))),
		wasmSection(11, slices.Concat([]byte{0}, wasmI32(0), []byte{0x0b}, wasmSized([]byte(request)))),
	)
}

func wasmSection(id byte, items ...[]byte) []byte {
	return append([]byte{id}, wasmSized(append(binary.AppendUvarint(nil, uint64(len(items))), slices.Concat(items...)...))...)
}

func wasmSized(b []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))), b...) }

// wasmI32 is i32.const of a number that is not negative.
func wasmI32(n int) []byte {
	out := []byte{0x41}
	for n > 63 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}
