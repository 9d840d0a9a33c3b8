package sandbox

// What the metering must know of a function before it decides.

// movesForOne is how many values are handed on where paths meet, or at a call, for one unit of fuel: machine
// code moves each of them by a load and a store at worst.
const movesForOne = 8

// measured is an open construct while it is measured.
type measured struct {
	number int
	within int // number of its scope
	sets   int // of locals, within
	values int // that a branch to its label hands over
}

// measure finds out what each scope costs, and each branch to a construct. Where paths meet, machine code has
// a value for each local that was set on one of them; at most that many are moved by whoever comes there.
func (m *meter) measure(c *code) {
	m.scopes = append(m.scopes[:0], scope{})
	m.edges = append(m.edges[:0], 0)
	m.reload = m.globalsRead(c) / movesForOne
	open := []measured{{}}
	for n := range c.instructions {
		i := &c.instructions[n]
		top := &open[len(open)-1]
		within := top.within
		switch i.op {
		case opcodeLoop:
			within = len(m.scopes)
			m.scopes = append(m.scopes, scope{})
			fallthrough
		case opcodeBlock, opcodeIf:
			open = append(open, measured{number: len(m.edges), within: within, values: m.handedOver(i)})
			m.edges = append(m.edges, 0)
		case opcodeEnd:
			m.edges[top.number] = uint32(min(top.sets, c.locals)+top.values) / movesForOne
			sets := top.sets
			if open = open[:len(open)-1]; len(open) > 0 {
				open[len(open)-1].sets += sets
			}
		case opcodeLocalSet, opcodeLocalTee:
			top.sets++
		}
		m.scopes[within].total += m.cost(i)
	}
}

// handedOver says how many values a branch to a construct's label takes along.
func (m *meter) handedOver(i *instruction) int {
	params, results := m.sections.blockValues(i)
	if i.op == opcodeLoop {
		return params
	}
	return results
}

// globalsRead bounds the mutable globals that a function reads: after each call they are loaded again.
func (m *meter) globalsRead(c *code) uint32 {
	reads := uint32(0)
	for n := range c.instructions {
		if i := &c.instructions[n]; i.op == opcodeGlobalGet && m.sections.globals[i.a].mutable {
			reads++
		}
	}
	return min(reads, m.mutable)
}
