package sandbox

// This file decides where a function is charged for its fuel. What must hold:
//
//   - Before an instruction runs, it has been paid for, and one payment pays for one run of it.
//   - Every function entry and every loop head looks whether fuel is left. Between two looks a guest
//     can run through a function's code once at most, and that is bounded by maxBody.
//   - What is charged depends on the path through the code and on nothing else.
//
// The instructions of a function are parted into ranges, each charged at its first place. Within a range
// control flows forward only, and it is entered at its first place only; so one payment covers it, and a
// range that is left by a branch has paid for more than it ran. Where a block can be reached by a branch
// from an earlier range, the code after it is a new range.
//
// A scope is a function's or a loop's code without that of the loops inside. A small scope is one
// range: one charge at its head, which rounds up. A large one is parted at its branches, because
// a Go function is one loop around a table of branches, and a charge for all of it on each turn would
// count a hundred times too much.

const (
	smallScope = 32 // a scope that costs no more is charged whole
	maxLeaf    = 32 // a function without loops and calls that costs no more is paid for by its callers
	foldable   = 8  // an entry may cost this part of a loop that pays for it again on each turn
	ahead      = 12 // how far a branch to a later range is paid for
	smallRange = 32 // in a large scope a range is ended at a branch from this cost on
)

// charge is fuel to be taken before the instruction numbered at.
type charge struct {
	at   int
	cost uint32
	look bool // and whether any is left: function entries and loop heads
	lead bool // ahead is paid, for a branch to a later range
}

// scope is a function or loop while its code is parted.
type scope struct {
	total   uint32 // what all of its own instructions cost
	current int    // the number of the charge that pays for what comes next
	loose   bool   // a label was passed that an earlier range leads to and has paid for
	tail    uint32 // what comes after that label, as far as it is known
}

// construct is an open block, loop, if or function.
type construct struct {
	op     uint16
	within int  // number of the scope that its own code is in
	after  int  // number of the scope that the code after its end is in
	source int  // the lowest charge from which a branch leads to its end; noSource: none does
	second int  // another such charge, the highest; 0: none
	atIf   int  // the charge that was current at an if
	number int  // in the order in which constructs are opened
	unsure bool // a branch leads to its end from code that more than one range pays for
}

const noSource = int(^uint(0) >> 1)

// meter plans the charges of one function after another.
type meter struct {
	sections   *sections
	imports    int
	mutable    uint32 // globals
	scopes     []scope
	constructs []construct
	edges      []uint32 // by a construct's number: what a branch to its label costs
	reload     uint32   // what each call costs because of the globals that the function reads
	charges    []charge
	dead       bool // no path leads here
	next       int  // the number of the next loop's scope
	opened     int  // constructs
}

func (s *sections) newMeter() *meter {
	return &meter{sections: s, imports: s.imported(kindFunction), mutable: uint32(s.mutableGlobals())}
}

// plan gives the charges of a function in the order of their places. They are valid until the next plan.
func (m *meter) plan(c *code) []charge {
	m.part(c)
	m.foldEntry(c)
	return m.charges
}

// part parts a function into ranges.
func (m *meter) part(c *code) {
	m.measure(c)
	m.charges = append(m.charges[:0], charge{at: 0, look: true})
	m.constructs = append(m.constructs[:0], construct{op: opcodeBlock, source: noSource})
	m.dead, m.next, m.opened = false, 1, 1
	for n := range c.instructions {
		m.step(c, n)
	}
}

// foldEntry lets the head of a loop that a function begins with pay for the entry, which then needs no
// look of its own: a Go function is of this kind.
func (m *meter) foldEntry(c *code) {
	for n := range c.instructions {
		switch i := &c.instructions[n]; {
		case i.op == opcodeLoop:
			if entry := &m.charges[0]; entry.cost <= m.scopes[1].total/foldable && !entry.lead {
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

func (m *meter) top() *construct { return &m.constructs[len(m.constructs)-1] }

func (m *meter) step(c *code, n int) {
	i := &c.instructions[n]
	switch i.op {
	case opcodeBlock:
		m.open(i.op, m.top().within)
	case opcodeLoop:
		m.pay(m.edges[m.opened], n) // of the way into it
		m.openLoop(n)
	case opcodeIf:
		m.pay(m.cost(i)+m.edges[m.opened], n) // of the way around it
		m.openIf(n)
	case opcodeElse:
		m.pay(m.edges[m.top().number], n)
		m.elseOf(n)
	case opcodeEnd:
		if f := m.top(); f.source != noSource {
			m.pay(m.edges[f.number], n)
		}
		m.close(n)
	default:
		m.pay(m.cost(i)+m.branchCost(c, i), n)
		m.branch(c, i)
	}
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

func (m *meter) open(op uint16, within int) {
	m.constructs = append(m.constructs, construct{op: op, within: within, after: m.top().within, source: noSource, number: m.opened})
	m.opened++
}

func (m *meter) openIf(n int) {
	within := m.top().within
	m.open(opcodeIf, within)
	f, s := m.top(), &m.scopes[within]
	f.atIf, f.unsure = s.current, s.loose
	m.partIf(within, n)
}

// pay adds what instruction n costs to the charge that is current.
func (m *meter) pay(cost uint32, n int) {
	if m.dead {
		return
	}
	within := m.top().within
	s := &m.scopes[within]
	if s.tail += cost; s.loose && s.tail > ahead {
		m.begin(within, n-1)
	}
	m.charges[s.current].cost += cost
}

func (m *meter) openLoop(n int) {
	m.open(opcodeLoop, m.next)
	m.scopes[m.next].current = len(m.charges)
	m.next++
	m.charges = append(m.charges, charge{at: n + 1, cost: costPlain, look: true})
}

// begin starts a new range of a scope after instruction n.
func (m *meter) begin(scope, n int) {
	m.scopes[scope].current, m.scopes[scope].loose = len(m.charges), false
	m.charges = append(m.charges, charge{at: n + 1})
}

// partIf starts a new range for what an if guards, where that is worth it.
func (m *meter) partIf(scope, n int) {
	r := &m.scopes[scope]
	if !m.dead && r.total > smallScope && m.charges[r.current].cost >= smallRange {
		m.begin(scope, n)
	}
}

// elseOf: the end of the first half jumps to the end of the if, the second half is reached from the if.
func (m *meter) elseOf(n int) {
	f := m.top()
	r := &m.scopes[f.within]
	if !m.dead {
		f.unsure = f.unsure || r.loose
		f.reachedFrom(r.current)
	}
	f.op, m.dead = opcodeElse, false
	if r.current != f.atIf {
		m.begin(f.within, n)
	}
}

// close ends a construct. The code after it is a new range if it can be reached from an earlier one.
func (m *meter) close(n int) {
	f := *m.top()
	m.constructs = m.constructs[:len(m.constructs)-1]
	if len(m.constructs) == 0 {
		return
	}
	if f.op == opcodeIf {
		f.reachedFrom(f.atIf)
	}
	r := &m.scopes[f.after]
	if f.source == noSource {
		return // reached by its own end alone, if at all
	}
	alone := m.dead // reached by branches alone
	m.dead = false
	if alone && r.total > smallScope {
		m.begin(f.after, n)
	} else if f.source < r.current && !f.unsure && (f.second == 0 || f.second == r.current) {
		m.payAhead(f.source, r)
	} else if f.source < r.current || r.total > smallScope && m.charges[r.current].cost >= smallRange {
		m.begin(f.after, n)
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
	m.dead = true
}

// leadTo: a branch to a loop goes to its head, which charges; one to another construct goes to its end.
func (m *meter) leadTo(label uint32) {
	f := &m.constructs[len(m.constructs)-1-int(label)]
	if f.op != opcodeLoop && !m.dead {
		f.reachedFrom(m.scopes[f.after].current)
		f.unsure = f.unsure || m.scopes[f.after].loose
	}
}

// reachedFrom notes that a branch leads from a range to the construct's end.
func (f *construct) reachedFrom(charge int) {
	switch {
	case f.source == noSource:
		f.source = charge
	case f.source > charge:
		f.unsure = f.unsure || f.second != 0
		f.source, f.second = charge, max(f.second, f.source)
	case f.source < charge:
		f.unsure = f.unsure || f.second != 0 && f.second != charge
		f.second = max(f.second, charge)
	}
}

// payAhead lets the range that branches to a label in a later one pay for the code there as far as
// ahead reaches; from there on is a new range. So a table of branches over many short
// pieces of code does not need a charge for each.
func (m *meter) payAhead(source int, s *scope) {
	if c := &m.charges[source]; !c.lead {
		c.cost, c.lead = c.cost+ahead, true
	}
	if !s.loose {
		s.loose, s.tail = true, 0
	}
}
