//go:build !cgo

package main

import (
	"context"
	"errors"
)

var errNoCgo = errors.New("wasmtime needs cgo and a C compiler")

func wasmtimeRows(guest string, _ []byte) []row {
	without := func(context.Context) (func() (caller, error), error) { return nil, errNoCgo }
	return []row{
		{guest, "wasmtime/new", without},
		{guest, "wasmtime/reused", without},
		{guest, "wasmtime/reused+fuel", without},
	}
}
