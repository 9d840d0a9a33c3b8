package sandbox

import (
	"bytes"
	"strings"
)

// Bounds of a module (S1). Each is far above what Go, C, Rust and AssemblyScript guests need
// and keeps what the decoder allocates in proportion to the module's size.
const (
	// MaxModule bounds a module in bytes; goja compiled by Go has 19 million.
	MaxModule   = 64 << 20
	maxName     = 1 << 10 // bytes of a name
	maxTypes    = 10_000
	maxParams   = 128 // of one function type
	maxResults  = 16
	maxImports  = 1_000
	maxFuncs    = 100_000
	maxTables   = 16
	maxMemories = 16      // more than one are read, to be refused in clear words
	maxElements = 100_000 // of all tables' minimums together: memory outside the memory limit
	maxGlobals  = 1_000   // after each call, and each look, machine code may load all of them again
	maxExports  = 1_000
	maxSegments = 250_000 // data or element segments; Go makes one for each gap: 36,000 in a small guest
	maxInits    = 200_000 // elements that segments name, together
	// maxLocals bounds one function: ten bytes can declare four thousand million locals, which wazero
	// would allocate, and the compiler's work grows faster than their number.
	maxLocals    = 5_000
	maxAllLocals = 2_000_000
	// maxBody bounds one function's code in bytes, for the same reason.
	maxBody = 4 << 20
)

// moduleHead is the magic and the version (section 5.5.16).
const moduleHead = "\x00asm\x01\x00\x00\x00"

// Section numbers (core specification 2.0, section 5.5.2).
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
)

// signature holds the value types of a function type, a byte each.
type signature struct{ params, results string }

func (s signature) String() string {
	return "(" + typeList(s.params) + ") -> " + resultText(s.results)
}

func resultText(results string) string {
	if len(results) == 1 {
		return valueName(results[0])
	}
	return "(" + typeList(results) + ")"
}

func typeList(types string) string {
	names := make([]string, len(types))
	for i := range types {
		names[i] = valueName(types[i])
	}
	return strings.Join(names, ", ")
}

// rawImport and rawExport are the entries as they stand in the module.
type rawImport struct {
	module, name string
	kind         byte
	typ          uint32 // of a function
}

type rawExport struct {
	name  string
	kind  byte
	index uint32
}

// global is what the rewriting must know of one.
type global struct {
	typ     byte
	mutable bool
}

// table is a table of the module's own.
type table struct {
	element byte // its reference type
	limits
}

// sectionBody is a section as it stands in the module, custom sections left out.
type sectionBody struct {
	id   byte
	body []byte
}

// sections is what the module's sections say, well formed but not yet judged.
type sections struct {
	types     []signature
	imports   []rawImport
	counts    [kindGlobal + 1]int // of the imports, by kind
	functions []uint32            // type of each function, imported ones first
	tables    []table             // the same
	memories  []limits            // the same
	globals   []global
	exports   []rawExport
	start     bool
	elements  int      // element segments
	dataSizes []uint32 // bytes of each data segment
	bodies    [][]byte
	leaves    []uint32 // what a function costs that its callers pay for; 0: it pays itself
	frames    []uint32 // how much native stack a call of each of these takes; 0: it starts no other
	dataCount int      // -1: no such section
	namesData bool     // an instruction names a data segment
	changing  []string // instructions whose effect cannot be put back (state.go)
	// hostInTables: an imported function can be called through a table.
	hostInTables bool
	vectors      bool  // a type or global holds a v128
	tooDear      error // what compiling the module would cost; nil: it is within the bounds
	locals       int
	inits        int
	raw          []sectionBody
}

// imported says how many of the imports are of a kind.
func (s *sections) imported(kind byte) int { return s.counts[kind] }

func (s *sections) mutableGlobals() int {
	n := 0
	for _, g := range s.globals {
		if g.mutable {
			n++
		}
	}
	return n
}

// readSections reads a whole module; its error names the first byte that is wrong.
func readSections(wasm []byte) (*sections, error) {
	r := &reader{data: wasm}
	if len(wasm) > MaxModule {
		r.fail("a module of %d bytes, at most %d are allowed", len(wasm), MaxModule)
	}
	if head := r.take(8); r.err == nil && !bytes.Equal(head, []byte(moduleHead)) {
		r.pos = 0
		r.fail("this is no WebAssembly module of version 1")
	}
	s := &sections{dataCount: -1}
	last := 0
	for r.more() {
		id := r.byte()
		if id != sectionCustom {
			place := sectionPlace(id)
			if place <= last {
				r.fail("section %d is unknown, repeated or out of order", id)
			}
			last = place
		}
		body := r.part(r.u32())
		s.read(id, body)
		body.end(r)
		if id != sectionCustom { // names and their counts would be parsed by the compiler and mean nothing
			s.raw = append(s.raw, sectionBody{id, body.data})
		}
	}
	if own := len(s.functions) - s.imported(kindFunction); r.err == nil && len(s.bodies) != own {
		r.fail("%d functions with %d bodies", own, len(s.bodies))
	}
	if r.err == nil && s.dataCount >= 0 && s.dataCount != len(s.dataSizes) {
		r.fail("%d data segments announced, there are %d", s.dataCount, len(s.dataSizes))
	}
	if r.err != nil {
		return nil, r.err
	}
	return s, nil
}

// plain gives the module without its custom sections.
func (s *sections) plain() []byte {
	out := []byte(moduleHead)
	for _, b := range s.raw {
		out = appendSized(append(out, b.id), b.body)
	}
	return out
}

// sectionPlace orders the sections; the data count stands before the code. Zero is no place.
func sectionPlace(id byte) int {
	switch {
	case id == sectionDataCount:
		return 2*sectionElement + 1
	case id <= sectionData:
		return 2 * int(id)
	default:
		return 0
	}
}

func (s *sections) read(id byte, r *reader) {
	switch id {
	case sectionCustom:
		r.name()
		r.take(uint32(r.left()))
	case sectionType:
		s.readTypes(r)
	case sectionImport:
		s.readImports(r)
	case sectionFunction:
		for range r.count("functions", maxFuncs) {
			s.functions = append(s.functions, r.below("type", len(s.types)))
		}
	case sectionTable:
		for range r.count("tables", maxTables) {
			s.tables = append(s.tables, table{r.refType(), r.limits()})
		}
	case sectionMemory:
		for range r.count("memories", maxMemories) {
			s.memories = append(s.memories, r.limits())
		}
	case sectionGlobal:
		for range r.count("globals", maxGlobals) {
			g := s.readGlobalType(r)
			s.constant(r) // may name those before it
			s.globals = append(s.globals, g)
		}
	case sectionExport:
		for range r.count("exports", maxExports) {
			s.exports = append(s.exports, rawExport{name: r.name(), kind: r.byte(), index: r.u32()})
		}
	case sectionStart:
		r.below("function", len(s.functions))
		s.start = true
	case sectionElement:
		s.readElements(r)
	case sectionDataCount:
		s.dataCount = int(r.u32())
	case sectionCode:
		s.readCode(r)
	case sectionData:
		s.readData(r)
	}
}

func (s *sections) readTypes(r *reader) {
	for range r.count("types", maxTypes) {
		if form := r.byte(); form != 0x60 {
			r.fail("type form 0x%02x is no function type", form)
		}
		var sig signature
		sig.params = readValueTypes(r, "parameters", maxParams)
		sig.results = readValueTypes(r, "results", maxResults)
		if r.err != nil {
			return
		}
		s.vectors = s.vectors || strings.ContainsRune(sig.params+sig.results, typeV128)
		s.types = append(s.types, sig)
	}
}

func readValueTypes(r *reader, what string, limit int) string {
	var types []byte
	for range r.count(what, limit) {
		types = append(types, r.valueType())
	}
	return string(types)
}

func (s *sections) readGlobalType(r *reader) global {
	value, mutable := r.valueType(), r.byte()
	if mutable > 1 {
		r.fail("0x%02x says nothing about a global", mutable)
	}
	s.vectors = s.vectors || value == typeV128
	return global{value, mutable == 1}
}

func (s *sections) readImports(r *reader) {
	for range r.count("imports", maxImports) {
		i := rawImport{module: r.name(), name: r.name(), kind: r.byte()}
		switch i.kind {
		case kindFunction:
			i.typ = r.below("type", len(s.types))
			s.functions = append(s.functions, i.typ)
		case kindTable:
			s.tables = append(s.tables, table{r.refType(), r.limits()})
		case kindMemory:
			s.memories = append(s.memories, r.limits())
		case kindGlobal:
			s.globals = append(s.globals, s.readGlobalType(r))
		default:
			r.fail("import kind 0x%02x", i.kind)
		}
		if r.err != nil {
			return
		}
		s.imports = append(s.imports, i)
		s.counts[i.kind]++
	}
}

// readElements follows section 5.5.12: bit 0 passive or declarative, bit 1 an explicit table or
// declarative, bit 2 expressions in place of function indexes.
func (s *sections) readElements(r *reader) {
	for range r.count("element segments", maxSegments) {
		flags := r.u32()
		if flags > 7 {
			r.fail("element segment of kind %d", flags)
			return
		}
		if flags&1 == 0 {
			if flags&2 != 0 {
				r.below("table", len(s.tables))
			}
			s.constant(r)
		}
		if flags&3 != 0 {
			if flags&4 != 0 {
				r.refType()
			} else if kind := r.byte(); kind != 0 {
				r.fail("element kind 0x%02x", kind)
			}
		}
		inits := r.count("elements", maxInits)
		for range inits {
			if flags&4 != 0 {
				s.constant(r)
			} else {
				s.functionIndex(r)
			}
		}
		s.elements++
		if s.inits += int(inits); s.inits > maxInits {
			r.fail("more than %d elements", maxInits)
		}
		if r.err != nil {
			return
		}
	}
}

// readCode reads every body, so that no instruction is unknown when the module is rewritten.
func (s *sections) readCode(r *reader) {
	c, work := &code{}, s.newComplexity()
	first := s.imported(kindFunction)
	for range r.count("bodies", maxFuncs) {
		size := r.u32()
		if size > maxBody {
			r.fail("a function of %d bytes, at most %d are allowed", size, maxBody)
		}
		body := r.part(size)
		if len(s.bodies)+first >= len(s.functions) {
			r.fail("more bodies than functions")
			return
		}
		typ := s.functions[first+len(s.bodies)]
		s.readBody(body, typ, c)
		if s.locals += c.locals; s.locals > maxAllLocals {
			body.fail("%d parameters and locals in all functions, at most %d are allowed", s.locals, maxAllLocals)
		}
		body.end(r)
		if r.err != nil {
			return
		}
		s.measure(work, typ, c)
		s.bodies = append(s.bodies, body.data)
	}
}

func (s *sections) readData(r *reader) {
	for range r.count("data segments", maxSegments) {
		switch kind := r.u32(); kind {
		case 0:
			s.constant(r)
		case 1:
		case 2:
			r.below("memory", len(s.memories))
			s.constant(r)
		default:
			r.fail("data segment of kind %d", kind)
		}
		size := r.u32()
		r.take(size)
		if r.err != nil {
			return
		}
		s.dataSizes = append(s.dataSizes, size)
	}
}
