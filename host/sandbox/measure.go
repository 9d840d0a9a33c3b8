package sandbox

// What the metering must know of a function before it decides.

// movesForOne is how many values are handed on where paths meet, or at a call, for one unit of fuel: machine
// code moves each of them by a load and a store at worst.
const movesForOne = 8

// measured is an open construct while it is measured.
type measured struct {
	number int
	sets   int // of locals, within
	values int // that a branch to its label hands over
}

// measure finds out what a branch to each construct costs. Where paths meet, machine code has
// a value for each local that was set on one of them; at most that many are moved by whoever comes there. And
// after each call the mutable globals that the function reads are loaded again.
func (m *meter) measure(c *code) {
	m.edges = append(m.edges[:0], 0)
	reads := uint32(0) // of mutable globals
	open := []measured{{}}
	for n := range c.instructions {
		i := &c.instructions[n]
		top := &open[len(open)-1]
		switch i.op {
		case opcodeBlock, opcodeLoop, opcodeIf:
			open = append(open, measured{number: len(m.edges), values: m.handedOver(i)})
			m.edges = append(m.edges, 0)
		case opcodeEnd:
			m.edges[top.number] = uint32(min(top.sets, c.locals)+top.values) / movesForOne
			sets := top.sets
			if open = open[:len(open)-1]; len(open) > 0 {
				open[len(open)-1].sets += sets
			}
		case opcodeLocalSet, opcodeLocalTee:
			top.sets++
		case opcodeGlobalGet:
			if m.sections.globals[i.a].mutable {
				reads++
			}
		}
	}
	m.reload = min(reads, m.mutable) / movesForOne
}

// handedOver says how many values a branch to a construct's label takes along.
func (m *meter) handedOver(i *instruction) int {
	params, results := m.sections.blockValues(i)
	if i.op == opcodeLoop {
		return params
	}
	return results
}

// maxLeaf: a function without loops and calls that costs no more is paid for by its callers.
const maxLeaf = 32

// cost is what an instruction costs here, besides what it costs to branch.
func (m *meter) cost(i *instruction) uint32 {
	c := cost(i, m.imports)
	switch i.op {
	case opcodeCall:
		if int(i.a) >= m.imports {
			c += m.sections.leaves[int(i.a)-m.imports]
		}
		c += m.values(i) + m.reload
	case opcodeCallIndirect:
		if c += maxLeaf + m.values(i) + m.reload; m.sections.hostInTables {
			c += costHost
		}
	default:
		if i.op >= opcodeMemoryInit && i.op <= opcodeTableFill {
			c += m.reload
		}
	}
	return c
}

// values is what it costs to hand over what a call takes and gives.
func (m *meter) values(i *instruction) uint32 {
	sig := m.sections.callee(i)
	return uint32(len(sig.params)+len(sig.results)) / movesForOne
}

// leaf gives the cost of a function that its callers can pay for: a short one without loops and calls.
func leaf(c *code, imports int) uint32 {
	total := uint32(1)
	for n := range c.instructions {
		i := &c.instructions[n]
		switch {
		case i.op == opcodeLoop, i.op == opcodeCall, i.op == opcodeCallIndirect, i.op == opcodeRefFunc,
			i.op >= opcodeMemoryInit && i.op <= opcodeTableFill:
			return 0 // it must be rewritten
		}
		if total += cost(i, imports); total > maxLeaf {
			return 0
		}
	}
	return total
}
