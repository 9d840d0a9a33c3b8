package sandbox

import (
	"bytes"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// This file is the only one that touches guest memory (S6). Rules:
//   - a sum of a pointer and a length is made in uint64, where it cannot overflow;
//   - a length from the guest is checked before anything is allocated for it;
//   - a request is copied before it is looked at, because the memory is a live view;
//   - before writing, the region is checked against the memory as it is then.

// MaxRequest bounds a request in bytes.
const MaxRequest = 1 << 20

// region is a place in guest memory, as the guest names it.
type region struct{ ptr, size uint32 }

// in says what is wrong with the region; what names it.
func (g region) in(mem api.Memory, what string) error {
	if have := uint64(mem.Size()); uint64(g.ptr)+uint64(g.size) > have {
		return fmt.Errorf("%s of %d bytes at %d is outside the memory of %d bytes", what, g.size, g.ptr, have)
	}
	return nil
}

// copyRequest gives a copy of the request, or an error if it is not wholly in memory. A request longer
// than MaxRequest is in memory but not copied: tooLong is then true.
func copyRequest(mem api.Memory, g region) (request []byte, tooLong bool, err error) {
	if err := g.in(mem, "the request"); err != nil {
		return nil, false, err
	}
	if g.size > MaxRequest {
		return nil, true, nil
	}
	view, ok := mem.Read(g.ptr, g.size)
	if !ok {
		return nil, false, fmt.Errorf("the request of %d bytes at %d cannot be read", g.size, g.ptr)
	}
	return bytes.Clone(view), false, nil
}

// writeResponse writes a response that fits into the region.
func writeResponse(mem api.Memory, g region, response []byte) error {
	if err := g.in(mem, "the response buffer"); err != nil {
		return err
	}
	if len(response) > int(g.size) || !mem.Write(g.ptr, response) {
		return fmt.Errorf("a response of %d bytes does not fit into %d bytes at %d", len(response), g.size, g.ptr)
	}
	return nil
}

// view gives a place in guest memory for reading at once, or nil.
func view(mem api.Memory, g region) ([]byte, bool) { return mem.Read(g.ptr, g.size) }

// put32 and put64 write a number; false if it is not wholly in memory.
func put32(mem api.Memory, at, n uint32) bool { return mem.WriteUint32Le(at, n) }

func put64(mem api.Memory, at uint32, n uint64) bool { return mem.WriteUint64Le(at, n) }

// put writes bytes; false if they are not wholly in memory.
func put(mem api.Memory, at uint32, b []byte) bool { return mem.Write(at, b) }
