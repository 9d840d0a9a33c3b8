package sandbox

// This file walks through one function and counts what its compilation grows with; see complexity.go.

// instruction takes the next instruction of the function.
func (c *complexity) instruction(s *sections, body *code, i *instruction) {
	switch {
	case i.op == opcodeBlock, i.op == opcodeLoop, i.op == opcodeIf:
		params, results := s.blockValues(i)
		c.block(i.op, params, results)
	case i.op == opcodeElse:
		c.orElse()
	case i.op == opcodeEnd:
		c.end()
	case i.op == opcodeBr, i.op == opcodeBrIf:
		c.branch(i.op, i.a)
	case i.op == opcodeBrTable:
		c.brTable(body.labels[i.a : i.a+i.b])
	case i.op == opcodeCall, i.op == opcodeCallIndirect:
		sig := s.callee(i)
		c.call(len(sig.params), len(sig.results), i.op == opcodeCallIndirect)
	case i.op >= opcodeVector:
		c.vector(uint32(i.op & 0xff))
	case i.op >= opcodeTruncSat:
		c.misc(uint32(i.op & 0xff))
	default:
		if i.op == opcodeGlobalGet && !s.globals[i.a].mutable {
			c.body.fixed++
		}
		c.plain(byte(i.op))
	}
}

// add counts n basic blocks that start here.
func (b *bodyCost) add(n int) {
	b.blocks += n
	b.depths += n * b.here.depth
	b.live += n * (b.variables + b.height + b.here.known)
}

func (b *bodyCost) move(pops, pushes int) {
	if len(b.frames) > 0 {
		b.height = max(b.height-pops, b.frames[len(b.frames)-1].base) + pushes
		b.highest = max(b.highest, b.height)
	}
}

// plain is an instruction of one byte that no other method takes, its immediates aside.
func (c *complexity) plain(op byte) {
	b := &c.body
	b.uses++
	b.straight += int(compileCosts[op])
	if b.dead > 0 {
		return
	}
	switch {
	case op >= opcodeI32Load && op <= opcodeI64Store32:
		b.access()
	case op == opcodeLocalGet, op == opcodeGlobalGet:
		b.lookups += b.here.chain
	case op == opcodeMemoryGrow:
		b.walks += b.here.known
	case op >= 0x74 && op <= 0x76, op >= 0x86 && op <= 0x88: // shifts: those by nothing are aliases
		b.aliases++
	}
	b.move(effect(uint16(op)))
	switch op {
	case opcodeLocalSet, opcodeLocalTee:
		b.sets++
		b.frames[len(b.frames)-1].sets++
	case opcodeReturn:
		b.edge(len(b.frames) - 1)
		b.dead = 1
	case opcodeUnreachable:
		b.dead = 1
	}
}

// access looks up the memory's base and length, and leaves a bound that is known.
func (b *bodyCost) access() {
	b.here.known++
	b.lookups += 2 * b.here.chain
}

// misc is an instruction after the prefix 0xfc.
func (c *complexity) misc(sub uint32) {
	b := &c.body
	b.uses += 3
	if sub < 8 { // saturating truncations
		b.straight += compileMany
		return
	}
	b.straight += compileBulk
	if sub != 9 && sub != 13 && sub != 16 { // a call of a function that is appended, which looks up to three times
		b.straight += compileFunction + 4*b.mutable*compileReload + compileVisit*b.visits
	}
	if b.dead > 0 {
		return
	}
	b.lookups += 2 * b.here.chain
	b.walks += b.here.known
	op := opcodeTruncSat | uint16(sub)
	b.move(effect(op))
	if op == opcodeMemoryFill || op == opcodeTableFill {
		b.fill()
	}
}

// fill becomes a loop of its own: three blocks and five edges, four of which hand over variables.
func (b *bodyCost) fill() {
	b.straight += compileTrap
	b.aliases += 2
	b.depths += 7 * b.here.depth
	b.phis += 7 * b.variables * b.variables
	b.lookups += 2 * b.variables * b.here.chain
	b.here.step()
	b.here.chain = 1
	b.add(3)
}

// vector is an instruction after the prefix 0xfd.
func (c *complexity) vector(sub uint32) {
	b := &c.body
	b.uses++
	b.vectors = true
	b.straight += compileMany
	memory := sub <= 11 || sub >= 0x54 && sub <= 0x5d
	if memory {
		b.straight += compileTrap
	}
	if b.dead > 0 {
		return
	}
	if memory {
		b.access()
	}
	b.move(effect(opcodeVector | uint16(sub)))
}

// call is a call of a function of so many parameters and results.
func (c *complexity) call(params, results int, indirect bool) {
	b := &c.body
	b.uses += 1 + params
	b.straight += compileMany + (params+results)*compileArg + c.mutable*compileReload
	if indirect {
		b.straight += 2 * compileTrap
	}
	if b.dead > 0 {
		return
	}
	b.calls++
	b.handed = max(b.handed, params+results)
	b.walks += b.here.known
	if indirect {
		params++
	}
	b.move(params, results)
}

// block is block, loop or if.
func (c *complexity) block(op uint16, params, results int) {
	b := &c.body
	b.straight += compilePlain + (params+results)*compileArg
	if b.dead > 0 {
		b.dead++
		return
	}
	if op == opcodeIf {
		b.move(1, 0)
	}
	b.frames = append(b.frames, frame{
		op: op, params: params, results: results, base: max(0, b.height-params), start: b.here,
	})
	switch op {
	case opcodeLoop:
		b.loop()
	case opcodeIf:
		b.here.step()
		b.add(3)
	default:
		b.add(1)
	}
}

// loop has a head, what follows it, and the blocks of the two charges that rewriting and wazero put
// at the head.
func (b *bodyCost) loop() {
	b.straight += 2*compileMany + b.mutable*compileReload
	b.walks += b.here.known
	b.loops++
	b.maxLoops = max(b.maxLoops, b.loops)
	b.edge(0)
	b.here.step()
	b.here.step()
	b.here.chain = 2
	b.add(5)
}

// edge is a branch to a label, from the end of the block here.
func (b *bodyCost) edge(label int) {
	last := len(b.frames) - 1
	if label < 0 || label > last || b.blocks > maxBlocks { // too many are refused: no sum overflows
		return
	}
	f := &b.frames[last-label]
	args := f.results
	if f.op == opcodeLoop {
		args = f.params
	}
	b.uses += args
	b.straight += args * compileArg
	b.arrivals += f.edges
	b.depths += b.here.depth
	if label < last { // no variable passes a return
		v := b.variables + args
		b.lookups += v * b.here.chain
		b.phis += v * v
		b.meet(f)
	}
	f.edges++
}

// meet joins what is known on all edges to what follows a block. A search for a variable ends there.
func (b *bodyCost) meet(f *frame) {
	switch {
	case f.op == opcodeLoop: // its label stands at its start
	case f.edges == 0:
		f.target = b.here
	default:
		b.aliases++
		f.target = point{depth: min(f.target.depth, b.here.depth), known: min(f.target.known, b.here.known)}
	}
}

// branch is br or br_if.
func (c *complexity) branch(op uint16, label uint32) {
	b := &c.body
	b.uses++
	b.straight += compilePlain
	if b.dead > 0 {
		return
	}
	if op != opcodeBr {
		b.move(1, 0)
	}
	b.edge(int(label))
	if op == opcodeBr {
		b.dead = 1
		return
	}
	b.here.step()
	b.add(2)
}

// brTable has all its labels, the default too. The validator compares all their types.
func (c *complexity) brTable(labels []uint32) {
	b := &c.body
	b.straight += compileMany + len(labels)*compilePlain
	if b.dead > 0 {
		b.straight += len(labels) * compilePlain
		return
	}
	b.move(1, 0)
	b.here.step()
	for _, l := range labels {
		b.add(1)
		b.edge(int(l))
	}
	b.dead = 1
}

// orElse is else.
func (c *complexity) orElse() {
	b := &c.body
	if b.dead > 1 || len(b.frames) == 0 {
		return
	}
	if b.dead == 0 {
		b.edge(0)
	}
	f := &b.frames[len(b.frames)-1]
	f.op = opcodeElse
	b.dead = 0
	b.height = f.base + f.params
	b.here = f.start
	b.here.step()
}

// end ends a block or the function.
func (c *complexity) end() {
	b := &c.body
	if b.dead > 1 || len(b.frames) == 0 {
		b.dead--
		return
	}
	f := &b.frames[len(b.frames)-1]
	if len(b.frames) > 1 {
		b.frames[len(b.frames)-2].sets += f.sets
	}
	if f.op == opcodeLoop { // what follows has no label
		b.loops--
		b.merged += min(f.sets, b.variables)
		f.op, f.edges = opcodeBlock, 0
	}
	if b.dead == 0 {
		b.edge(0)
	}
	if f.op == opcodeIf { // the else that is not written
		b.here = f.start
		b.here.step()
		b.edge(0)
	}
	b.dead = 0
	if f.edges == 0 {
		b.dead = 1
	}
	b.here = f.target
	b.here.step()
	b.height = f.base + f.results
	b.highest = max(b.highest, b.height)
	b.frames = b.frames[:len(b.frames)-1]
}
