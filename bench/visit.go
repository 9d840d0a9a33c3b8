package main

import (
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/bench/order"
)

// The statuses of docs/abi.md, A7.
const (
	statusOK      = 0
	statusShort   = 1
	statusDenied  = 3
	statusInvalid = 4
)

// offered are the host functions that the guests may import.
func offered() map[string][]string {
	return map[string][]string{"toolhost": {"arguments", "result", "error"}, "records": {"get"}}
}

// visit is the host's side of one call after another, for the ABI of toolhost.
type visit struct {
	result []byte // a copy
	failed string
}

// answer is what the host says to one request, which holds only until it returns.
func (v *visit) answer(module, function string, request []byte) (status uint32, response []byte) {
	switch function {
	case "arguments":
		return statusOK, []byte(order.Arguments)
	case "get":
		found, err := order.Find(request)
		if err != nil {
			return statusDenied, []byte(`{"error":"no grant"}`)
		}
		return statusOK, found
	case "result":
		v.result = append(v.result[:0], request...)
		return statusOK, nil
	case "error":
		v.failed = string(request)
		return statusOK, nil
	default:
		return statusInvalid, []byte(`{"error":"no such function"}`)
	}
}

// begin forgets the call before.
func (v *visit) begin() { v.result, v.failed = v.result[:0], "" }

// end gives the result of a call whose run returned a code.
func (v *visit) end(code int32) ([]byte, error) {
	switch {
	case v.failed != "":
		return nil, errors.New(v.failed)
	case code != 0:
		return nil, fmt.Errorf("run returned %d", code)
	default:
		return v.result, nil
	}
}

var errOutside = errors.New("a region outside the memory")

// exchange does one host call on guest memory. It checks each region, because a host that does not is no peer.
func (v *visit) exchange(memory []byte, module, function string, requestAt, requestLen, responseAt, responseCap uint32) (uint64, error) {
	size := uint64(len(memory))
	if uint64(requestAt)+uint64(requestLen) > size || uint64(responseAt)+uint64(responseCap) > size {
		return 0, errOutside
	}
	status, response := v.answer(module, function, memory[requestAt:requestAt+requestLen])
	if len(response) > int(responseCap) {
		return statusShort<<32 | uint64(len(response)), nil
	}
	copy(memory[responseAt:], response)
	return uint64(status)<<32 | uint64(len(response)), nil
}
