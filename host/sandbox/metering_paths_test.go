package sandbox

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func randomCode(r *rand.Rand, size int) *code {
	c := &code{}
	add := func(op uint16, a, b uint32) { c.instructions = append(c.instructions, instruction{op: op, a: a, b: b}) }
	depth := 0
	ops := []uint16{} // open
	plainWeight := 1 + r.IntN(10)
	costs := []uint16{0x6a, 0x6a, 0x01, 0x28, 0x6d, opcodeCall, opcodeMemoryCopy, opcodeCallIndirect}
	branchWeight := 1 + r.IntN(6)
	for len(c.instructions) < size {
		k := r.IntN(plainWeight + branchWeight + 8)
		switch {
		case k < plainWeight:
			o := costs[r.IntN(len(costs))]
			if r.IntN(3) > 0 {
				o = 0x6a
			}
			n := 1
			if r.IntN(4) == 0 {
				n = 1 + r.IntN(40)
			}
			for range n {
				add(o, uint32(r.IntN(2)), 0)
			}
		case k < plainWeight+branchWeight:
			l := uint32(r.IntN(depth + 1))
			switch r.IntN(7) {
			case 0, 1:
				add(opcodeBr, l, 0)
			case 2, 3, 4:
				add(opcodeBrIf, l, 0)
			case 5:
				from := len(c.labels)
				for range 1 + r.IntN(4) {
					c.labels = append(c.labels, uint32(r.IntN(depth+1)))
				}
				add(opcodeBrTable, uint32(from), uint32(len(c.labels)-from))
			case 6:
				if r.IntN(3) == 0 {
					add([]uint16{opcodeReturn, opcodeUnreachable}[r.IntN(2)], 0, 0)
				}
			}
		default:
			j := r.IntN(7)
			switch {
			case j < 3 && depth < 9:
				o := []uint16{opcodeBlock, opcodeLoop, opcodeIf}[j]
				add(o, blockTypeIsNoIndex, blockEmpty)
				ops = append(ops, o)
				depth++
			case depth > 0 && j == 3 && ops[depth-1] == opcodeIf:
				ops[depth-1] = opcodeElse
				add(opcodeElse, 0, 0)
			case depth > 0:
				add(opcodeEnd, 0, 0)
				ops = ops[:depth-1]
				depth--
			}
		}
	}
	for ; depth >= 0; depth-- {
		add(opcodeEnd, 0, 0)
	}
	return c
}

// checkPlan looks for a path on which less is paid than runs, and for a cycle without a look.
func checkPlan(c *code, m *meter) string {
	m.follow(c)
	plan := m.charges
	n := len(c.instructions)
	pay := make([]int, n+1)
	look := make([]bool, n+1)
	last := -1
	for _, p := range plan {
		if p.at < last {
			return "out of order"
		}
		last = p.at
		if p.at > n {
			return "beyond"
		}
		pay[p.at] += int(p.cost)
		look[p.at] = look[p.at] || p.look
	}
	// control flow
	end := make([]int, n)
	els := make([]int, n)
	var open []int
	for i := range c.instructions {
		switch c.instructions[i].op {
		case opcodeBlock, opcodeLoop, opcodeIf:
			open = append(open, i)
			els[i] = -1
		case opcodeElse:
			els[open[len(open)-1]] = i
		case opcodeEnd:
			if len(open) > 0 {
				end[open[len(open)-1]] = i
				if e := els[open[len(open)-1]]; e >= 0 {
					end[e] = i
				}
				open = open[:len(open)-1]
			}
		}
	}
	succ := make([][]int, n)
	open = open[:0]
	target := func(l uint32) int {
		if int(l) >= len(open) {
			return n
		}
		b := open[len(open)-1-int(l)]
		if c.instructions[b].op == opcodeLoop {
			return b + 1
		}
		return end[b] + 1
	}
	for i := range c.instructions {
		ins := &c.instructions[i]
		switch ins.op {
		case opcodeBlock, opcodeLoop:
			open = append(open, i)
			succ[i] = []int{i + 1}
		case opcodeIf:
			open = append(open, i)
			if els[i] >= 0 {
				succ[i] = []int{i + 1, els[i] + 1}
			} else {
				succ[i] = []int{i + 1, end[i] + 1}
			}
		case opcodeElse:
			succ[i] = []int{end[i] + 1}
		case opcodeEnd:
			succ[i] = []int{i + 1}
			if len(open) > 0 {
				open = open[:len(open)-1]
			} else {
				succ[i] = nil
			}
		case opcodeBr:
			succ[i] = []int{target(ins.a)}
		case opcodeBrIf:
			succ[i] = []int{target(ins.a), i + 1}
		case opcodeBrTable:
			for _, l := range c.labels[ins.a : ins.a+ins.b] {
				succ[i] = append(succ[i], target(l))
			}
		case opcodeReturn, opcodeUnreachable:
		default:
			succ[i] = []int{i + 1}
		}
	}
	const inf = 1 << 40
	dist := make([]int, n+1) // least of paid minus run before instruction i, charges at i not yet
	for i := range dist {
		dist[i] = inf
	}
	dist[0] = 0
	for round := 0; ; round++ {
		changed := false
		for i := range n {
			if dist[i] == inf {
				continue
			}
			d := dist[i] + pay[i] - int(m.cost(&c.instructions[i]))
			if d < 0 {
				return fmt.Sprintf("unpaid %d at %d", -d, i)
			}
			for _, s := range succ[i] {
				if d < dist[s] {
					dist[s] = d
					changed = true
				}
			}
		}
		if !changed {
			break
		}
		if round > n+2 {
			return "negative cycle"
		}
	}
	// a back edge always goes to a loop head with a look of some cost
	for i := range c.instructions {
		if c.instructions[i].op == opcodeLoop && dist[i] < inf {
			if !look[i+1] || pay[i+1] < 1 {
				return fmt.Sprintf("loop at %d without look", i)
			}
		}
	}
	return ""
}

// TestEveryPathIsPaid follows every path of random functions (Bellman-Ford over what is paid less what runs): 121 of
// 200,000 plans let a path run what was not paid. foldEntry, which lends a bounded sum, is left out.
func TestEveryPathIsPaid(t *testing.T) {
	notUnderRace(t)
	s := &sections{leaves: []uint32{0, 20}, functions: []uint32{0, 0}, types: []signature{{}, {}}}
	m := s.newMeter()
	bad := 0
	for seed := range uint64(200_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := randomCode(r, 5+r.IntN(120))
		if msg := checkPlan(c, m); msg != "" {
			bad++
			if bad < 6 {
				t.Errorf("seed %d: %s", seed, msg)
			}
		}
	}
	t.Logf("%d plans are wrong", bad)
}
