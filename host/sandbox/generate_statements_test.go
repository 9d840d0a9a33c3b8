package sandbox

import "slices"

// Statements leave the stack as it is; expressions put one value on it.

func (g *generator) put(kind string, code ...[]byte) {
	if kind != "" {
		g.seen[kind]++
	}
	g.code = append(g.code, slices.Concat(code...)...)
}

// plainly says that only the simplest may follow: the module must not grow without end.
func (g *generator) plainly(depth int) bool {
	return depth <= 0 || len(g.code) > genSize || len(g.stream) == 0
}

// spend takes one from the budget, and returns if nothing is left.
func (g *generator) spend() {
	g.put("", op(0x23, 0), op(0x45), op(0x04, 0x40))
	for _, t := range []byte(g.labels[0]) {
		g.put("", genZero(t))
	}
	g.put("", opReturn, opEndBlock, op(0x23, 0), i32(1), op(0x6b), op(0x24, 0))
}

func genZero(t byte) []byte { return (&generator{genChoices: &genChoices{[]byte{1}}}).constant(t) }

func (g *generator) statements(below int) {
	for range g.below(below) {
		if len(g.code) > genSize {
			return
		}
		g.statement()
	}
}

func (g *generator) statement() {
	t := genChoose(g.genChoices, genTypes)
	genChoose(g.genChoices, []func(){
		func() {
			g.expression(t, genDepth)
			g.put("local.set", op(0x21), leb(genChoose(g.genChoices, g.locals[t])))
		},
		func() { g.setGlobal(t) },
		func() { g.expression(t, genDepth); g.put("drop", opDrop) },
		g.store,
		g.store,
		g.ifElse,
		func() { g.block("block", 0x02, "", func() { g.statements(5) }) },
		g.loop,
		g.loop,
		g.branch,
		g.branch,
		g.branchTable,
		g.callAndDrop,
		g.callAndDrop,
		g.bulkMemory,
		g.bulkMemory,
		g.bulkMemory,
		g.bulkTable,
		g.bulkTable,
		g.bulkTable,
		g.many,
	})()
}

func (g *generator) setGlobal(t byte) {
	if g.steady && !slices.Contains(genNumbers, t) {
		t = typeI64
	}
	g.expression(t, genDepth)
	g.put("global.set", op(0x24), leb(globalOf(t)))
}

// block puts a block of any kind with results; what is inside must give them.
func (g *generator) block(kind string, code byte, results string, inside func()) {
	typ := []byte{0x40}
	switch {
	case len(results) == 1:
		typ = []byte(results)
	case len(results) > 1:
		typ = sleb(int64(g.typ("", results)))
	}
	needs := results
	if kind == "loop" {
		needs = "" // a branch to a loop starts it again
	}
	g.put(kind, []byte{code}, typ)
	g.labels = append(g.labels, needs)
	inside()
	g.labels = g.labels[:len(g.labels)-1]
	g.put("", opEndBlock)
}

func (g *generator) ifElse() {
	g.expression(typeI32, genDepth)
	g.block("if", 0x04, "", func() {
		g.statements(4)
		if g.below(2) == 0 {
			g.put("else", op(0x05))
			g.statements(4)
		}
	})
}

func (g *generator) loop() {
	counter := leb(g.first + g.extra)
	g.extra++
	g.put("", i32(int64(1+g.below(6))), op(0x21), counter)
	g.block("loop", 0x03, "", func() {
		g.spend()
		g.statements(6)
		g.put("", op(0x20), counter, i32(1), op(0x6b), op(0x22), counter, op(0x0d, 0))
	})
}

// many puts a block with parameters and two results, which are kept in locals.
func (g *generator) many() {
	params := g.someTypes(3)
	results := string([]byte{genChoose(g.genChoices, genNumbers), typeI64})
	for _, t := range []byte(params) {
		g.expression(t, 2)
	}
	g.put("multi-value block", op(0x02), sleb(int64(g.typ(params, results))))
	g.labels = append(g.labels, results)
	g.keep(params)
	g.statements(4)
	for _, t := range []byte(results) {
		g.expression(t, 2)
	}
	g.labels = g.labels[:len(g.labels)-1]
	g.put("", opEndBlock)
	g.keep(results)
}

// keep takes values from the stack into locals.
func (g *generator) keep(types string) {
	for _, t := range slices.Backward([]byte(types)) {
		g.put("", op(0x21), leb(genChoose(g.genChoices, g.locals[t])))
	}
}

// branch leaves some block: on a condition, in an if, or at once, and then what follows is dead code.
func (g *generator) branch() {
	switch g.below(12) {
	case 0, 1, 2, 3:
		depth, needs := g.label()
		g.values(needs)
		g.expression(typeI32, 3)
		g.put("br_if", op(0x0d), leb(depth))
		g.keep(needs)
	case 11:
		g.leave()
	default:
		g.expression(typeI32, 3)
		g.block("if", 0x04, "", g.leave)
	}
}

// label is a choice of a block to leave and what a branch to it must give.
func (g *generator) label() (depth uint64, needs string) {
	n := g.below(len(g.labels))
	return uint64(n), g.labels[len(g.labels)-1-n]
}

func (g *generator) values(types string) {
	for _, t := range []byte(types) {
		g.expression(t, 2)
	}
}

// leave does not come back.
func (g *generator) leave() {
	switch g.below(6) {
	case 0, 1, 2:
		depth, needs := g.label()
		g.values(needs)
		g.put("br", op(0x0c), leb(depth))
	case 3, 4:
		g.values(g.labels[0])
		g.put("return", opReturn)
	default:
		g.put("unreachable", opUnreachable)
	}
}

// branchTable is within a block of its own, so that what follows lives. Its targets must need the same.
func (g *generator) branchTable() {
	g.block("block", 0x02, "", func() {
		last, needs := g.label()
		var same [][]byte
		for depth := range g.labels {
			if g.labels[len(g.labels)-1-depth] == needs && g.below(3) > 0 {
				same = append(same, leb(uint64(depth)))
			}
		}
		g.values(needs)
		g.masked(3)
		g.put("br_table", op(0x0e), vector(same...), leb(last))
	})
}

func (g *generator) callAndDrop() {
	f := g.below(len(g.signatures))
	if g.below(3) == 0 {
		g.callIndirect(f)
	} else {
		g.call(f)
	}
	for range g.signatures[f].results {
		g.put("", opDrop)
	}
}

func (g *generator) call(f int) {
	kind := "call"
	if f == g.self {
		kind = "recursion"
	}
	g.values(g.signatures[f].params)
	g.put(kind, callTo(uint64(f)))
}

// callIndirect wants the type of f at an index where it may or may not stand.
func (g *generator) callIndirect(f int) {
	sig := g.signatures[f]
	g.values(sig.params)
	if g.below(2) == 0 {
		g.put("", i32(int64(f)))
	} else {
		g.masked(15)
	}
	g.put("call_indirect", op(0x11), leb(g.typ(sig.params, sig.results)), leb(uint64(g.below(2))))
}

// masked puts a number from 0 to mask.
func (g *generator) masked(mask int64) {
	g.expression(typeI32, 2)
	g.put("", i32(mask), op(0x71))
}

// address puts one that is mostly in memory, and at times around the memory's end.
func (g *generator) address() {
	switch g.below(24) {
	default:
		g.masked(0x3fff)
	case 21:
		g.put("", i32(genChoose(g.genChoices, genIntegers)))
	case 22, 23:
		g.put("", op(0x3f, 0), i32(16), op(0x74)) // memory.size in bytes
		g.masked(31)
		g.put("address at the end", op(0x6b))
	}
}

func (g *generator) memarg(a genAccess) []byte {
	arg := append(leb(uint64(g.below(int(a.align)+1))), leb(genChoose(g.genChoices, genOffsets))...)
	if a.lane {
		arg = append(arg, 5)
	}
	return arg
}

var genOffsets = []uint64{0, 0, 0, 1, 8, 100, 0, 0, 16, 3, 0, 5, 0, 0, 200, 1000, 0, 1, 2, 0, 65530, 1 << 31, 1<<32 - 1}

func (g *generator) store() {
	t := genChoose(g.genChoices, genTypes[:5])
	a := genChoose(g.genChoices, genStores[t])
	g.address()
	g.expression(t, 3)
	g.put(a.kind, a.code, g.memarg(a))
}

// length puts one of a region of memory: from nothing to more than three pages, at times far too long.
func (g *generator) length() {
	if g.below(4) < 3 {
		g.masked(0xff)
		return
	}
	g.put("", i32(genChoose(g.genChoices, genLengths)))
}

var genLengths = []int64{0, 1, 7, 64, 1000, 4096, 65535, 65536, 65537, 2 * 65536, 3*65536 - 1, 3 * 65536, 200_000, 300_000, -1}

func (g *generator) bulkMemory() {
	segment := byte(g.below(3))
	switch g.below(10) {
	case 0, 1:
		g.address()
		g.expression(typeI32, 2)
		g.length()
		g.put("memory.fill", op(0xfc, 11, 0))
	case 2, 3:
		g.address()
		g.address()
		g.length()
		g.put("memory.copy", op(0xfc, 10, 0, 0))
	case 4, 5: // overlapping: both near one address
		g.masked(0xfff)
		g.masked(0xfff)
		g.length()
		g.put("memory.copy", op(0xfc, 10, 0, 0))
	case 6, 7, 8:
		g.address()
		g.masked(7)
		g.masked(genChoose(g.genChoices, []int64{0, 3, 7, 7, 15, 0x3ff}))
		g.put("memory.init", op(0xfc, 8, segment, 0))
	default:
		if !g.steady {
			g.put("data.drop", op(0xfc, 9, segment))
		}
	}
}

// few puts a number of elements: mostly few, at times too many.
func (g *generator) few() {
	if g.below(10) == 9 {
		g.put("", i32(genChoose(g.genChoices, []int64{-1, 100, 1 << 20})))
		return
	}
	g.masked(3)
}

func (g *generator) bulkTable() {
	if g.steady {
		return
	}
	table, other, segment := byte(g.below(2)), byte(g.below(2)), byte(g.below(4))
	switch g.below(10) {
	case 0, 1:
		g.masked(7)
		g.expression(typeFuncref, 2)
		g.put("table.set", op(0x26, table))
	case 2, 3:
		g.masked(7)
		g.expression(typeFuncref, 2)
		g.few()
		g.put("table.fill", op(0xfc, 17, table))
	case 4, 5:
		g.masked(7)
		g.masked(7)
		g.few()
		g.put("table.copy", op(0xfc, 14, table, other))
	case 6, 7, 8:
		g.masked(7)
		g.masked(1)
		g.few()
		g.put("table.init", op(0xfc, 12, segment, table))
	default:
		g.put("elem.drop", op(0xfc, 13, segment))
	}
}
