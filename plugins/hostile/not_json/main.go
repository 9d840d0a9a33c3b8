//go:build wasip1

// not_json gives a result that is not JSON. The pdk would not let it, so it does without.
package main

import "unsafe"

//go:wasmimport toolhost result
//go:noescape
func result(request unsafe.Pointer, requestLen uint32, response unsafe.Pointer, responseCap uint32) uint64

//go:wasmexport run
func run() int32 {
	text := []byte(`{"text": "half`)
	result(unsafe.Pointer(&text[0]), uint32(len(text)), nil, 0)
	return 0
}

func main() {}
