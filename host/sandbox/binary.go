package sandbox

import (
	"fmt"
	"unicode/utf8"
)

// reader reads WebAssembly's binary format (core specification 2.0, chapter 5). Its first error
// stays; after it every read gives zero. Nothing is allocated by a count that the bytes name.
type reader struct {
	data   []byte
	pos    int
	offset int // of data in the module, for error texts
	err    error
}

func (r *reader) left() int { return len(r.data) - r.pos }

func (r *reader) more() bool { return r.err == nil && r.left() > 0 }

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: %s", r.offset+r.pos, fmt.Sprintf(format, args...))
	}
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.left() < 1 {
		r.fail("the bytes end too early")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

// take gives the next n bytes, a view and no copy.
func (r *reader) take(n uint32) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(n) > uint64(r.left()) {
		r.fail("%d bytes announced, %d left", n, r.left())
		return nil
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// part gives a reader for the next n bytes, so that what is inside cannot read beyond them.
func (r *reader) part(n uint32) *reader {
	offset := r.offset + r.pos
	return &reader{data: r.take(n), offset: offset, err: r.err}
}

// end fails if bytes are left, and hands the error to the reader outside.
func (r *reader) end(outer *reader) {
	if r.err == nil && r.left() > 0 {
		r.fail("%d bytes too many", r.left())
	}
	if outer.err == nil {
		outer.err = r.err
	}
}

// u32 reads an unsigned LEB128 number: at most five bytes, no bit beyond the 32nd (section 5.2.2).
func (r *reader) u32() uint32 {
	var n uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if shift == 28 && b > 0x0f {
			r.fail("a number is longer than 32 bits")
			return 0
		}
		n |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	return n
}

// skipSigned reads over a signed LEB128 number of the given bits; the last byte's unused bits
// must repeat the sign.
func (r *reader) skipSigned(bits int) {
	for left := bits; ; left -= 7 {
		b := r.byte()
		if left < 7 {
			sign := int8(b<<1) >> left // the sign bit and what stands above it, bit 7 left out
			if b >= 0x80 || (sign != 0 && sign != -1) {
				r.fail("a number is longer than %d bits", bits)
			}
			return
		}
		if b < 0x80 {
			return
		}
	}
}

// count reads the length of a vector. Each element takes a byte or more, so a count beyond what
// is left is a lie; and none may pass the given limit (S1).
func (r *reader) count(what string, limit int) uint32 {
	n := r.u32()
	if r.err == nil && uint64(n) > uint64(limit) {
		r.fail("%d %s, at most %d are allowed", n, what, limit)
	}
	if r.err == nil && uint64(n) > uint64(r.left()) {
		r.fail("%d %s announced in %d bytes", n, what, r.left())
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *reader) name() string {
	b := r.take(r.count("bytes of a name", maxName))
	if !utf8.Valid(b) {
		r.fail("a name is not valid UTF-8")
	}
	return string(b)
}

// limits are those of a memory or table: pages or elements.
type limits struct {
	min, max uint32
	hasMax   bool
	shared   bool
}

func (r *reader) limits() limits {
	var l limits
	switch flag := r.byte(); flag {
	case 0, 2:
		l = limits{min: r.u32(), shared: flag == 2}
	case 1, 3:
		l = limits{min: r.u32(), max: r.u32(), hasMax: true, shared: flag == 3}
	case 4, 5, 6, 7:
		r.fail("64-bit memories and tables are not supported")
	default:
		r.fail("limits start with 0x%02x", flag)
	}
	if l.hasMax && l.max < l.min {
		r.fail("the maximum %d is below the minimum %d", l.max, l.min)
	}
	return l
}

// Value types of CoreFeaturesV2 (section 5.3).
const (
	typeI32       = 0x7f
	typeI64       = 0x7e
	typeF32       = 0x7d
	typeF64       = 0x7c
	typeV128      = 0x7b
	typeFuncref   = 0x70
	typeExternref = 0x6f
)

func (r *reader) valueType() byte {
	t := r.byte()
	if valueName(t) == "" {
		r.fail("0x%02x is no value type", t)
	}
	return t
}

func (r *reader) refType() byte {
	t := r.byte()
	if t != typeFuncref && t != typeExternref {
		r.fail("0x%02x is no reference type", t)
	}
	return t
}

// below reads an index of something of which there are n.
func (r *reader) below(what string, n int) uint32 {
	index := r.u32()
	if r.err == nil && uint64(index) >= uint64(n) {
		r.fail("%s %d does not exist, there are %d", what, index, n)
	}
	return index
}

// constant reads over a constant expression: exactly one instruction and its end.
func (s *sections) constant(r *reader) {
	switch op := r.byte(); op {
	case opcodeI32Const, opcodeI64Const, opcodeF32Const, opcodeF64Const:
		r.readNumber(op)
	case opcodeGlobalGet:
		r.below("global", len(s.globals))
	case opcodeRefFunc:
		s.functionIndex(r)
	case opcodeRefNull:
		r.refType()
	case prefixVector:
		if sub := r.u32(); sub != opcodeV128Const&0xff {
			r.fail("vector instruction %d in a constant expression", sub)
		}
		r.take(16)
	default:
		r.fail("instruction 0x%02x in a constant expression", op)
	}
	if end := r.byte(); end != opcodeEnd {
		r.fail("a constant expression is longer than one instruction")
	}
}

func valueName(t byte) string {
	switch t {
	case typeI32:
		return "i32"
	case typeI64:
		return "i64"
	case typeF32:
		return "f32"
	case typeF64:
		return "f64"
	case typeV128:
		return "v128"
	case typeFuncref:
		return "funcref"
	case typeExternref:
		return "externref"
	default:
		return ""
	}
}
