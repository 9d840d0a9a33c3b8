package sandbox

// How much native stack a call of a function may take. wazero gives each value that lives across a call
// a slot of its own in the frame and never shares one; at a call the values that live are those of the
// locals and of the operand stack. So the slots are at most the locals and the operand stack at its
// highest, and once more for each time that a local is set, but no more than all of these for each call.
const (
	frameBytes = 64 // return address, frame pointer, saved registers
	slotBytes  = 8
)

// frameSize bounds the stack of one call in bytes, in steps of 8.
func (s *sections) frameSize(c *code) uint32 {
	h := heights{sections: s, code: c}
	for n := range c.instructions {
		h.step(&c.instructions[n])
	}
	if h.calls == 0 {
		return 0 // it can start no other frame: at most one of its kind is there
	}
	live := uint64(c.locals + h.highest)
	slots := live + min(uint64(h.sets), uint64(h.calls-1)*live)
	if h.vectors {
		slots *= 2
	}
	return uint32(min(frameBytes+slotBytes*slots, stackBytes))
}

// heights follows the height of the operand stack. In code that no path leads to it counts on from what
// was there, which is never too low for what can run.
type heights struct {
	sections *sections
	code     *code
	height   int
	highest  int
	bases    []int // height at the beginning of each open block, its parameters taken
	after    []int // and after its end
	calls    int
	sets     int
	vectors  bool
}

func (h *heights) add(pops, pushes int) {
	base := 0
	if len(h.bases) > 0 {
		base = h.bases[len(h.bases)-1]
	}
	h.height = max(h.height-pops, base) + pushes
	h.highest = max(h.highest, h.height)
}

func (h *heights) step(i *instruction) {
	switch i.op {
	case opcodeBlock, opcodeLoop, opcodeIf:
		h.open(i)
	case opcodeElse:
		h.height = h.bases[len(h.bases)-1]
	case opcodeEnd:
		if last := len(h.bases) - 1; last >= 0 {
			h.height = h.after[last]
			h.bases, h.after = h.bases[:last], h.after[:last]
			h.highest = max(h.highest, h.height)
		}
	case opcodeCall:
		h.call(h.sections.types[h.sections.functions[i.a]], 0)
	case opcodeCallIndirect:
		h.call(h.sections.types[i.a], 1)
	case opcodeLocalSet, opcodeLocalTee:
		h.sets++
		h.add(1, int(i.op-opcodeLocalSet))
	default:
		h.vectors = h.vectors || i.op >= opcodeVector
		h.add(effect(i.op))
	}
}

func (h *heights) call(sig signature, more int) {
	h.calls++
	h.add(len(sig.params)+more, len(sig.results))
}

// open begins a block. Its parameters count as taken from before it and given inside.
func (h *heights) open(i *instruction) {
	params, results := 0, 0
	switch {
	case i.a != blockTypeIsNoIndex:
		params, results = len(h.sections.types[i.a].params), len(h.sections.types[i.a].results)
	case i.b != blockEmpty:
		results = 1
	}
	if i.op == opcodeIf {
		h.add(1, 0)
	}
	h.add(params, 0)
	h.bases = append(h.bases, h.height)
	h.after = append(h.after, h.height+results)
	h.add(0, params)
}

// effect says how many values an instruction takes from the operand stack and gives to it. Where vector
// instructions differ it takes the fewest.
func effect(op uint16) (pops, pushes int) {
	switch {
	case op == opcodeDrop, op == opcodeGlobalSet, op == opcodeBrIf, op == opcodeBrTable:
		return 1, 0
	case op == opcodeSelect, op == opcodeSelectTyped:
		return 3, 1
	case op == opcodeLocalGet, op == opcodeGlobalGet, op == opcodeMemorySize, op == opcodeTableSize,
		op >= opcodeI32Const && op <= opcodeF64Const, op == opcodeRefNull, op == opcodeRefFunc, op == opcodeV128Const:
		return 0, 1
	case op >= opcodeI32Store && op <= opcodeI64Store32, op == opcodeTableSet, op == opcodeVector|11, op >= opcodeVector|88 && op <= opcodeVector|91:
		return 2, 0
	case op == opcodeTableGrow, twoOperands(op):
		return 2, 1
	case op == opcodeMemoryInit, op == opcodeMemoryCopy, op == opcodeMemoryFill, op == opcodeTableInit, op == opcodeTableCopy, op == opcodeTableFill:
		return 3, 0
	case op <= opcodeReturn, op == opcodeDataDrop, op == opcodeElemDrop:
		return 0, 0
	default: // loads, unary numeric and vector instructions
		return 1, 1
	}
}

// twoOperands tells the numeric instructions with two operands.
func twoOperands(op uint16) bool {
	switch {
	case op >= 0x46 && op <= 0x4f, op >= 0x51 && op <= 0x66: // comparisons
		return true
	case op >= 0x6a && op <= 0x78, op >= 0x7c && op <= 0x8a, op >= 0x92 && op <= 0x98, op >= 0xa0 && op <= 0xa6:
		return true
	default:
		return op >= opcodeVector|35 && op <= opcodeVector|76 // vector comparisons
	}
}
