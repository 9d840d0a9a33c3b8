//go:build wasip1

// The guest "go" for Extism: the same work, with Extism's own PDK.
package main

import (
	extism "github.com/extism/go-pdk"

	"github.com/toolhost/toolhost/bench/order"
)

//go:wasmimport extism:host/user records_get
func recordsGet(request uint64) (answer uint64)

func find(request []byte) ([]byte, error) {
	asked := extism.AllocateBytes(request)
	defer asked.Free()
	answer := extism.FindMemory(recordsGet(asked.Offset()))
	defer answer.Free()
	return answer.ReadBytes(), nil
}

//go:wasmexport run
func run() int32 {
	result, err := order.Get(extism.Input(), find)
	if err != nil {
		extism.SetError(err)
		return 1
	}
	extism.Output(result)
	return 0
}

func main() {}
