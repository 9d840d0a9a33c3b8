package sandbox

// effect says how many values an instruction takes from the operand stack and gives to it. Blocks and
// calls are not among them: theirs stand in the types.
func effect(op uint16) (pops, pushes int) {
	switch {
	case op >= opcodeVector:
		return vectorEffect(byte(op))
	case op == opcodeDrop, op == opcodeLocalSet, op == opcodeGlobalSet, op == opcodeBrIf, op == opcodeBrTable:
		return 1, 0
	case op == opcodeSelect, op == opcodeSelectTyped:
		return 3, 1
	case op == opcodeLocalGet, op == opcodeGlobalGet, op == opcodeMemorySize, op == opcodeTableSize,
		op >= opcodeI32Const && op <= opcodeF64Const, op == opcodeRefNull, op == opcodeRefFunc:
		return 0, 1
	case op >= opcodeI32Store && op <= opcodeI64Store32, op == opcodeTableSet:
		return 2, 0
	case op == opcodeTableGrow, twoOperands(op):
		return 2, 1
	case op == opcodeMemoryInit, op == opcodeMemoryCopy, op == opcodeMemoryFill, op == opcodeTableInit, op == opcodeTableCopy, op == opcodeTableFill:
		return 3, 0
	case op <= opcodeReturn, op == opcodeDataDrop, op == opcodeElemDrop:
		return 0, 0
	default: // local.tee, loads, numeric instructions with one operand
		return 1, 1
	}
}

// twoOperands tells the numeric instructions with two operands.
func twoOperands(op uint16) bool {
	switch {
	case op >= 0x46 && op <= 0x4f, op >= 0x51 && op <= 0x66: // comparisons
		return true
	default: // arithmetic
		return op >= 0x6a && op <= 0x78 || op >= 0x7c && op <= 0x8a || op >= 0x92 && op <= 0x98 || op >= 0xa0 && op <= 0xa6
	}
}

// vectorEffect is the same for the instructions after 0xfd.
func vectorEffect(n byte) (pops, pushes int) {
	switch {
	case n == 0x0c: // v128.const
		return 0, 1
	case n == 0x0b, n >= 0x58 && n <= 0x5b: // stores
		return 2, 0
	case n == 0x52: // bitselect
		return 3, 1
	case n >= 0x15 && n <= 0x22: // lanes: to extract one, to replace one
		if n == 0x17 || n >= 0x1a && n%2 == 0 {
			return 2, 1
		}
		return 1, 1
	case oneVector(n):
		return 1, 1
	default:
		return 2, 1
	}
}

// oneVector says of the remaining ones whether they take one operand and give one.
func oneVector(n byte) bool {
	switch {
	case n <= 0x0a, n >= 0x0f && n <= 0x14, n == 0x5c, n == 0x5d: // loads and splats
		return true
	case n == 0x4d, n == 0x53, n >= 0x5e && n <= 0x64, n >= 0x67 && n <= 0x6a:
		return true
	case n == 0x74, n == 0x75, n == 0x7a, n >= 0x7c && n <= 0x7f, n == 0x94:
		return true
	case n >= 0x80 && n <= 0xca: // integers of 16, 32 and 64 bits stand in the same order
		low := n & 0x1f
		return low <= 4 && low != 2 || low >= 7 && low <= 10
	default:
		return n == 0xe0 || n == 0xe1 || n == 0xe3 || n == 0xec || n == 0xed || n == 0xef || n >= 0xf8
	}
}
