//go:build !unix

package sandbox

import "errors"

// mapMemory refuses: Go's memory is then used for all sizes.
func mapMemory(uint64) ([]byte, error) { return nil, errors.New("no mapped memory on this system") }

func unmapMemory([]byte) {}
