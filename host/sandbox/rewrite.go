package sandbox

import (
	"slices"
	"strconv"
)

// The rewriting of a module (docs/sandbox.md describes it for reviewers). It is given a module whose
// every index was held against the module's own and which wazero has validated, and gives one that
// does the same within bounds:
//
//   - One function is imported, after the others: look(fuel, stack i64) -> i64. So the module's own
//     functions move by one, wherever they are named.
//   - Two mutable i64 globals are appended: the fuel that is left until the next look, and the bytes of
//     native stack that are left.
//   - Functions charge fuel as metering.go says. Those that call others charge their frame for as long
//     as they run.
//   - Instructions over ranges become calls of appended functions, which work piece by piece (bulk.go).
//   - Tables get a maximum.
//   - Mutable globals are exported under reserved names.
//   - Small data segments are joined (data.go).

const (
	ownModule    = "toolhost:sandbox" // what the rewriting imports, and the beginning of what it exports
	lookFunction = "look"
	fuelExport   = ownModule + ":fuel"
	stackExport  = ownModule + ":stack"
	globalExport = ownModule + ":global:" // and the global's number

	// stackBytes bounds the native stack of one call. wazero's own bound lies between 50 and 84 MB.
	stackBytes = 16 << 20
)

// rewriting is a module on its way.
type rewriting struct {
	*sections
	imports int // imported functions of the original
	fuel    uint32
	stack   uint32
	ask     uint32      // the function that looks
	types   []signature // the original's, then ours
	added   []added     // appended functions
	code    *code
	meter   *meter
}

// added is a function that the rewriting appends.
type added struct {
	typ  uint32
	body []byte
}

// rewrite gives the module that is compiled.
func (s *sections) rewrite() []byte {
	w := &rewriting{sections: s, imports: s.imported(kindFunction), types: slices.Clone(s.types), code: &code{}}
	w.fuel, w.stack = uint32(len(s.globals)), uint32(len(s.globals)+1)
	w.meter = &meter{imports: w.imports}
	w.typeOfLook()
	w.addAsk()
	code := w.codeSection() // first: it finds out what types and functions are added
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range []byte{
		sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport,
		sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
	} {
		body := s.bodyOf(id)
		if id == sectionCode {
			body = code
		} else {
			body = w.section(id, body)
		}
		if body != nil {
			out = append(out, id)
			out = appendSized(out, body)
		}
	}
	return out
}

func (s *sections) bodyOf(id byte) []byte {
	for _, b := range s.raw {
		if b.id == id {
			return b.body
		}
	}
	return nil
}

// section gives a section's body as it goes into the new module; nil leaves it out.
func (w *rewriting) section(id byte, body []byte) []byte {
	switch id {
	case sectionType:
		return w.typeSection(body)
	case sectionImport:
		return extended(body, 1, w.importOfLook())
	case sectionFunction:
		var more []byte
		for _, a := range w.added {
			more = appendU32(more, a.typ)
		}
		return extended(body, len(w.added), more)
	case sectionTable:
		return w.tableSection(body)
	case sectionGlobal:
		return w.globalSection(body)
	case sectionExport:
		return w.exportSection(body)
	case sectionStart:
		if body == nil {
			return nil
		}
		return w.moved(body, (*splice).function)
	case sectionElement:
		return w.elementSection(body)
	case sectionData:
		return w.dataSection(body)
	default:
		return body
	}
}

// extended appends entries to a section that begins with their number.
func extended(body []byte, n int, more []byte) []byte {
	if n == 0 {
		return body
	}
	r := &reader{data: body}
	count := uint32(0)
	if body != nil {
		count = r.u32()
	}
	out := appendU32(nil, count+uint32(n))
	out = append(out, body[r.pos:]...)
	return append(out, more...)
}

func (w *rewriting) typeSection(body []byte) []byte {
	var more []byte
	for _, sig := range w.types[len(w.sections.types):] {
		more = append(more, 0x60)
		more = appendSized(more, []byte(sig.params))
		more = appendSized(more, []byte(sig.results))
	}
	return extended(body, len(w.types)-len(w.sections.types), more)
}

// typeOf gives the number of a function type, a new one if it must.
func (w *rewriting) typeOf(params, results string) uint32 {
	sig := signature{params, results}
	n := slices.Index(w.types, sig)
	if n < 0 {
		n = len(w.types)
		w.types = append(w.types, sig)
	}
	return uint32(n)
}

const (
	i32Value = string(rune(typeI32))
	i64Value = string(rune(typeI64))
)

func (w *rewriting) importOfLook() []byte {
	out := appendSized(nil, []byte(ownModule))
	out = appendSized(out, []byte(lookFunction))
	return appendU32(append(out, kindFunction), w.typeOfLook())
}

func (w *rewriting) typeOfLook() uint32 { return w.typeOf(i64Value+i64Value, i64Value) }

// tableSection gives each table a maximum: its memory lies outside the memory limit.
func (w *rewriting) tableSection(body []byte) []byte {
	own := w.tables[w.imported(kindTable):]
	if len(own) == 0 {
		return body
	}
	out := appendU32(nil, uint32(len(own)))
	for _, t := range own {
		limit := max(t.min, maxElements)
		if t.hasMax {
			limit = min(limit, t.max)
		}
		out = append(out, t.element, 1)
		out = appendU32(appendU32(out, t.min), limit)
	}
	return out
}

func (w *rewriting) globalSection(body []byte) []byte {
	if body != nil {
		body = w.moved(body, func(p *splice) {
			for range p.u32() {
				p.take(2)
				p.constant()
			}
		})
	}
	// No fuel: the first function that is entered asks for some.
	more := []byte{typeI64, 1, opcodeI64Const, 0, opcodeEnd, typeI64, 1, opcodeI64Const}
	more = append(appendSigned(more, stackBytes), opcodeEnd)
	return extended(body, 2, more)
}

func (w *rewriting) exportSection(body []byte) []byte {
	if body != nil {
		body = w.moved(body, func(p *splice) {
			for range p.u32() {
				p.take(p.u32())
				if p.byte() == kindFunction {
					p.function()
				} else {
					p.u32()
				}
			}
		})
	}
	more := appendExport(nil, fuelExport, w.fuel)
	more = appendExport(more, stackExport, w.stack)
	n := 2
	for index := w.imported(kindGlobal); index < len(w.globals); index++ {
		if w.globals[index].mutable {
			more = appendExport(more, globalExportName(index), uint32(index))
			n++
		}
	}
	return extended(body, n, more)
}

func (w *rewriting) elementSection(body []byte) []byte {
	if body == nil {
		return nil
	}
	return w.moved(body, func(p *splice) {
		for range p.u32() {
			p.element()
		}
	})
}

// codeSection rewrites every body, and appends ours.
func (w *rewriting) codeSection() []byte {
	w.findLeaves()
	out := []byte{}
	for n, body := range w.bodies {
		if w.meter.leaves[n] == 0 {
			body = w.function(w.sections.functions[w.imports+n], body)
		}
		out = appendSized(out, body)
	}
	for n := 0; n < len(w.added); n++ {
		out = appendSized(out, w.added[n].body)
	}
	if len(w.bodies)+len(w.added) == 0 {
		return nil
	}
	return append(appendU32(nil, uint32(len(w.bodies)+len(w.added))), out...)
}

// findLeaves finds out first which functions are paid for by those that call them.
func (w *rewriting) findLeaves() {
	for n, body := range w.bodies {
		w.readBody(&reader{data: body}, w.sections.functions[w.imports+n], w.code)
		w.meter.leaves = append(w.meter.leaves, w.meter.leaf(w.code))
	}
}

// function rewrites one body.
func (w *rewriting) function(typ uint32, body []byte) []byte {
	c := w.code
	w.readBody(&reader{data: body}, typ, c)
	f := functionWriter{rewriting: w, body: body, frame: int64(w.frameSize(c)), charges: w.meter.plan(c)}
	f.out = make([]byte, 0, len(body)+len(body)/4+32)
	f.out = append(f.out, body[:c.start]...)
	f.enter(typ)
	for n := range c.instructions {
		f.step(n)
	}
	return f.out
}

// functionWriter writes the body of one function.
type functionWriter struct {
	*rewriting
	body    []byte
	out     []byte
	charges []charge
	frame   int64 // bytes of stack; 0: it starts no other frame and is not counted
	depth   int   // blocks that are open inside the function
}

// enter charges the frame and the first range, and opens the block that every way out leads through.
func (f *functionWriter) enter(typ uint32) {
	if f.frame > 0 {
		f.addTo(f.stack, -f.frame)
	}
	f.charge()
	if f.frame > 0 {
		f.out = append(f.out, opcodeBlock)
		f.out = f.appendBlockType(f.out, f.types[typ].results)
	}
}

// addTo emits: global n = global n + k.
func (f *functionWriter) addTo(global uint32, k int64) {
	f.out = appendU32(append(f.out, opcodeGlobalGet), global)
	f.out = appendSigned(append(f.out, opcodeI64Const), k)
	f.out = append(f.out, 0x7c) // i64.add
	f.out = appendU32(append(f.out, opcodeGlobalSet), global)
}

// charge emits the next charge, and the look where it has one.
func (f *functionWriter) charge() {
	c := f.charges[0]
	f.charges = f.charges[1:]
	if c.cost > 0 {
		f.addTo(f.fuel, -int64(c.cost))
	}
	if c.at == 0 {
		f.lookIfUsedUp(c.look, f.frame > 0)
	} else {
		f.lookIfUsedUp(c.look, false)
	}
}

// lookIfUsedUp emits: if the one, the other or one of both is used up then look. The condition stands so
// that the code for the rare case is not in the way of the other.
func (f *functionWriter) lookIfUsedUp(fuel, stack bool) {
	switch {
	case fuel && stack:
		f.get(f.fuel)
		f.get(f.stack)
		f.out = append(f.out, 0x84) // i64.or: negative if one of them is
	case fuel:
		f.get(f.fuel)
	case stack:
		f.get(f.stack)
	default:
		return
	}
	f.out = append(f.out, opcodeI64Const, 0, 0x59, opcodeIf, blockEmpty, opcodeElse) // i64.ge_s
	f.out = appendU32(append(f.out, opcodeCall), f.ask)
	f.out = append(f.out, opcodeEnd)
}

// addAsk appends the function that looks. A call of it is all that stands in the code of others, which
// stays short.
func (w *rewriting) addAsk() {
	f := &functionWriter{rewriting: w, out: []byte{0}} // no locals
	f.get(f.fuel)
	f.get(f.stack)
	f.out = appendU32(append(f.out, opcodeCall), uint32(w.imports))
	f.out = appendU32(append(f.out, opcodeGlobalSet), f.fuel)
	f.out = append(f.out, opcodeEnd)
	w.ask = w.add(w.typeOf("", ""), f.out)
}

// add appends a function, or gives the one that is the same.
func (w *rewriting) add(typ uint32, body []byte) (index uint32) {
	n := slices.IndexFunc(w.added, func(a added) bool { return a.typ == typ && slices.Equal(a.body, body) })
	if n < 0 {
		n = len(w.added)
		w.added = append(w.added, added{typ, body})
	}
	return uint32(w.imports + 1 + len(w.bodies) + n)
}

func (f *functionWriter) get(global uint32) {
	f.out = appendU32(append(f.out, opcodeGlobalGet), global)
}

// step writes instruction n and the charges that come after it.
func (f *functionWriter) step(n int) {
	i := &f.code.instructions[n]
	switch i.op {
	case opcodeBlock, opcodeLoop, opcodeIf:
		f.depth++
		f.keep(i)
	case opcodeEnd:
		f.end(i)
	case opcodeReturn:
		f.leave(i)
	case opcodeCall, opcodeRefFunc:
		f.out = appendU32(append(f.out, byte(i.op)), f.functionIndex(i.a))
	default:
		if call, ok := f.bulk(i); ok {
			f.out = appendU32(append(f.out, opcodeCall), call)
		} else {
			f.keep(i)
		}
	}
	for len(f.charges) > 0 && f.charges[0].at == n+1 {
		f.charge()
	}
}

func (f *functionWriter) keep(i *instruction) { f.out = append(f.out, f.body[i.at:i.end]...) }

// end closes a block; the last one is the function's.
func (f *functionWriter) end(i *instruction) {
	f.keep(i)
	if f.depth--; f.depth < 0 && f.frame > 0 {
		f.addTo(f.stack, f.frame)
		f.out = append(f.out, opcodeEnd)
	}
}

// leave writes a return, which becomes a branch to the block around the function.
func (f *functionWriter) leave(i *instruction) {
	if f.frame == 0 {
		f.keep(i)
		return
	}
	f.out = appendU32(append(f.out, opcodeBr), uint32(f.depth))
}

// functionIndex moves the index of a function of the module's own.
func (w *rewriting) functionIndex(index uint32) uint32 {
	if int(index) >= w.imports {
		return index + 1
	}
	return index
}

// appendBlockType appends the type of a block with these results and no parameters.
func (w *rewriting) appendBlockType(out []byte, results string) []byte {
	switch len(results) {
	case 0:
		return append(out, blockEmpty)
	case 1:
		return append(out, results[0])
	default:
		return appendSigned(out, int64(w.typeOf("", results)))
	}
}

// moved rewrites a section's body: visit reads it and names the function indexes in it.
func (w *rewriting) moved(body []byte, visit func(*splice)) []byte {
	p := &splice{reader: &reader{data: body}, move: w.functionIndex}
	visit(p)
	p.keep()
	return p.out
}

// splice copies what it reads, but for function indexes, which are moved.
type splice struct {
	*reader
	move func(uint32) uint32
	out  []byte
	mark int // what was read before it is in out
}

func (p *splice) keep() {
	p.out = append(p.out, p.data[p.mark:p.pos]...)
	p.mark = p.pos
}

func (p *splice) function() {
	p.keep()
	p.out = appendU32(p.out, p.move(p.u32()))
	p.mark = p.pos
}

// constant reads over a constant expression.
func (p *splice) constant() {
	switch op := p.byte(); op {
	case opcodeRefFunc:
		p.function()
	case opcodeGlobalGet:
		p.u32()
	case opcodeRefNull:
		p.byte()
	case prefixVector:
		p.u32()
		p.take(16)
	default:
		p.readNumber(op)
	}
	p.byte() // end
}

// element reads over one element segment; see sections.readElements.
func (p *splice) element() {
	flags := p.u32()
	if flags&1 == 0 {
		if flags&2 != 0 {
			p.u32()
		}
		p.constant()
	}
	if flags&3 != 0 {
		p.byte()
	}
	for range p.u32() {
		if flags&4 != 0 {
			p.constant()
		} else {
			p.function()
		}
	}
}

func appendU32(out []byte, n uint32) []byte {
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

func appendSigned(out []byte, n int64) []byte {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && b&0x40 == 0) || (n == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func appendSized(out, body []byte) []byte {
	return append(appendU32(out, uint32(len(body))), body...)
}

func appendExport(out []byte, name string, global uint32) []byte {
	out = appendSized(out, []byte(name))
	return appendU32(append(out, kindGlobal), global)
}

// globalExportName is the reserved name of a mutable global.
func globalExportName(index int) string { return globalExport + strconv.Itoa(index) }
