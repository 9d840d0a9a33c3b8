package main

import "github.com/toolhost/toolhost/bench/order"

// smallExtism is the guest small for Extism. A host function of Extism cannot reach the guest's memory, only
// that of Extism's kernel, so the guest copies through the kernel as Extism's PDKs do: eight bytes at a time.
//
//	(module
//	  (import "extism:host/env"  "input_load_u64" (func $input_load_u64 (param i64) (result i64)))
//	  (import "extism:host/env"  "alloc"          (func $alloc          (param i64) (result i64)))
//	  (import "extism:host/env"  "store_u64"      (func $store_u64      (param i64 i64)))
//	  (import "extism:host/env"  "store_u8"       (func $store_u8       (param i64 i32)))
//	  (import "extism:host/user" "records_get"    (func $records_get    (param i64) (result i64)))
//	  (import "extism:host/env"  "length"         (func $length         (param i64) (result i64)))
//	  (import "extism:host/env"  "output_set"     (func $output_set     (param i64 i64)))
//	  (memory (export "memory") 1)
//	  (data (i32.const 0) "{\"from\":\"orders\",\"key\":\"LK-702219\"}")
//	  (func (export "run") (result i32) (local $block i64)
//	    ;; the arguments, three times eight bytes: +0, +8, +16
//	    (i64.store (i32.const 1024) (call $input_load_u64 (i64.const 0))) ...
//	    (local.set $block (call $alloc (i64.const 35)))
//	    ;; the request, four times eight bytes, +0 to +24, and three bytes
//	    (call $store_u64 (i64.add (local.get $block) (i64.const 0)) (i64.load (i32.const 0))) ...
//	    (call $store_u8 (i64.add (local.get $block) (i64.const 32)) (i32.load8_u (i32.const 32))) ...
//	    (local.set $block (call $records_get (local.get $block)))
//	    (call $output_set (local.get $block) (call $length (local.get $block)))
//	    (i32.const 0)))
func smallExtism() []byte {
	const inputLoad, alloc, store, storeByte, get, length, output = 0, 1, 2, 3, 4, 5, 6
	const argumentsAt = 1024
	const env = "extism:host/env"
	pointer := signature{params: []byte{i64}, results: []byte{i64}}
	var run [][]byte
	for n := int64(0); n < int64(len(order.Arguments)); n += 8 {
		run = append(run, constI32(argumentsAt+n), constI64(n), call(inputLoad), opStoreI64)
	}
	size := int64(len(order.Request))
	run = append(run, constI64(size), call(alloc), setLocal(0))
	whole := size - size%8
	for n := int64(0); n < whole; n += 8 {
		run = append(run, getLocal(0), constI64(n), opAddI64, constI32(n), opLoadI64, call(store))
	}
	for n := whole; n < size; n++ {
		run = append(run, getLocal(0), constI64(n), opAddI64, constI32(n), opLoadByte, call(storeByte))
	}
	run = append(run,
		getLocal(0), call(get), setLocal(0),
		getLocal(0), getLocal(0), call(length), call(output),
		constI32(0))
	return module{
		imports: []imported{
			{env, "input_load_u64", pointer},
			{env, "alloc", pointer},
			{env, "store_u64", signature{params: []byte{i64, i64}}},
			{env, "store_u8", signature{params: []byte{i64, i32}}},
			{"extism:host/user", "records_get", pointer},
			{env, "length", pointer},
			{env, "output_set", signature{params: []byte{i64, i64}}},
		},
		data: order.Request,
		run:  run,
	}.bytes()
}
