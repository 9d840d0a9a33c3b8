package sandbox

// One instruction over a range can be seconds of work that nothing can interrupt. So each such
// instruction becomes a call of a function that is appended, one for each instruction and index. It
// takes the same operands, charges by their length, looks, and works piece by piece where the piece
// is large. What the instruction would refuse it is given whole, so that it traps before
// anything is written, as section 4.4.7 wants it.

// bulkPiece is how much is done between two looks: some microseconds, or a millisecond where each page
// is touched for the first time.
const bulkPiece = 64 << 10

// bulk gives the function that does what an instruction over a range does.
func (w *rewriting) bulk(i *instruction) (index uint32, ok bool) {
	if i.op < opcodeMemoryInit || i.op > opcodeTableFill {
		return 0, false
	}
	b := bulkWriter{rewriting: w, op: i.op, a: i.a, b: i.b, length: 2}
	var params, results string
	switch i.op {
	case opcodeMemoryInit, opcodeMemoryCopy, opcodeMemoryFill, opcodeTableInit, opcodeTableCopy:
		params = i32Value + i32Value + i32Value
	case opcodeTableFill:
		params = i32Value + string(rune(w.tables[i.a].element)) + i32Value
	case opcodeTableGrow:
		params, results, b.length = string(rune(w.tables[i.a].element))+i32Value, i32Value, 1
	default:
		return 0, false
	}
	return w.add(w.typeOf(params, results), b.write()), true
}

// bulkWriter writes one such function. Its locals are the operands of the instruction.
type bulkWriter struct {
	*rewriting
	op, length uint16 // the local that says how long the range is
	a, b       uint32
}

func (b *bulkWriter) write() []byte {
	f := &functionWriter{rewriting: b.rewriting, out: []byte{0}} // no locals
	if b.op <= opcodeMemoryFill {
		b.piecewise(f)
		b.payBytes(f)
	} else {
		b.payElements(f)
	}
	f.lookIfUsedUp(true, false)
	b.all(f)
	f.out = append(f.out, opcodeEnd)
	return f.out
}

// the appends the instruction with its immediates; operands are on the stack.
func (b *bulkWriter) the(f *functionWriter) {
	f.out = append(f.out, byte(b.op>>8), byte(b.op))
	switch b.op {
	case opcodeMemoryInit:
		f.out = append(appendU32(f.out, b.a), 0)
	case opcodeMemoryCopy:
		f.out = append(f.out, 0, 0)
	case opcodeMemoryFill:
		f.out = append(f.out, 0)
	case opcodeTableInit, opcodeTableCopy:
		f.out = appendU32(appendU32(f.out, b.a), b.b)
	default:
		f.out = appendU32(f.out, b.a)
	}
}

// all does the instruction with all of its operands.
func (b *bulkWriter) all(f *functionWriter) {
	for n := range b.length + 1 {
		f.local(opcodeLocalGet, byte(n))
	}
	b.the(f)
}

// payBytes emits: fuel -= length / bulkBytes.
func (b *bulkWriter) payBytes(f *functionWriter) {
	f.get(f.fuel)
	f.local(opcodeLocalGet, byte(b.length))
	f.out = append(f.out, i64Wide, opcodeI64Const, bulkBytes, i64DivU, i64Sub)
	f.out = appendU32(append(f.out, opcodeGlobalSet), f.fuel)
}

// payElements emits: fuel -= min(length, maxElements). A longer range cannot be in any table.
func (b *bulkWriter) payElements(f *functionWriter) {
	most := func() { f.out = appendSigned(append(f.out, opcodeI32Const), maxElements) }
	f.get(f.fuel)
	f.local(opcodeLocalGet, byte(b.length))
	most()
	f.local(opcodeLocalGet, byte(b.length))
	most()
	f.out = append(f.out, i32LtU, opcodeSelect, i64Wide, i64Sub)
	f.out = appendU32(append(f.out, opcodeGlobalSet), f.fuel)
}

// piecewise works on all but the last piece, if the range is longer than one and lies within bounds.
func (b *bulkWriter) piecewise(f *functionWriter) {
	b.longer(f)
	f.out = append(f.out, opcodeIf, blockEmpty)
	b.outside(f)
	f.out = append(f.out, opcodeIf, blockEmpty)
	b.all(f) // traps
	f.out = append(f.out, opcodeElse)
	if b.op == opcodeMemoryCopy {
		f.local(opcodeLocalGet, 0)
		f.local(opcodeLocalGet, 1)
		f.out = append(f.out, i32GtU, opcodeIf, blockEmpty)
		b.downwards(f) // the ranges may overlap: from the end
		f.out = append(f.out, opcodeElse)
		b.upwards(f)
		f.out = append(f.out, opcodeEnd)
	} else {
		b.upwards(f)
	}
	f.out = append(f.out, opcodeEnd, opcodeEnd)
}

// longer puts on the stack whether the range is longer than a piece.
func (b *bulkWriter) longer(f *functionWriter) {
	f.local(opcodeLocalGet, 2)
	f.piece()
	f.out = append(f.out, i32GtU)
}

// outside puts on the stack whether a range is out of bounds. A segment that was dropped is
// empty; then the first piece traps.
func (b *bulkWriter) outside(f *functionWriter) {
	inMemory := func() { f.out = append(f.out, opcodeMemorySize, 0, i64Wide, opcodeI64Const, 16, i64Shl) }
	f.past(0, inMemory)
	switch b.op {
	case opcodeMemoryCopy:
		f.past(1, inMemory)
		f.out = append(f.out, i32Or)
	case opcodeMemoryInit:
		f.past(1, func() { f.out = appendSigned(append(f.out, opcodeI64Const), int64(b.dataSizes[b.a])) })
		f.out = append(f.out, i32Or)
	}
}

// past emits: local n + length > size.
func (f *functionWriter) past(n byte, size func()) {
	f.local(opcodeLocalGet, n)
	f.out = append(f.out, i64Wide)
	f.local(opcodeLocalGet, 2)
	f.out = append(f.out, i64Wide, i64Add)
	size()
	f.out = append(f.out, i64GtU)
}

func (b *bulkWriter) upwards(f *functionWriter) {
	f.out = append(f.out, opcodeLoop, blockEmpty)
	b.payPiece(f)
	f.local(opcodeLocalGet, 0)
	f.local(opcodeLocalGet, 1)
	f.piece()
	b.the(f)
	f.step32(0, i32Add)
	if b.op != opcodeMemoryFill {
		f.step32(1, i32Add)
	}
	f.step32(2, i32Sub)
	b.longer(f)
	f.out = append(f.out, opcodeBrIf, 0, opcodeEnd)
}

func (b *bulkWriter) downwards(f *functionWriter) {
	f.out = append(f.out, opcodeLoop, blockEmpty)
	b.payPiece(f)
	f.step32(2, i32Sub)
	for n := range byte(2) {
		f.local(opcodeLocalGet, n)
		f.local(opcodeLocalGet, 2)
		f.out = append(f.out, i32Add)
	}
	f.piece()
	b.the(f)
	b.longer(f)
	f.out = append(f.out, opcodeBrIf, 0, opcodeEnd)
}

func (b *bulkWriter) payPiece(f *functionWriter) {
	f.addTo(f.fuel, -bulkPiece/bulkBytes)
	f.lookIfUsedUp(true, false)
}

func (f *functionWriter) local(op, n byte) { f.out = append(f.out, op, n) }

func (f *functionWriter) piece() {
	f.out = appendSigned(append(f.out, opcodeI32Const), bulkPiece)
}

// step32 moves local n by a piece.
func (f *functionWriter) step32(n, op byte) {
	f.local(opcodeLocalGet, n)
	f.piece()
	f.out = append(f.out, op)
	f.local(opcodeLocalSet, n)
}
