package sandbox

import (
	"slices"
	"strings"
)

// expression puts one value of the type on the stack.
func (g *generator) expression(t byte, depth int) {
	if g.plainly(depth) {
		g.leaf(t)
		return
	}
	defer g.traced(t)
	genChoose(g.genChoices, []func(){
		func() { g.leaf(t) },
		func() { g.leaf(t) },
		func() { g.operator(t, depth-1) },
		func() { g.operator(t, depth-1) },
		func() { g.operator(t, depth-1) },
		func() { g.operator(t, depth-1) },
		func() { g.load(t) },
		func() { g.load(t) },
		func() { g.choice(t, depth-1) },
		func() { g.blockOf(t, depth-1) },
		func() { g.calling(t) },
		func() {
			g.expression(t, depth-1)
			g.put("local.tee", op(0x22), leb(genChoose(g.genChoices, g.locals[t])))
		},
		func() { g.state(t) },
		func() { g.state(t) },
		func() { g.abandon(t) },
	})()
}

func (g *generator) leaf(t byte) {
	switch g.below(3) {
	case 0:
		g.put("local.get", op(0x20), leb(genChoose(g.genChoices, g.locals[t])))
	case 1:
		g.put("global.get", op(0x23), leb(globalOf(t)))
	default:
		if t == typeFuncref && g.below(4) > 0 {
			g.put("ref.func", op(0xd2), leb(uint64(g.below(len(g.signatures)))))
			return
		}
		g.put("const", g.constant(t))
	}
}

func (g *generator) operator(t byte, depth int) {
	if t == typeFuncref {
		g.leaf(t)
		return
	}
	o := genChoose(g.genChoices, genOperators[t])
	divides := strings.HasPrefix(o.kind, "div") || strings.HasPrefix(o.kind, "rem")
	for _, takes := range []byte(o.takes) {
		g.expression(takes, depth)
	}
	if divides && g.below(4) > 0 { // made odd, because division by zero is not to end nearly all
		g.put("", map[byte][]byte{typeI32: op(0x41, 1, 0x72), typeI64: op(0x42, 1, 0x84)}[t])
	}
	g.put(o.kind, o.code)
	if o.nan {
		g.settle(t)
	}
}

// settle makes all NaNs one, because the engine may give another one for other machine code: x is kept if it
// is equal to itself.
func (g *generator) settle(t byte) {
	local, equal, nan := g.passing(t), op(0x5b), op(0x43, 0, 0, 0xc0, 0x7f)
	if t == typeF64 {
		equal, nan = op(0x61), op(0x44, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)
	}
	g.put("", op(0x22), local, nan, op(0x20), local, op(0x20), local, equal, op(0x1b))
}

func (g *generator) load(t byte) {
	if t == typeFuncref {
		g.masked(7)
		g.put("table.get", op(0x25, byte(g.below(2))))
		return
	}
	a := genChoose(g.genChoices, genLoads[t])
	g.address()
	if a.lane {
		g.expression(typeV128, 1)
	}
	g.put(a.kind, a.code, g.memarg(a))
}

func (g *generator) choice(t byte, depth int) {
	g.expression(t, depth)
	g.expression(t, depth)
	g.expression(typeI32, depth)
	if t == typeFuncref || g.below(3) == 0 {
		g.put("select of a type", op(0x1c, 1, t))
		return
	}
	g.put("select", op(0x1b))
}

func (g *generator) blockOf(t byte, depth int) {
	inside := func() { g.statements(3); g.expression(t, depth) }
	if g.below(2) == 0 {
		g.block("block with a result", 0x02, string([]byte{t}), inside)
		return
	}
	g.expression(typeI32, depth)
	g.block("if with a result", 0x04, string([]byte{t}), func() {
		inside()
		g.put("", op(0x05))
		inside()
	})
}

// calling calls a function that gives the type, if there is one.
func (g *generator) calling(t byte) {
	gives := func(s signature) bool { return s.results == string([]byte{t}) }
	f := slices.IndexFunc(g.signatures, gives)
	if f < 0 {
		g.leaf(t)
	} else if g.below(3) == 0 {
		g.callIndirect(f)
	} else {
		g.call(f)
	}
}

// state asks for the sizes of memory and tables, or grows them: up to a bound, so that a limit on either
// side is not what makes the difference, and then by more than any may have.
func (g *generator) state(t byte) {
	table := byte(g.below(2))
	size, grow := op(0xfc, 16, table), op(0xfc, 15, table)
	switch kind := g.below(4); {
	case t != typeI32, g.steady && kind > 2:
		g.leaf(t)
	case kind == 0:
		g.put("memory.size", op(0x3f, 0))
	case kind == 1:
		g.put("table.size", size)
	case kind == 2:
		g.put("", op(0x3f, 0), i32(6), op(0x49), op(0x04, typeI32))
		g.labels = append(g.labels, i32Value)
		g.masked(3)
		g.labels = g.labels[:len(g.labels)-1]
		g.put("memory.grow", opGrow, op(0x05), i32(genChoose(g.genChoices, []int64{0, 65536, -1})), opGrow, opEndBlock)
	default:
		g.put("", size, i32(24), op(0x49), op(0x04, typeI32))
		g.labels = append(g.labels, i32Value)
		g.expression(typeFuncref, 2)
		g.masked(7)
		g.labels = g.labels[:len(g.labels)-1]
		g.put("table.grow", grow, op(0x05), genZero(typeFuncref), i32(-1), grow, opEndBlock)
	}
}

// abandon is an expression whose value is never there, at times.
func (g *generator) abandon(t byte) {
	if g.below(12) < 11 {
		g.leaf(t)
		return
	}
	g.leave()
	g.seen["leaving within an expression"]++
	g.leaf(t)
}
