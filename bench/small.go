package main

import "github.com/toolhost/toolhost/bench/order"

// hostShape is that of every host function (docs/abi.md, A4).
var hostShape = signature{params: []byte{i32, i32, i32, i32}, results: []byte{i64}}

// small is the guest of that name for the ABI of toolhost. It looks at no status: a host that says no
// gives a wrong result, which is seen.
//
//	(module
//	  (import "toolhost" "arguments" (func $arguments (param i32 i32 i32 i32) (result i64)))
//	  (import "records"  "get"       (func $get       (param i32 i32 i32 i32) (result i64)))
//	  (import "toolhost" "result"    (func $result    (param i32 i32 i32 i32) (result i64)))
//	  (memory (export "memory") 1)
//	  (data (i32.const 0) "{\"from\":\"orders\",\"key\":\"LK-702219\"}")
//	  (func (export "run") (result i32) (local i64)
//	    (drop (call $arguments (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 1024)))
//	    (i32.wrap_i64 (i64.shr_u
//	      (call $result
//	        (i32.const 2048)
//	        (i32.wrap_i64 (call $get (i32.const 0) (i32.const 35) (i32.const 2048) (i32.const 4096)))
//	        (i32.const 0) (i32.const 0))
//	      (i64.const 32)))))
func small() []byte {
	const arguments, get, result = 0, 1, 2
	const argumentsAt, rowAt = 1024, 2048
	return module{
		imports: []imported{{"toolhost", "arguments", hostShape}, {"records", "get", hostShape}, {"toolhost", "result", hostShape}},
		data:    order.Request,
		run: [][]byte{
			constI32(0), constI32(0), constI32(argumentsAt), constI32(1024), call(arguments), opDrop,
			constI32(rowAt),
			constI32(0), constI32(int64(len(order.Request))), constI32(rowAt), constI32(4096), call(get), opWrapI64,
			constI32(0), constI32(0), call(result),
			constI64(32), opShiftI64, opWrapI64,
		},
	}.bytes()
}
