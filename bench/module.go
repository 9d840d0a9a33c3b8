package main

import (
	"encoding/binary"
	"slices"
)

// This file writes WebAssembly modules in the binary format, chapter 5 of the core specification.

const (
	i32 = 0x7f // section 5.3.1
	i64 = 0x7e
)

// Instructions, section 5.4.
func call(function byte) []byte { return []byte{0x10, function} }
func constI32(n int64) []byte   { return append([]byte{0x41}, signed(n)...) }
func constI64(n int64) []byte   { return append([]byte{0x42}, signed(n)...) }
func getLocal(n byte) []byte    { return []byte{0x20, n} }
func setLocal(n byte) []byte    { return []byte{0x21, n} }

var (
	opDrop     = []byte{0x1a}
	opEnd      = []byte{0x0b}
	opAddI64   = []byte{0x7c}
	opShiftI64 = []byte{0x88} // i64.shr_u
	opWrapI64  = []byte{0xa7} // i32.wrap_i64
	opLoadI64  = []byte{0x29, 0, 0}
	opLoadByte = []byte{0x2d, 0, 0} // i32.load8_u
	opStoreI64 = []byte{0x37, 0, 0}
)

// signature is a function's type, section 5.3.6.
type signature struct{ params, results []byte }

func (s signature) bytes() []byte {
	return slices.Concat([]byte{0x60}, sized(s.params), sized(s.results))
}

// imported is a function of the host. Functions are numbered as they are imported.
type imported struct {
	module, name string
	signature
}

// module has one page of memory, exported, with the data at 0, and one function, exported as run, with
// one i64 local.
type module struct {
	imports []imported
	data    string
	run     [][]byte
}

func (m module) bytes() []byte {
	run := signature{results: []byte{i32}}
	types, imports := [][]byte{}, [][]byte{}
	for n, f := range m.imports {
		types = append(types, f.bytes())
		imports = append(imports, slices.Concat(name(f.module), name(f.name), []byte{0, byte(n)}))
	}
	types = append(types, run.bytes())
	own := byte(len(m.imports)) // the number of run, and of its type
	body := slices.Concat([]byte{1, 1, i64}, slices.Concat(m.run...), opEnd)
	return slices.Concat(
		[]byte("\x00asm\x01\x00\x00\x00"),
		section(1, types...),
		section(2, imports...),
		section(3, []byte{own}),
		section(5, []byte{0, 1}), // a memory of at least one page
		section(7, slices.Concat(name("memory"), []byte{2, 0}), slices.Concat(name("run"), []byte{0, own})),
		section(10, sized(body)),
		section(11, slices.Concat([]byte{0}, constI32(0), opEnd, name(m.data))),
	)
}

// section holds a vector of items, section 5.5.2.
func section(id byte, items ...[]byte) []byte {
	return append([]byte{id}, sized(append(unsigned(len(items)), slices.Concat(items...)...))...)
}

func name(s string) []byte { return sized([]byte(s)) }

func sized(b []byte) []byte { return append(unsigned(len(b)), b...) }

// unsigned and signed are LEB128, section 5.2.2.
func unsigned(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func signed(n int64) []byte {
	var out []byte
	for n < -64 || n > 63 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n)&0x7f)
}
