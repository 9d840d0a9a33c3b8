package sandbox

// Fuel is counted in units of about one simple machine instruction. What one instruction costs depends
// on nothing but the instruction and, for those that work on many bytes or elements, their number: the
// same call uses the same fuel everywhere. docs/sandbox.md has this table; TestCosts holds both together.
const (
	costNothing  = 0   // block, loop, end, else, nop, drop, local.get, constants: operands and labels, no machine code
	costPlain    = 1   // arithmetic, comparisons, branches, globals, local.set and local.tee
	costLoad     = 2   // loads and stores of memory, and of tables
	costVector   = 2   // vector instructions
	costSlow     = 12  // divisions, remainders, square roots, and conversions that can trap
	costCall     = 6   // a call, and the entry of a function
	costIndirect = 12  // a call through a table
	costHost     = 200 // a call of an imported function: it leaves to Go and comes back
	costGrow     = 2_000
	costBulk     = 20 // an instruction over a range, besides its length
	bulkBytes    = 2  // of memory.copy, memory.fill and memory.init for one unit
)

// cost is what an instruction costs, without what depends on its operands. imports is the number of
// imported functions.
func cost(i *instruction, imports int) uint32 {
	switch op := i.op; {
	case op <= opcodeLoop, op == opcodeElse, op == opcodeEnd, op == opcodeDrop, op == opcodeLocalGet,
		op >= opcodeI32Const && op <= opcodeF64Const:
		return costNothing
	case op == opcodeCall && int(i.a) < imports:
		return costHost
	case op == opcodeCall:
		return costCall
	case op == opcodeCallIndirect:
		return costIndirect
	case op >= opcodeI32Load && op <= opcodeI64Store32, op == opcodeTableGet, op == opcodeTableSet, op == opcodeRefFunc:
		return costLoad
	case op == opcodeMemoryGrow, op == opcodeTableGrow:
		return costGrow
	case op >= opcodeMemoryInit && op <= opcodeTableFill && op != opcodeTableSize:
		return costBulk
	case op >= opcodeVector && slowVector(byte(op)), op < opcodeVector && slow(op):
		return costSlow
	case op >= opcodeVector:
		return costVector
	default:
		return costPlain
	}
}

// slow tells the scalar instructions that take tens of cycles.
func slow(op uint16) bool {
	switch {
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // i32 and i64: div_s, div_u, rem_s, rem_u
		return true
	case op == 0x91, op == 0x95, op == 0x9f, op == 0xa3: // f32 and f64: sqrt, div
		return true
	case op >= 0xa8 && op <= 0xab, op >= 0xae && op <= 0xb1: // trunc of floats
		return true
	default:
		return op >= opcodeTruncSat && op <= opcodeTruncSat+7
	}
}

// slowVector tells the vector instructions that take tens of cycles: f32x4 and f64x2 sqrt and div.
func slowVector(n byte) bool { return n == 0xe3 || n == 0xe7 || n == 0xef || n == 0xf3 }
