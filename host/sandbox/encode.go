package sandbox

// Writing of the binary format: numbers, vectors, and sections that stay as they are but for the
// indexes of functions.

// Numeric instructions that the rewriting writes.
const (
	i32LtU  = 0x49
	i32GtU  = 0x4b
	i64GtU  = 0x56
	i64GeS  = 0x59
	i32Add  = 0x6a
	i32Sub  = 0x6b
	i32Or   = 0x72
	i64Add  = 0x7c
	i64Sub  = 0x7d
	i64DivU = 0x80
	i64Or   = 0x84
	i64Shl  = 0x86
	i64Wide = 0xad // i64.extend_i32_u
)

// moved rewrites a section's body: visit reads it and names the function indexes in it.
func (w *rewriting) moved(body []byte, visit func(*splice)) []byte {
	p := &splice{reader: &reader{data: body}, move: w.functionIndex}
	visit(p)
	p.keep()
	return p.out
}

// splice copies what it reads, but for function indexes, which are moved.
type splice struct {
	*reader
	move func(uint32) uint32
	out  []byte
	mark int // what was read before it is in out
}

func (p *splice) keep() {
	p.out = append(p.out, p.data[p.mark:p.pos]...)
	p.mark = p.pos
}

func (p *splice) function() {
	p.keep()
	p.out = appendU32(p.out, p.move(p.u32()))
	p.mark = p.pos
}

// constant reads over a constant expression.
func (p *splice) constant() {
	switch op := p.byte(); op {
	case opcodeRefFunc:
		p.function()
	case opcodeGlobalGet:
		p.u32()
	case opcodeRefNull:
		p.byte()
	case prefixVector:
		p.u32()
		p.take(16)
	default:
		p.readNumber(op)
	}
	p.byte() // end
}

// element reads over one element segment; see sections.readElements.
func (p *splice) element() {
	flags := p.u32()
	if flags&1 == 0 {
		if flags&2 != 0 {
			p.u32()
		}
		p.constant()
	}
	if flags&3 != 0 {
		p.byte()
	}
	for range p.u32() {
		if flags&4 != 0 {
			p.constant()
		} else {
			p.function()
		}
	}
}

func appendU32(out []byte, n uint32) []byte {
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

func appendSigned(out []byte, n int64) []byte {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && b&0x40 == 0) || (n == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func appendSized(out, body []byte) []byte {
	return append(appendU32(out, uint32(len(body))), body...)
}

func appendExport(out []byte, name string, global uint32) []byte {
	out = appendSized(out, []byte(name))
	return appendU32(append(out, kindGlobal), global)
}
