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
//   - Tables get a maximum. One more holds the functions that ref.func names, and ref.func becomes table.get.
//   - Mutable globals are exported under reserved names.
//   - Small data segments are joined (data.go).

const (
	ownModule    = "toolhost:sandbox" // what the rewriting imports, and the beginning of what it exports
	lookFunction = "look"
	fuelExport   = ownModule + ":fuel"
	stackExport  = ownModule + ":stack"
	globalExport = ownModule + ":global:" // and the global's number

	// stackBytes bounds the native stack of one call. wazero's own bound lies between 50 and 84 MB.
	stackBytes = 8 << 20
)

// rewriting is a module on its way.
type rewriting struct {
	*sections
	imports  int // imported functions of the original
	fuel     uint32
	stack    uint32
	ask      uint32 // the appended function that looks
	lookType uint32
	types    numbered[signature] // the original's, then ours
	added    numbered[added]     // appended functions
	refs     numbered[uint32]    // functions that ref.func names, as they stand in the appended table
	code     *code
	plan     func(*code) []charge
}

// added is a function that the rewriting appends.
type added struct {
	typ  uint32
	body string
}

// numbered is a list in which each thing stands where it was first asked for.
type numbered[K comparable] struct {
	list []K
	at   map[K]uint32
}

// number gives a thing's place, a new one if it must.
func (n *numbered[K]) number(k K) uint32 {
	at, known := n.at[k]
	if !known {
		at = uint32(len(n.list))
		n.list = append(n.list, k)
		if n.at == nil {
			n.at = map[K]uint32{}
		}
		n.at[k] = at
	}
	return at
}

// rewrite gives the module that is compiled.
func (s *sections) rewrite() []byte {
	return s.rewriteWith(s.newMeter().plan)
}

// rewriteWith charges as a plan says.
func (s *sections) rewriteWith(plan func(*code) []charge) []byte {
	w := &rewriting{sections: s, imports: s.imported(kindFunction), code: &code{}, plan: plan}
	w.types = numbered[signature]{list: slices.Clone(s.types), at: map[signature]uint32{}}
	for n, sig := range slices.Backward(s.types) { // a type may stand there twice
		w.types.at[sig] = uint32(n)
	}
	w.fuel, w.stack = uint32(len(s.globals)), uint32(len(s.globals)+1)
	w.lookType = w.typeOf(i64Value+i64Value, i64Value)
	w.addAsk()
	code := w.codeSection() // first: it finds out what types and functions are added
	out := []byte(moduleHead)
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
		for _, a := range w.added.list {
			more = appendU32(more, a.typ)
		}
		return extended(body, len(w.added.list), more)
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
	ours := w.types.list[len(w.sections.types):]
	for _, sig := range ours {
		more = append(more, 0x60)
		more = appendSized(more, []byte(sig.params))
		more = appendSized(more, []byte(sig.results))
	}
	return extended(body, len(ours), more)
}

// typeOf gives the number of a function type.
func (w *rewriting) typeOf(params, results string) uint32 {
	return w.types.number(signature{params, results})
}

const (
	i32Value = string(rune(typeI32))
	i64Value = string(rune(typeI64))
)

func (w *rewriting) importOfLook() []byte {
	out := appendSized(nil, []byte(ownModule))
	out = appendSized(out, []byte(lookFunction))
	return appendU32(append(out, kindFunction), w.lookType)
}

// tableSection gives each table a maximum: its memory lies outside the memory limit.
func (w *rewriting) tableSection(body []byte) []byte {
	own := w.tables[w.imported(kindTable):]
	if n := uint32(len(w.refs.list)); n > 0 {
		own = append(slices.Clone(own), table{typeFuncref, limits{min: n, max: n, hasMax: true}})
	}
	if len(own) == 0 {
		return body
	}
	out := appendU32(nil, uint32(len(own)))
	for _, t := range own {
		out = append(out, t.element, 1)
		out = appendU32(appendU32(out, t.min), t.most())
	}
	return out
}

// most is the maximum that a table is given.
func (t table) most() uint32 {
	limit := max(t.min, maxElements)
	if t.hasMax {
		limit = min(limit, t.max)
	}
	return limit
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
	if body != nil {
		body = w.moved(body, func(p *splice) {
			for range p.u32() {
				p.element()
			}
		})
	}
	if len(w.refs.list) == 0 {
		return body
	}
	// An active segment of the appended table (form 2 of section 5.5.12), of functions (kind 0).
	more := appendU32([]byte{2}, uint32(len(w.tables)))
	more = append(more, opcodeI32Const, 0, opcodeEnd, 0)
	more = appendU32(more, uint32(len(w.refs.list)))
	for _, f := range w.refs.list {
		more = appendU32(more, w.functionIndex(f))
	}
	return extended(body, 1, more)
}

// codeSection rewrites every body, and appends ours.
func (w *rewriting) codeSection() []byte {
	out := []byte{}
	for n := range w.bodies {
		out = appendSized(out, w.function(n))
	}
	for _, a := range w.added.list {
		out = appendSized(out, []byte(a.body))
	}
	return append(appendU32(nil, uint32(len(w.bodies)+len(w.added.list))), out...)
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

// add appends a function, or finds the one that is the same, and gives its index.
func (w *rewriting) add(typ uint32, body []byte) (index uint32) {
	return uint32(w.imports+1+len(w.bodies)) + w.added.number(added{typ, string(body)})
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

// globalExportName is the reserved name of a mutable global.
func globalExportName(index int) string { return globalExport + strconv.Itoa(index) }
