package sandbox

// Go's linker writes a data segment for each run of bytes between zeros: 20,000 to 36,000 in a small
// guest, and making an instance costs time for each. Neighbours are joined over a gap of zeros, which
// changes nothing: the gap has never been written, so that it is zero already.
//
// Joined are active segments of the module's own memory at constant addresses, each of them after the
// end of all before it, in modules where no instruction names a segment by number.

const (
	maxGap    = 64       // zeros that a joint may cost
	maxJoined = 64 << 10 // bytes of a joined segment
)

// segment is a data segment.
type segment struct {
	at, size uint64
	raw      []byte // as it stands
	bytes    []byte
	constant bool // active, in memory 0, at a constant address
}

func (w *rewriting) dataSection(body []byte) []byte {
	if body == nil || w.namesData || w.dataCount >= 0 || w.imported(kindMemory) > 0 {
		return body
	}
	r := &reader{data: body}
	var out, joined []byte
	n := uint32(0)
	end, begin := uint64(0), uint64(0) // of all before; of what is being joined
	flush := func() {
		if len(joined) > 0 {
			out = appendSegment(out, begin, joined)
			joined = joined[:0]
			n++
		}
	}
	for range r.u32() {
		s := w.readSegment(r)
		if !s.constant {
			return body
		}
		if len(joined) > 0 && s.at >= end && s.at-end <= maxGap && len(joined)+len(s.bytes)+maxGap <= maxJoined {
			joined = append(joined, make([]byte, s.at-end)...)
			joined = append(joined, s.bytes...)
			end = s.at + s.size
			continue
		}
		flush()
		begin, end = s.at, max(end, s.at+s.size)
		joined = append(joined, s.bytes...)
		if len(s.bytes) == 0 || s.at+s.size < end { // an empty one may trap too; one behind others joins nothing
			out = append(out, s.raw...)
			joined = joined[:0]
			n++
		}
	}
	flush()
	return append(appendU32(nil, n), out...)
}

// readSegment reads an entry of the data section, which is well formed.
func (w *rewriting) readSegment(r *reader) segment {
	begin := r.pos
	s := segment{}
	if kind := r.u32(); kind == 0 && r.data[r.pos] == opcodeI32Const {
		r.byte()
		s.at, s.constant = uint64(uint32(r.signed32())), true
		r.byte()
	} else if kind != 1 {
		if kind == 2 {
			r.u32()
		}
		w.constant(r)
	}
	s.bytes = r.take(r.u32())
	s.size = uint64(len(s.bytes))
	s.raw = r.data[begin:r.pos]
	return s
}

// signed32 reads a signed LEB128 number whose form was checked before.
func (r *reader) signed32() int32 {
	var n int64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		n |= int64(b&0x7f) << shift
		if b < 0x80 || shift > 28 {
			if b&0x40 != 0 {
				n |= -1 << (shift + 7)
			}
			return int32(n)
		}
	}
}

func appendSegment(out []byte, at uint64, bytes []byte) []byte {
	out = appendSigned(append(out, 0, opcodeI32Const), int64(int32(uint32(at))))
	return appendSized(append(out, opcodeEnd), bytes)
}
