package sandbox

import (
	"slices"
)

// A small encoder for modules in tests: what it writes is what the test says, right or wrong.

func leb(n uint64) []byte {
	var out []byte
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

func sleb(n int64) []byte { return appendSigned(nil, n) }

func sized(b []byte) []byte { return append(leb(uint64(len(b))), b...) }

func vector(items ...[]byte) []byte {
	return append(leb(uint64(len(items))), slices.Concat(items...)...)
}

func section(id byte, body []byte) []byte { return append([]byte{id}, sized(body)...) }

func header() []byte { return []byte("\x00asm\x01\x00\x00\x00") }

// guest is a module under construction. Functions are numbered as they are added, imports first.
type guest struct {
	types, imports, functions, exports, bodies, globals [][]byte
	memory                                              []byte // the memory section's body
	tables                                              [][]byte
	data                                                [][]byte
	before, after                                       []byte // whole sections, set before the exports and at the end
	named                                               map[string]uint64
}

// newGuest has one page of memory, exported.
func newGuest() *guest {
	g := &guest{memory: vector([]byte{0, 1}), named: map[string]uint64{}}
	return g.export("memory", kindMemory, 0)
}

func (g *guest) typ(params, results string) uint64 {
	t := slices.Concat([]byte{0x60}, sized([]byte(params)), sized([]byte(results)))
	for i, have := range g.types {
		if slices.Equal(have, t) {
			return uint64(i)
		}
	}
	g.types = append(g.types, t)
	return uint64(len(g.types) - 1)
}

func (g *guest) importAs(module, name, params, results string) *guest {
	g.named[module+"."+name] = uint64(len(g.imports))
	g.imports = append(g.imports, slices.Concat(sized([]byte(module)), sized([]byte(name)), []byte{kindFunction}, leb(g.typ(params, results))))
	return g
}

// imp imports functions of the one shape.
func (g *guest) imp(module string, names ...string) *guest {
	for _, name := range names {
		g.importAs(module, name, shape().params, shape().results)
	}
	return g
}

func (g *guest) importOther(module, name string, desc ...byte) *guest {
	g.imports = append(g.imports, slices.Concat(sized([]byte(module)), sized([]byte(name)), desc))
	return g
}

// fn adds a function with i64 locals and gives its number.
func (g *guest) fn(params, results string, locals int, code ...[]byte) uint64 {
	g.functions = append(g.functions, leb(g.typ(params, results)))
	declared := vector()
	if locals > 0 {
		declared = vector(append(leb(uint64(locals)), typeI64))
	}
	g.bodies = append(g.bodies, sized(slices.Concat(declared, slices.Concat(code...), []byte{opEnd})))
	return uint64(len(g.imports) + len(g.functions) - 1)
}

func (g *guest) export(name string, kind byte, index uint64) *guest {
	g.exports = append(g.exports, slices.Concat(sized([]byte(name)), []byte{kind}, leb(index)))
	return g
}

// run adds and exports run: () -> i32 with one i64 local.
func (g *guest) run(code ...[]byte) *guest {
	return g.export("run", kindFunction, g.fn("", i32Value, 1, code...))
}

func (g *guest) global(n int64) *guest {
	g.globals = append(g.globals, slices.Concat([]byte{typeI32, 1}, i32(n), []byte{opEnd}))
	return g
}

func (g *guest) bytesAt(offset int64, b string) *guest {
	g.data = append(g.data, slices.Concat([]byte{0}, i32(offset), []byte{opEnd}, sized([]byte(b))))
	return g
}

func (g *guest) bytes() []byte {
	out := slices.Concat(header(), section(sectionType, vector(g.types...)))
	add := func(id byte, items [][]byte) {
		if len(items) > 0 {
			out = append(out, section(id, vector(items...))...)
		}
	}
	add(sectionImport, g.imports)
	add(sectionFunction, g.functions)
	add(sectionTable, g.tables)
	if g.memory != nil {
		out = append(out, section(sectionMemory, g.memory)...)
	}
	add(sectionGlobal, g.globals)
	out = append(out, g.before...)
	add(sectionExport, g.exports)
	out = append(out, g.after...)
	add(sectionCode, g.bodies)
	add(sectionData, g.data)
	return out
}

const opEnd = 0x0b

func op(b ...byte) []byte { return b }

func i32(n int64) []byte { return append([]byte{0x41}, sleb(int64(int32(uint32(n))))...) }

func callTo(n uint64) []byte { return append([]byte{0x10}, leb(n)...) }

// ask calls an imported function of the one shape; the i64 stays on the stack.
func (g *guest) ask(name string, q, qLen, r, rCap int64) []byte {
	return slices.Concat(i32(q), i32(qLen), i32(r), i32(rCap), callTo(g.named[name]))
}

var (
	opUnreachable = op(0x00)
	opDrop        = op(0x1a)
	opSet0        = op(0x21, 0)
	opGet0        = op(0x20, 0)
	opWrap        = op(0xa7)                            // i32.wrap_i64
	opHigh        = op(0x42, 32, 0x88, 0xa7)            // i64.const 32, i64.shr_u, i32.wrap_i64: the status
	opGrow        = op(0x40, 0)                         // memory.grow
	opReturn      = op(0x0f)                            // return
	opMinusOne    = op(0x41, 0x7f, 0x46, 0x04, 0x40)    // i32.const -1, i32.eq, if
	opCount       = op(0x23, 0, 0x41, 1, 0x6a, 0x24, 0) // global 0 += 1
	opCounted     = op(0x23, 0)                         // global.get 0
	opLoad64      = op(0x28, 2, 0x40)                   // i32.load offset 64
	opEndBlock    = op(opEnd)
)
