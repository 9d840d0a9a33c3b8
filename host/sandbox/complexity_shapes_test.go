package sandbox

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A shape is a module whose compilation costs more than its bytes tell, by a size n and a second
// size k. Its last function is the costly one.
type costlyShape struct {
	name string
	make func(n, k int) *guest
	// n and k of a module that is refused, and what its error says
	n, k int
	says string
	ks   []int // second sizes to search the worst accepted module with
}

// Parts of error texts.
const (
	saysBlocks   = "basic blocks or more, at most 50000"
	saysLive     = "values that live in its basic blocks, each counted in each, at most 4000000"
	saysStraight = "units of the compiler's work, at most 150000000"
	saysProducts = "for %s and the like, at most 3000000000"
	saysModule   = "units of the compiler's work, at most 8000000000"
)

var shapes = []costlyShape{
	{"reads far below many br_if", func(n, k int) *guest {
		return one(1, opBlock, rep(n, opBranch0), rep(k, opGet0, opDrop), opEndBlock)
	}, 5_000, 300_000, fmt.Sprintf(saysProducts, "variables read across basic blocks"), []int{1_000, 100_000}},
	{"br_if to one block", func(n, k int) *guest {
		return one(0, opBlock, rep(n, opBranch0), opEndBlock)
	}, 40_000, 0, saysBlocks, nil},
	{"br_if to one block, locals read after it", func(n, k int) *guest {
		return one(k, opBlock, rep(n, opBranch0), opEndBlock, readAll(k))
	}, 2_000, 900, fmt.Sprintf(saysProducts, "variables read across basic blocks"), []int{100, 1000}},
	{"br_if, locals set before and read after", func(n, k int) *guest {
		return one(k, setAll(k), opBlock, rep(n, opBranch0), opEndBlock, storeAll(k))
	}, 3_000, 300, fmt.Sprintf(saysProducts, "variables read across basic blocks"), []int{100, 1000}},
	{
		"empty ifs", func(n, k int) *guest { return one(0, rep(n, opEmpty)) },
		16_000, 0, fmt.Sprintf(saysProducts, "the nesting of basic blocks"), nil,
	},
	{"empty ifs under locals", func(n, k int) *guest {
		return one(k, setAll(k), rep(n, opEmpty), storeAll(k))
	}, 1_000, 4_000, saysLive, []int{50, 500, 4000}},
	{"ifs that set locals", func(n, k int) *guest {
		return one(k, setAll(k), each(n, func(i int) []byte {
			return slices.Concat(opIf0, get(i%k), set((i+1)%k), opEndBlock)
		}), storeAll(k))
	}, 4_000, 1_000, saysLive, []int{50, 500}},
	{"nested ifs under locals", func(n, k int) *guest {
		return one(k, setAll(k), rep(n, opIf0), storeAll(k), rep(n, opEndBlock))
	}, 4_000, 1_000, saysLive, []int{50, 500}},
	{
		"nested blocks", func(n, k int) *guest { return one(0, rep(n, opBlock), rep(n, opEndBlock)) },
		100_000, 0, saysBlocks, nil,
	},
	{
		"nested loops", func(n, k int) *guest { return one(0, rep(n, opLoop), rep(n, opBranch0, opEndBlock)) },
		20_000, 0, saysBlocks, nil,
	},
	{"nested loops over locals", func(n, k int) *guest {
		return one(k, setAll(k), rep(n, opLoop), readAll(k), rep(n, opBranch0, opEndBlock), storeAll(k))
	}, 60, 3_000, fmt.Sprintf(saysProducts, "variables at branches"), []int{100, 1000}},
	{"loops in a row over locals", func(n, k int) *guest {
		return one(k, setAll(k), rep(n, opLoop, touched(k), opBranch0, opEndBlock), storeAll(k))
	}, 300, 2_000, saysLive, []int{100, 1000}},
	{"br_table of many targets", func(n, k int) *guest {
		return one(0, opBlock, branchTable(n), opEndBlock)
	}, 100_000, 0, saysBlocks, nil},
	{"br_table of many targets over locals", func(n, k int) *guest {
		return one(k, setAll(k), opBlock, branchTable(n), opEndBlock, storeAll(k))
	}, 5_000, 1_000, saysLive, []int{100, 1000}},
	{"br_table to a loop of parameters", func(n, k int) *guest {
		g := newGuest().run(opZero)
		t := g.typ(strings.Repeat(i64Value, k), "")
		g.fn("", "", 0, rep(k, op(0x42, 1)), op(0x03), leb(t), branchTable(n), opEndBlock)
		return g
	}, 40_000, 100, saysLive, []int{16, 128}},
	{"br_if to a loop of parameters", func(n, k int) *guest {
		g := newGuest().run(opZero)
		t := g.typ(strings.Repeat(i64Value, k), "")
		g.fn("", "", 0, rep(k, op(0x42, 1)), op(0x03), leb(t), rep(n, opBranch0), rep(k, opDrop), opEndBlock)
		return g
	}, 10_000, 32, fmt.Sprintf(saysProducts, "variables read across basic blocks"), []int{16, 128}},
	{"ifs under operands", func(n, k int) *guest {
		return one(0, rep(k, opZero, op(0x28, 2, 0)), rep(n, opEmpty), rep(k, opZero, op(0x36, 2, 0)))
	}, 4_000, 1_000, saysLive, []int{100, 1000, 10000}},
	{"calls and mutable globals", func(n, k int) *guest {
		g := newGuest().run(opZero)
		for range k {
			g.global(0)
		}
		f := g.fn("", "", 0)
		g.fn("", "", 0, rep(n, callTo(f)))
		return g
	}, 2_000, 990, saysStraight, []int{10, 990}},
	{"functions, types and globals", func(n, k int) *guest {
		g := newGuest().run(opZero)
		for i := range k {
			if i < 990 {
				g.global(0)
			}
			t := strings.Repeat(i64Value, i%100) + strings.Repeat(i32Value, i/100%28)
			g.types = append(g.types, slices.Concat([]byte{0x60}, sized([]byte(t)), vector()))
		}
		g.fn("", "", 0)
		return g.copies(n)
	}, 60_000, 9_000, saysModule, []int{500, 9_000}},
	{"addresses before ifs", func(n, k int) *guest {
		return one(k, setAll(k), each(k, func(i int) []byte {
			return slices.Concat(get(i), opLoadI, opDrop)
		}), rep(n, opEmpty))
	}, 2_000, 1_000, saysLive, []int{100, 1000}},
	{"calls after accesses", func(n, k int) *guest {
		g := newGuest().run(opZero)
		f := g.fn("", "", 0)
		g.fn("", "", 1, rep(n, callTo(f), opZero, opGet0, op(0x37, 3, 0)))
		return g
	}, 100_000, 0, saysStraight, nil},
	{"calls under locals", func(n, k int) *guest {
		g := newGuest().run(opZero)
		f := g.fn("", "", 0)
		g.fn("", "", k, setAll(k), rep(n, callTo(f)), storeAll(k))
		return g
	}, 100_000, 100, saysStraight, []int{1000}},
	{"calls of many values", func(n, k int) *guest {
		g := newGuest().run(opZero)
		a := g.fn("", strings.Repeat(i64Value, 16), 0, rep(16, op(0x42, 1)))
		f := g.fn(strings.Repeat(i64Value, 128), "", 0)
		g.fn("", "", 0, rep(n, rep(8, callTo(a)), callTo(f)))
		return g
	}, 3_000, 0, saysStraight, nil},
	{
		"memory.fill", func(n, k int) *guest { return one(0, rep(n, opZero, opZero, opZero, op(0xfc, 11, 0))) },
		15_000, 0, saysStraight, nil,
	},
	{"memory.fill over locals", func(n, k int) *guest {
		return one(k, setAll(k), rep(n, opZero, opZero, opZero, op(0xfc, 11, 0)), storeAll(k))
	}, 400, 1_500, fmt.Sprintf(saysProducts, "variables at branches"), []int{100, 800}},
	{
		"memory.copy", func(n, k int) *guest { return one(0, rep(n, opZero, opZero, opZero, op(0xfc, 10, 0, 0))) },
		20_000, 0, saysStraight, nil,
	},
	{"selects", chain(rep(1, get(0), opZero, op(0x1b))), 400_000, 0, saysStraight, nil},
	{"loads", chain(opLoadI), 50_000, 0, saysStraight, nil},
	{"divisions", chain(get(0), op(0x7f)), 50_000, 0, saysStraight, nil},
	{"truncations", chain(op(0xb9, 0xb1)), 50_000, 0, saysStraight, nil},
	{"saturating truncations", chain(op(0xb9, 0xfc, 7)), 60_000, 0, saysStraight, nil},
	{"additions", chain(get(0), op(0x7c)), 400_000, 0, saysStraight, nil},
	{"constants", chain(op(0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x7c)), 400_000, 0, saysStraight, nil},
	{"i8x16.shl", func(n, k int) *guest {
		return one(1, setAll(1), opZero, get(0), op(0xfd, 0x12), rep(n, op(0x41, 3, 0xfd, 0x6b)), op(0xfd, 11, 4, 0))
	}, 100_000, 0, saysStraight, nil},
	{"v128 converted", func(n, k int) *guest {
		return one(1, setAll(1), opZero, get(0), op(0xfd, 0x12), rep(n, op(0xfd, 0xf9, 1)), op(0xfd, 11, 4, 0))
	}, 110_000, 0, saysStraight, nil},
	{"v128 loads", func(n, k int) *guest {
		return one(1, rep(n, opZero, opZero, op(0xfd, 5, 3, 0), op(0xfd, 11, 4, 0)))
	}, 20_000, 0, saysStraight, nil},
	{"reads of a chain of aliases by merging", func(n, k int) *guest {
		return one(2, setAll(2), rep(n, opBlock, opBranch0, opEndBlock, get(0), opDrop),
			get(1), rep(k, get(0), op(0x7c)), set(1), storeAll(2))
	}, 15_000, 100_000, fmt.Sprintf(saysProducts, "the nesting of basic blocks"), []int{10_000, 100_000}},
	{"reads of a chain of aliases by shifting", func(n, k int) *guest {
		return one(2, setAll(2), get(0), rep(n, op(0x42, 0, 0x86)), set(0),
			get(1), rep(k, get(0), op(0x7c)), set(1), storeAll(2))
	}, 50_000, 100_000, fmt.Sprintf(saysProducts, "uses of aliases"), []int{10_000, 100_000}},
	{"br_tables that are never reached", func(n, k int) *guest {
		g := newGuest().run(opZero)
		t := g.typ(strings.Repeat(i64Value, 128), "")
		g.fn("", "", 0, opUnreachable, op(0x03), leb(t), rep(n, branchTable(100)), opEndBlock)
		return g
	}, 8_000, 0, saysStraight, nil},
	{"blocks that are never reached", func(n, k int) *guest {
		g := newGuest().run(opZero)
		t := g.typ(strings.Repeat(i64Value, 128), "")
		g.fn("", "", 0, opUnreachable, rep(n, op(0x02), leb(t), opUnreachable, opEndBlock))
		return g
	}, 8_000, 0, saysStraight, nil},
	{"tiny functions", func(n, k int) *guest { return one(k, rep(n, opZero, opDrop)) }, 0, 0, "", []int{0, 20}},
	{"small functions with ifs", func(n, k int) *guest {
		return one(0, rep(20, opEmpty)).copies(n)
	}, 99_000, 0, saysModule, nil},
}

func rep(n int, code ...[]byte) []byte { return bytes.Repeat(slices.Concat(code...), n) }

func each(n int, f func(i int) []byte) []byte {
	var out []byte
	for i := range n {
		out = append(out, f(i)...)
	}
	return out
}

func get(i int) []byte { return append(op(0x20), leb(uint64(i))...) }
func set(i int) []byte { return append(op(0x21), leb(uint64(i))...) }

var (
	opBlock   = op(0x02, 0x40)
	opLoop    = op(0x03, 0x40)
	opZero    = op(0x41, 0)
	opBranch0 = op(0x41, 0, 0x0d, 0)          // i32.const 0, br_if 0
	opIf0     = op(0x41, 0, 0x04, 0x40)       // i32.const 0, if
	opEmpty   = op(0x41, 0, 0x04, 0x40, 0x0b) // i32.const 0, if, end
	opLoadI   = op(0xa7, 0x29, 3, 0)          // i32.wrap_i64, i64.load
)

// branchTable is a br_table with n targets and a default, all label 0.
func branchTable(n int) []byte {
	return slices.Concat(opZero, op(0x0e), leb(uint64(n)), rep(n+1, op(0)))
}

// one has, besides run, a function with this code and so many i64 locals.
func one(locals int, code ...[]byte) *guest {
	g := newGuest().run(opZero)
	g.fn("", "", locals, code...)
	return g
}

// chain repeats code that takes an i64 and gives one, so that all of it is needed.
func chain(code ...[]byte) func(n, k int) *guest {
	return func(n, k int) *guest {
		return one(1, setAll(1), get(0), rep(n, code...), set(0), storeAll(1))
	}
}

// copies adds the last function again, so many times.
func (g *guest) copies(n int) *guest {
	last := len(g.bodies) - 1
	g.bodies = append(g.bodies, slices.Repeat(g.bodies[last:], n)...)
	g.functions = append(g.functions, slices.Repeat(g.functions[last:], n)...)
	return g
}

func readAll(locals int) []byte {
	return each(locals, func(i int) []byte { return append(get(i), opDrop...) })
}

func touched(locals int) []byte {
	return each(locals, func(i int) []byte { return append(get(i), set(i)...) })
}

// setAll loads each local from memory, storeAll stores each: what lies between must keep them.
func setAll(locals int) []byte {
	return each(locals, func(i int) []byte { return slices.Concat(opZero, op(0x29, 3), leb(uint64(i)), set(i)) })
}

func storeAll(locals int) []byte {
	return each(locals, func(i int) []byte { return slices.Concat(opZero, get(i), op(0x37, 3, 0)) })
}
