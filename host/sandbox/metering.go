package sandbox

import "slices"

// This file decides where a function is charged for its fuel. What must hold:
//
//   - Before an instruction runs, it has been paid for, and one payment pays for one run of it.
//   - Every function entry and every loop head looks whether fuel is left. Between two looks a guest
//     can run through a function's code once at most, and that is bounded by maxBody.
//   - What is charged depends on the path through the code and on nothing else.
//
// Each charge pays for what comes after it, up to credit units, on whatever path. Following the code from its
// entry, the most that any path here has used since its last charge is known at each place: where paths
// meet it is the larger one. Where an instruction would take it beyond the credit, a new charge stands before it.
// In the end each charge is lowered to the most that was used of it on any path. So a path pays
// for the longest way that it could have taken, and no more than the credit at once: a Go function, which is
// one loop around a table of branches, is charged once a turn and not once for each of its blocks.

// credit bounds what one charge pays for: the more, the fewer charges, and the more is paid that never runs.
const credit = 32

// charge is fuel to be taken before the instruction numbered at.
type charge struct {
	at   int
	cost uint32
	look bool // and whether any is left: function entries and loop heads
}

// state is what is known at a place in the code, over all paths that lead there.
type state struct {
	dead bool   // none does
	used uint32 // the most that one of them has used since its last charge
	// last are the numbers of the charges that came last on them; of any others the whole credit is taken.
	last  [4]int
	lasts int
}

// construct is an open block, loop, if or function.
type construct struct {
	op     uint16
	number int   // in the order in which constructs are opened
	end    state // on the ways that lead to its end, without the one through its last instruction
	atIf   state // at an if
}

// meter plans the charges of one function after another.
type meter struct {
	sections   *sections
	imports    int
	mutable    uint32 // globals
	constructs []construct
	edges      []uint32 // by a construct's number: what a branch to its label costs
	reload     uint32   // what each call costs because of the globals that the function reads
	charges    []charge
	now        state
	opened     int // constructs
}

func (s *sections) newMeter() *meter {
	return &meter{sections: s, imports: s.imported(kindFunction), mutable: uint32(s.mutableGlobals())}
}

// plan gives the charges of a function in the order of their places. They are valid until the next plan.
func (m *meter) plan(c *code) []charge {
	m.follow(c)
	m.foldEntry(c)
	return m.charges
}

// follow walks through a function and charges.
func (m *meter) follow(c *code) {
	m.measure(c)
	m.charges = m.charges[:0]
	m.constructs = append(m.constructs[:0], construct{op: opcodeBlock, end: state{dead: true}})
	m.opened = 1
	m.charge(0, true)
	for n := range c.instructions {
		m.step(c, n)
	}
}

// charge puts a charge before instruction n.
func (m *meter) charge(n int, look bool) {
	m.now = state{last: [4]int{len(m.charges)}, lasts: 1}
	m.charges = append(m.charges, charge{at: n, look: look})
}

// use is what instruction n costs.
func (m *meter) use(cost uint32, n int) {
	if m.now.dead || cost == 0 {
		return
	}
	if m.now.used+cost > credit {
		m.charge(n, false)
	}
	m.now.used += cost
	m.raise(&m.now)
}

// raise lets the last charges pay for the most that was used of them.
func (m *meter) raise(s *state) {
	for _, number := range s.last[:s.lasts] {
		c := &m.charges[number]
		c.cost = max(c.cost, s.used)
	}
}

// meet joins what is known on two ways to one place.
func (m *meter) meet(a, b state) state {
	if a.dead {
		return b
	}
	if b.dead {
		return a
	}
	a.used = max(a.used, b.used)
	for _, number := range b.last[:b.lasts] {
		a = m.alsoLast(a, number)
	}
	m.raise(&a)
	return a
}

// alsoLast adds a charge to those that came last. One too many is taken for its whole credit.
func (m *meter) alsoLast(s state, number int) state {
	if slices.Contains(s.last[:s.lasts], number) {
		return s
	}
	if s.lasts == len(s.last) {
		c := &m.charges[number]
		c.cost = max(c.cost, credit, s.used)
		return s
	}
	s.last[s.lasts] = number
	s.lasts++
	return s
}

func (m *meter) top() *construct { return &m.constructs[len(m.constructs)-1] }

func (m *meter) step(c *code, n int) {
	i := &c.instructions[n]
	switch i.op {
	case opcodeBlock:
		m.open(i.op)
	case opcodeLoop:
		m.use(m.edges[m.opened], n) // of the way into it
		m.open(i.op)
		m.openLoop(n)
	case opcodeIf:
		m.use(m.cost(i)+m.edges[m.opened], n) // of the way around it
		m.open(i.op)
		m.top().atIf = m.now
	case opcodeElse:
		f := m.top()
		m.use(m.edges[f.number], n)
		f.op, f.end, m.now = opcodeElse, m.meet(f.end, m.now), f.atIf
	case opcodeEnd:
		m.close(n)
	default:
		m.use(m.cost(i)+m.branchCost(c, i), n)
		m.branch(c, i)
	}
}

func (m *meter) open(op uint16) {
	m.constructs = append(m.constructs, construct{op: op, number: m.opened, end: state{dead: true}})
	m.opened++
}

// openLoop charges at the loop's head: each turn pays again.
func (m *meter) openLoop(n int) {
	if !m.now.dead {
		m.charge(n+1, true)
		m.use(costPlain, n+1)
	}
}

// close ends a construct.
func (m *meter) close(n int) {
	f := m.top()
	if f.op == opcodeIf {
		f.end = m.meet(f.end, f.atIf)
	}
	if !f.end.dead {
		m.use(m.edges[f.number], n)
	}
	m.now = m.meet(m.now, f.end)
	m.constructs = m.constructs[:len(m.constructs)-1]
}

// branchCost is what it costs to hand the values over that differ where paths meet.
func (m *meter) branchCost(c *code, i *instruction) uint32 {
	edge := func(label uint32) uint32 { return m.edges[m.constructs[len(m.constructs)-1-int(label)].number] }
	switch i.op {
	case opcodeBr, opcodeBrIf:
		return edge(i.a)
	case opcodeBrTable:
		most := uint32(0)
		for _, label := range c.labels[i.a : i.a+i.b] {
			most = max(most, edge(label))
		}
		return most
	default:
		return 0
	}
}

// branch notes where an instruction may lead.
func (m *meter) branch(c *code, i *instruction) {
	switch i.op {
	case opcodeBr:
		m.leadTo(i.a)
	case opcodeBrIf:
		m.leadTo(i.a)
		return
	case opcodeBrTable:
		for _, label := range c.labels[i.a : i.a+i.b] {
			m.leadTo(label)
		}
	case opcodeReturn, opcodeUnreachable:
	default:
		return
	}
	m.now.dead = true
}

// leadTo: a branch to a loop goes to its head, which charges; one to another construct goes to its end.
func (m *meter) leadTo(label uint32) {
	if f := &m.constructs[len(m.constructs)-1-int(label)]; f.op != opcodeLoop {
		f.end = m.meet(f.end, m.now)
	}
}

// mostFolded is what a loop may be charged again on each turn, so that its function's entry need not be.
const mostFolded = 4

// foldEntry lets the head of a loop that a function begins with pay for the entry, which then needs no
// look of its own: a Go function is of this kind.
func (m *meter) foldEntry(c *code) {
	for n := range c.instructions {
		switch i := &c.instructions[n]; {
		case i.op == opcodeLoop:
			if entry := &m.charges[0]; entry.cost <= mostFolded && len(m.charges) > 1 && m.charges[1].at == n+1 {
				m.charges[1].cost += entry.cost
				entry.cost, entry.look = 0, false
			}
			return
		case i.op == opcodeBlock, m.cost(i) <= costPlain && (i.op < opcodeIf || i.op > opcodeReturn):
		default:
			return
		}
	}
}
