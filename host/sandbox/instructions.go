package sandbox

// This file reads the instructions of CoreFeaturesV2 (core specification 2.0, section 5.4): the
// control, reference, parametric, variable, table, memory, numeric and vector instructions, and no
// proposal beyond them. Each index is held against what the module itself has, because the rewriting
// appends: a global, function or local beyond the module's own must not become valid by that.

// Opcodes that the rewriting must know. Those with a prefix are prefix<<8 | number.
const (
	opcodeUnreachable  = 0x00
	opcodeNop          = 0x01
	opcodeBlock        = 0x02
	opcodeLoop         = 0x03
	opcodeIf           = 0x04
	opcodeElse         = 0x05
	opcodeEnd          = 0x0b
	opcodeBr           = 0x0c
	opcodeBrIf         = 0x0d
	opcodeBrTable      = 0x0e
	opcodeReturn       = 0x0f
	opcodeCall         = 0x10
	opcodeCallIndirect = 0x11
	opcodeDrop         = 0x1a
	opcodeSelect       = 0x1b
	opcodeSelectTyped  = 0x1c
	opcodeLocalGet     = 0x20
	opcodeLocalSet     = 0x21
	opcodeLocalTee     = 0x22
	opcodeGlobalGet    = 0x23
	opcodeGlobalSet    = 0x24
	opcodeTableGet     = 0x25
	opcodeTableSet     = 0x26
	opcodeI32Load      = 0x28 // the first load
	opcodeI32Store     = 0x36 // the first store
	opcodeI64Store32   = 0x3e // the last store
	opcodeMemorySize   = 0x3f
	opcodeMemoryGrow   = 0x40
	opcodeI32Const     = 0x41
	opcodeI64Const     = 0x42
	opcodeF32Const     = 0x43
	opcodeF64Const     = 0x44
	opcodeI32Eqz       = 0x45 // the first numeric instruction
	opcodeLastNumeric  = 0xc4
	opcodeRefNull      = 0xd0
	opcodeRefIsNull    = 0xd1
	opcodeRefFunc      = 0xd2

	prefixMisc         = 0xfc
	opcodeTruncSat     = prefixMisc << 8 // the first of eight
	opcodeMemoryInit   = prefixMisc<<8 | 8
	opcodeDataDrop     = prefixMisc<<8 | 9
	opcodeMemoryCopy   = prefixMisc<<8 | 10
	opcodeMemoryFill   = prefixMisc<<8 | 11
	opcodeTableInit    = prefixMisc<<8 | 12
	opcodeElemDrop     = prefixMisc<<8 | 13
	opcodeTableCopy    = prefixMisc<<8 | 14
	opcodeTableGrow    = prefixMisc<<8 | 15
	opcodeTableSize    = prefixMisc<<8 | 16
	opcodeTableFill    = prefixMisc<<8 | 17
	prefixVector       = 0xfd
	opcodeVector       = prefixVector << 8
	opcodeV128Const    = prefixVector<<8 | 12
	opcodeV128Shuffle  = prefixVector<<8 | 13
	blockEmpty         = 0x40 // a block type without values
	blockTypeIsNoIndex = ^uint32(0)
)

// instruction is one instruction with what the rewriting must know of it.
type instruction struct {
	at, end int    // in the body
	op      uint16 // see the opcodes above
	// a and b are the immediates: an index, a label, an address offset. Of a block a is its type's index,
	// or blockTypeIsNoIndex, and b then the value type or blockEmpty. Of br_table a is where its labels
	// begin in code.labels, and b how many there are, the default included.
	a, b uint32
}

// code is one function's body, read. It is used again for the next function.
type code struct {
	locals       int  // parameters included
	vectors      bool // a local holds a v128
	instructions []instruction
	labels       []uint32
	opened       []uint16 // the constructs that are open while reading
	start        int      // where the instructions begin in the body
}

// readBody reads a body: the declarations of locals, then instructions to the last end.
func (s *sections) readBody(r *reader, typ uint32, c *code) {
	c.instructions, c.labels, c.opened = c.instructions[:0], c.labels[:0], append(c.opened[:0], opcodeBlock)
	locals, vectors := readLocals(r)
	c.locals, c.vectors = len(s.types[typ].params)+locals, vectors
	c.start = r.pos
	for len(c.opened) > 0 && r.err == nil {
		i := instruction{at: r.pos}
		s.readInstruction(r, c, &i)
		i.end = r.pos
		c.instructions = append(c.instructions, i)
	}
}

func readLocals(r *reader) (n int, vectors bool) {
	var locals uint64
	for range r.count("local declarations", maxLocals) {
		locals += uint64(r.u32())
		vectors = r.valueType() == typeV128 || vectors
	}
	if locals > maxLocals {
		r.fail("%d locals in one function, at most %d are allowed", locals, maxLocals)
		return 0, false
	}
	return int(locals), vectors
}

// functionIndex reads the index of a function where it is taken as a value.
func (s *sections) functionIndex(r *reader) uint32 {
	index := r.below("function", len(s.functions))
	s.hostInTables = s.hostInTables || r.err == nil && int(index) < s.imported(kindFunction)
	return index
}

func (s *sections) readInstruction(r *reader, c *code, i *instruction) {
	op := r.byte()
	i.op = uint16(op)
	switch {
	case op == prefixMisc:
		s.readMisc(r, i)
	case op == prefixVector:
		s.readVector(r, i)
	case op <= opcodeCallIndirect:
		s.readControl(r, c, i)
	case op == opcodeDrop, op == opcodeSelect, op == opcodeRefIsNull, op >= opcodeI32Eqz && op <= opcodeLastNumeric:
	case op == opcodeSelectTyped:
		for range r.count("types of a select", maxParams) {
			r.valueType()
		}
	case op >= opcodeLocalGet && op <= opcodeLocalTee:
		i.a = r.below("local", c.locals)
	case op == opcodeGlobalGet, op == opcodeGlobalSet:
		i.a = r.below("global", len(s.globals))
	case op == opcodeTableGet, op == opcodeTableSet:
		i.a = r.below("table", len(s.tables))
		if op == opcodeTableSet {
			s.changes("table.set")
		}
	case op >= opcodeI32Load && op <= opcodeI64Store32:
		s.readAddress(r)
	case op == opcodeMemorySize, op == opcodeMemoryGrow:
		s.readMemoryIndex(r)
	case op >= opcodeI32Const && op <= opcodeF64Const:
		r.readNumber(op)
	case op == opcodeRefNull:
		r.refType()
	case op == opcodeRefFunc:
		i.a = s.functionIndex(r)
	default:
		r.fail("0x%02x is no instruction of WebAssembly 2.0", op)
	}
}

func (r *reader) readNumber(op byte) {
	switch op {
	case opcodeI32Const:
		r.skipSigned(32)
	case opcodeI64Const:
		r.skipSigned(64)
	case opcodeF32Const:
		r.take(4)
	case opcodeF64Const:
		r.take(8)
	}
}

func (s *sections) readControl(r *reader, c *code, i *instruction) {
	switch i.op {
	case opcodeUnreachable, opcodeNop, opcodeReturn:
	case opcodeBlock, opcodeLoop, opcodeIf:
		i.a, i.b = s.readBlockType(r)
		c.opened = append(c.opened, i.op)
	case opcodeElse:
		if last := len(c.opened) - 1; c.opened[last] == opcodeIf {
			c.opened[last] = opcodeElse
		} else {
			r.fail("else without if")
		}
	case opcodeEnd:
		c.opened = c.opened[:len(c.opened)-1]
	case opcodeBr, opcodeBrIf:
		i.a = r.below("label", len(c.opened))
	case opcodeBrTable:
		i.a = uint32(len(c.labels))
		i.b = r.count("labels of a br_table", maxBody) + 1
		for range i.b {
			c.labels = append(c.labels, r.below("label", len(c.opened)))
		}
	case opcodeCall:
		i.a = r.below("function", len(s.functions))
	case opcodeCallIndirect:
		i.a = r.below("type", len(s.types))
		i.b = r.below("table", len(s.tables))
	default:
		r.fail("0x%02x is no instruction of WebAssembly 2.0", i.op)
	}
}

// readBlockType reads the signed 33-bit number of section 5.4.1: negative numbers of one byte are value
// types and the empty type, those from zero are indexes.
func (s *sections) readBlockType(r *reader) (index, value uint32) {
	if r.more() {
		if b := r.data[r.pos]; b == blockEmpty || valueName(b) != "" {
			r.pos++
			return blockTypeIsNoIndex, uint32(b)
		}
	}
	begin := r.pos
	n := r.u32()
	if r.err == nil && r.pos-begin < 5 && r.data[r.pos-1]&0x40 != 0 {
		r.fail("a block type that is no type")
	}
	if r.err == nil && uint64(n) >= uint64(len(s.types)) {
		r.fail("type %d does not exist, there are %d", n, len(s.types))
	}
	return n, 0
}

func (s *sections) readAddress(r *reader) {
	if align := r.u32(); align > 4 {
		r.fail("an alignment of 2^%d bytes", align)
	}
	r.u32()
	s.needsMemory(r)
}

func (s *sections) needsMemory(r *reader) {
	if len(s.memories) == 0 {
		r.fail("an instruction needs a memory, there is none")
	}
}

func (s *sections) readMemoryIndex(r *reader) {
	if m := r.byte(); m != 0 {
		r.fail("memory %d, there can be one", m)
	}
	s.needsMemory(r)
}

func (s *sections) readMisc(r *reader, i *instruction) {
	n := r.u32()
	i.op = opcodeTruncSat | uint16(min(n, 0xff))
	switch i.op {
	case opcodeMemoryInit:
		i.a = s.dataIndex(r)
		s.readMemoryIndex(r)
	case opcodeDataDrop:
		i.a = s.dataIndex(r)
		s.changes("data.drop")
	case opcodeMemoryCopy:
		s.readMemoryIndex(r)
		s.readMemoryIndex(r)
	case opcodeMemoryFill:
		s.readMemoryIndex(r)
	case opcodeTableInit:
		s.changes("table.init")
		i.a = r.below("element segment", s.elements)
		i.b = r.below("table", len(s.tables))
	case opcodeElemDrop:
		s.changes("elem.drop")
		i.a = r.below("element segment", s.elements)
	case opcodeTableCopy:
		s.changes("table.copy")
		i.a = r.below("table", len(s.tables))
		i.b = r.below("table", len(s.tables))
	case opcodeTableGrow:
		i.a = r.below("table", len(s.tables))
		s.changes("table.grow")
	case opcodeTableFill:
		i.a = r.below("table", len(s.tables))
		s.changes("table.fill")
	case opcodeTableSize:
		i.a = r.below("table", len(s.tables))
	default:
		if n > 7 { // below are the saturating conversions
			r.fail("0xfc %d is no instruction of WebAssembly 2.0", n)
		}
	}
}

// dataIndex needs the data count section, because the data come after the code (section 5.5.16).
func (s *sections) dataIndex(r *reader) uint32 {
	if s.dataCount < 0 {
		r.fail("an instruction names a data segment, but there is no data count section")
		return 0
	}
	s.namesData = true
	return r.below("data segment", s.dataCount)
}

func (s *sections) readVector(r *reader, i *instruction) {
	n := r.u32()
	if n > 0xff || undefinedVector(byte(n)) {
		r.fail("0xfd %d is no instruction of WebAssembly 2.0", n)
		return
	}
	i.op = opcodeVector | uint16(n)
	switch {
	case n <= 11, n == 92, n == 93: // loads and the store
		s.readAddress(r)
	case i.op == opcodeV128Const, i.op == opcodeV128Shuffle:
		r.take(16)
	case n >= 21 && n <= 34: // extract and replace lanes
		r.byte()
	case n >= 84 && n <= 91: // load and store lanes
		s.readAddress(r)
		r.byte()
	}
}

// undefinedVector lists the holes in the numbers of section 5.4.9.
func undefinedVector(n byte) bool {
	switch n {
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee:
		return true
	default:
		return false
	}
}

// blockValues says how many parameters and results a block has.
func (s *sections) blockValues(i *instruction) (params, results int) {
	switch {
	case i.a != blockTypeIsNoIndex:
		return len(s.types[i.a].params), len(s.types[i.a].results)
	case i.b != blockEmpty:
		return 0, 1
	default:
		return 0, 0
	}
}

// callee gives the signature of what a call calls.
func (s *sections) callee(i *instruction) signature {
	if i.op == opcodeCall {
		return s.types[s.functions[i.a]]
	}
	return s.types[i.a]
}
