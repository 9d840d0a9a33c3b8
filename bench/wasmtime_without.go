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
		{guest: guest, way: "wasmtime/new", open: without},
		{guest: guest, way: "wasmtime/reused", open: without},
		{guest: guest, way: "wasmtime/reused+fuel", open: without},
	}
}
