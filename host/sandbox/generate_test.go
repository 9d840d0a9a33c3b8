package sandbox

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// Modules made from a stream of choices. They are always valid, because every instruction is chosen by the
// types that it must take and give; and they always end, because each call and each round of a loop spends
// from one budget. Two runs of a module differ in nothing: no NaN of unknown bits is left in a value.

// genChoices are bytes of a fuzzer. When they are used up, each choice is the first.
type genChoices struct{ stream []byte }

func (c *genChoices) below(n int) int {
	if len(c.stream) == 0 {
		return 0
	}
	b := c.stream[0]
	c.stream = c.stream[1:]
	return int(b) % n
}

func genChoose[T any](c *genChoices, of []T) T { return of[c.below(len(of))] }

const (
	genBudget = 400  // calls and rounds of loops, for each call from outside
	genSize   = 1500 // bytes of a function's code, roughly: at it only the simplest is chosen
	genDepth  = 5    // of expressions
)

// genTypes are what locals and globals are made of; only numbers cross the module's border.
var (
	genNumbers = []byte{typeI32, typeI64, typeF32, typeF64}
	genTypes   = append(slices.Clone(genNumbers), typeV128, typeFuncref)
)

// Names that the module exports besides f0, f1 and so on.
const (
	genReset = "reset" // () -> (): a new budget
	genSizes = "sizes" // () -> (i32, i32): of the tables
	genEmpty = "empty" // (i32) -> i32: whether this element of table 0 is null
	genTrace = "trace" // an i64: a sum over what was computed on the way, so that no value is lost unseen
)

// generator is a module in the making, and of it the function in the making.
type generator struct {
	*guest
	*genChoices
	signatures []signature    // of the functions f0, f1, ...
	seen       map[string]int // kinds of instructions
	steady     bool           // it changes nothing but its memory and globals of numbers

	code   []byte
	self   int               // the function's number
	locals map[byte][]uint64 // by type
	extra  uint64            // counters of loops so far
	first  uint64            // the number of the first such counter
	labels []string          // what a branch to each must give, the innermost last
}

// generate gives a module, what its functions are, and which kinds of instructions it holds.
func generate(stream []byte) (wasm []byte, functions []signature, seen map[string]int) {
	return generateAs(stream, false)
}

// generateSteady gives a module whose instances can be put back.
func generateSteady(stream []byte) (wasm []byte, functions []signature) {
	wasm, functions, _ = generateAs(stream, true)
	return wasm, functions
}

func generateAs(stream []byte, steady bool) (wasm []byte, functions []signature, seen map[string]int) {
	g := &generator{
		steady:     steady,
		guest:      &guest{named: map[string]uint64{}},
		genChoices: &genChoices{stream},
		seen:       map[string]int{},
	}
	for range 2 + g.below(4) {
		g.signatures = append(g.signatures, signature{params: g.someTypes(4), results: g.someTypes(3)})
	}
	g.makeMemory()
	g.makeTables()
	g.makeGlobals()
	for i := range g.signatures {
		g.makeFunction(i)
	}
	g.makeProbes()
	return g.bytes(), g.signatures, g.seen
}

func (g *generator) someTypes(below int) string {
	types := make([]byte, g.below(below))
	for i := range types {
		types[i] = genChoose(g.genChoices, genNumbers)
	}
	return string(types)
}

// makeMemory makes a memory of one to five pages, with or without a maximum, one active and two passive
// segments. Their count must stand before the code.
func (g *generator) makeMemory() {
	least := uint64(1 + g.below(5))
	limits := slices.Concat([]byte{0}, leb(least))
	if g.below(2) == 0 {
		limits = slices.Concat([]byte{1}, leb(least), leb(least+uint64(g.below(4))))
	}
	g.memory = vector(limits)
	g.export("memory", kindMemory, 0)
	bits := make([]byte, 4096) // of all kinds, also those of negative numbers
	for i := range bits {
		bits[i] = byte(i * i * 31)
	}
	g.bytesAt(int64(g.below(200)), string(bits))
	for _, text := range []string{"passive", strings.Repeat("another passive one ", 50)} {
		g.data = append(g.data, slices.Concat([]byte{1}, sized([]byte(text))))
	}
}

// makeTables makes two tables; element segments 0 and 1 are active, 2 and 3 passive, and between them they
// name every function, which ref.func asks for.
func (g *generator) makeTables() {
	var all [][]byte
	for i := range g.signatures {
		all = append(all, leb(uint64(i)))
	}
	for range 2 {
		limits := []byte{typeFuncref, 0, 10}
		if g.below(2) == 0 {
			limits = []byte{typeFuncref, 1, 10, byte(10 + g.below(10))}
		}
		g.tables = append(g.tables, limits)
	}
	null := []byte{0xd0, typeFuncref, opEnd}
	elements := vector(
		slices.Concat([]byte{0}, i32(int64(g.below(4))), []byte{opEnd}, vector(all...)),
		slices.Concat([]byte{2, 1}, i32(0), []byte{opEnd, 0}, vector(all...)),
		slices.Concat([]byte{1, 0}, vector(append(all, all...)...)),
		slices.Concat([]byte{5, typeFuncref}, vector(null, []byte{0xd2, 0, opEnd}, null)),
	)
	count := section(sectionDataCount, leb(uint64(len(g.data))))
	g.after = slices.Concat(section(sectionElement, elements), count)
}

// makeGlobals makes global 0, the budget, and then one of each type, of which the numbers are exported.
func (g *generator) makeGlobals() {
	g.global(genBudget)
	for i, t := range genTypes {
		mutable := byte(1)
		if g.steady && i >= len(genNumbers) {
			mutable = 0
		}
		g.globals = append(g.globals, slices.Concat([]byte{t, mutable}, g.constant(t), []byte{opEnd}))
		if i < len(genNumbers) {
			g.export("global "+valueName(t), kindGlobal, uint64(1+i))
		}
	}
	g.globals = append(g.globals, []byte{typeI64, 1, 0x42, 0, opEnd})
	g.export(genTrace, kindGlobal, traceGlobal)
}

var traceGlobal = uint64(1 + len(genTypes))

func globalOf(t byte) uint64 { return uint64(1 + slices.Index(genTypes, t)) }

// makeFunction has two locals of each type besides its parameters, one more of each for a passing value,
// and a counter for each loop.
func (g *generator) makeFunction(i int) {
	sig := g.signatures[i]
	g.code, g.self, g.labels, g.extra = nil, i, []string{sig.results}, 0
	g.locals = map[byte][]uint64{}
	for n := range len(sig.params) {
		g.locals[sig.params[n]] = append(g.locals[sig.params[n]], uint64(n))
	}
	var declared [][]byte
	next := uint64(len(sig.params))
	for _, t := range genTypes {
		g.locals[t] = append(g.locals[t], next, next+1)
		declared = append(declared, []byte{2, t})
		next += 2
	}
	for _, t := range genTypes {
		declared = append(declared, []byte{1, t})
	}
	g.first = next + uint64(len(genTypes))
	g.spend()
	g.statement()
	g.statements(12)
	for n := range len(sig.results) {
		g.expression(sig.results[n], genDepth)
	}
	declared = append(declared, append(leb(g.extra), typeI32))
	g.functions = append(g.functions, leb(g.typ(sig.params, sig.results)))
	g.bodies = append(g.bodies, sized(slices.Concat(vector(declared...), g.code, []byte{opEnd})))
	g.export(genName(i), kindFunction, uint64(i))
}

func genName(i int) string { return "f" + string(rune('0'+i)) }

// passing is the local that a value passes through.
func (g *generator) passing(t byte) []byte {
	return leb(g.first - uint64(len(genTypes)-slices.Index(genTypes, t)))
}

// traced adds the value on the stack to the trace.
func (g *generator) traced(t byte) {
	toI64 := map[byte][]byte{
		typeI32: op(0xad), typeI64: nil, typeF32: op(0xbc, 0xad), typeF64: op(0xbd), typeV128: op(0xfd, 0x1d, 0),
		typeFuncref: op(0xd1, 0xad), // null or not
	}[t]
	g.put("", op(0x22), g.passing(t), op(0x20), g.passing(t), toI64, callTo(uint64(len(g.signatures))))
}

// makeProbes makes the functions after f0, f1, ...: the trace's first.
func (g *generator) makeProbes() {
	trace := leb(traceGlobal)
	g.fn(i64Value, "", 0, op(0x23), trace, op(0x42, 7, 0x89), op(0x20, 0, 0x85, 0x24), trace) // rotated, xor
	size := func(table byte) []byte { return op(0xfc, 16, table) }
	isNull := slices.Concat(op(0x20, 0), op(0x25, 0), op(0xd1))
	g.export(genReset, kindFunction, g.fn("", "", 0, i32(genBudget), op(0x24, 0)))
	g.export(genSizes, kindFunction, g.fn("", i32Value+i32Value, 0, size(0), size(1)))
	g.export(genEmpty, kindFunction, g.fn(i32Value, i32Value, 0, isNull))
}

// constant gives the instruction for some constant of the type; the first choice is a small number.
func (g *generator) constant(t byte) []byte {
	switch t {
	case typeI32:
		return i32(genChoose(g.genChoices, genIntegers))
	case typeI64:
		return append([]byte{0x42}, sleb(genChoose(g.genChoices, genIntegers))...)
	case typeF32:
		return binary.LittleEndian.AppendUint32([]byte{0x43}, math.Float32bits(float32(genChoose(g.genChoices, genFloats))))
	case typeF64:
		return binary.LittleEndian.AppendUint64([]byte{0x44}, math.Float64bits(genChoose(g.genChoices, genFloats)))
	case typeV128:
		lane := binary.LittleEndian.AppendUint64(nil, uint64(genChoose(g.genChoices, genIntegers)))
		return slices.Concat([]byte{0xfd, 12}, lane, lane)
	default:
		return []byte{0xd0, typeFuncref}
	}
}

var (
	genIntegers = []int64{
		3, 0, 1, -1, 2, 7, 31, 64, 255, 1000, 65535, 65536, math.MaxInt32, math.MinInt32,
		math.MaxInt64, math.MinInt64, 0x0123456789abcdef, -1000,
	}
	genFloats = []float64{
		1.5, 0, math.Copysign(0, -1), -1, 7.25, 1e9, -1e9, 1 << 31, 1 << 32, 1 << 63, -1 << 63, 1e20,
		1e-40, 1e300, math.Inf(1), math.Inf(-1), math.NaN(),
	}
)
