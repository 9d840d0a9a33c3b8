package sandbox

import "fmt"

// function rewrites one body.
func (w *rewriting) function(n int) []byte {
	typ, body := w.functions[w.imports+n], w.bodies[n]
	if w.leaves[n] > 0 {
		return body // others pay for it
	}
	c := w.code
	r := &reader{data: body}
	w.readBody(r, typ, c)
	if r.err != nil {
		panic(fmt.Sprintf("a function that was read cannot be read again: %v", r.err))
	}
	f := functionWriter{rewriting: w, body: body, frame: int64(w.frames[n]), charges: w.plan(c)}
	f.out = make([]byte, 0, len(body)+len(body)/4+32)
	f.out = append(f.out, body[:c.start]...)
	f.enter(typ)
	for n := range c.instructions {
		f.step(n)
	}
	return f.out
}

// functionWriter writes the body of one function.
type functionWriter struct {
	*rewriting
	body    []byte
	out     []byte
	charges []charge
	frame   int64 // bytes of stack; 0: it starts no other frame and is not counted
	depth   int   // blocks that are open inside the function
}

// enter takes the frame from the stack, writes the first charge, and opens the block that every way out leads through.
func (f *functionWriter) enter(typ uint32) {
	if f.frame > 0 {
		f.addTo(f.stack, -f.frame)
	}
	f.charge()
	if f.frame > 0 {
		f.out = append(f.out, opcodeBlock)
		f.out = f.appendBlockType(f.out, f.types.list[typ].results)
	}
}

// addTo emits: global n = global n + k.
func (f *functionWriter) addTo(global uint32, k int64) {
	f.out = appendU32(append(f.out, opcodeGlobalGet), global)
	f.out = appendSigned(append(f.out, opcodeI64Const), k)
	f.out = append(f.out, i64Add)
	f.out = appendU32(append(f.out, opcodeGlobalSet), global)
}

// charge emits the next charge, and the look where it has one.
func (f *functionWriter) charge() {
	c := f.charges[0]
	f.charges = f.charges[1:]
	if c.cost > 0 {
		f.addTo(f.fuel, -int64(c.cost))
	}
	f.lookIfUsedUp(c.look, c.at == 0 && f.frame > 0)
}

// lookIfUsedUp emits: if the one, the other or one of both is used up then look. The condition stands so
// that the code for the rare case is not in the way of the other.
func (f *functionWriter) lookIfUsedUp(fuel, stack bool) {
	switch {
	case fuel && stack:
		f.get(f.fuel)
		f.get(f.stack)
		f.out = append(f.out, i64Or) // negative if one of them is
	case fuel:
		f.get(f.fuel)
	case stack:
		f.get(f.stack)
	default:
		return
	}
	f.out = append(f.out, opcodeI64Const, 0, i64GeS, opcodeIf, blockEmpty, opcodeElse)
	f.out = appendU32(append(f.out, opcodeCall), f.ask)
	f.out = append(f.out, opcodeEnd)
}

func (f *functionWriter) get(global uint32) {
	f.out = appendU32(append(f.out, opcodeGlobalGet), global)
}

// step writes instruction n and the charges that come after it.
func (f *functionWriter) step(n int) {
	i := &f.code.instructions[n]
	switch i.op {
	case opcodeBlock, opcodeLoop, opcodeIf:
		f.depth++
		f.keep(i)
	case opcodeEnd:
		f.end(i)
	case opcodeReturn:
		f.leave(i)
	case opcodeCall:
		f.out = appendU32(append(f.out, opcodeCall), f.functionIndex(i.a))
	case opcodeRefFunc:
		// wazero leaves to Go for each ref.func, and makes a new reference that it keeps as long as the instance:
		// memory outside of every bound. A table has each of them once.
		f.out = appendSigned(append(f.out, opcodeI32Const), int64(f.refs.number(i.a)))
		f.out = appendU32(append(f.out, opcodeTableGet), uint32(len(f.tables)))
	default:
		if call, ok := f.bulk(i); ok {
			f.out = appendU32(append(f.out, opcodeCall), call)
		} else {
			f.keep(i)
		}
	}
	for len(f.charges) > 0 && f.charges[0].at == n+1 {
		f.charge()
	}
}

func (f *functionWriter) keep(i *instruction) { f.out = append(f.out, f.body[i.at:i.end]...) }

// end closes a block; the last one is the function's.
func (f *functionWriter) end(i *instruction) {
	f.keep(i)
	if f.depth--; f.depth < 0 && f.frame > 0 {
		f.addTo(f.stack, f.frame)
		f.out = append(f.out, opcodeEnd)
	}
}

// leave writes a return, which becomes a branch to the block around the function.
func (f *functionWriter) leave(i *instruction) {
	if f.frame == 0 {
		f.keep(i)
		return
	}
	f.out = appendU32(append(f.out, opcodeBr), uint32(f.depth))
}
