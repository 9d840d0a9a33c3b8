package sandbox

import "slices"

// Go's linker writes a data segment for each run of bytes between zeros: 20,000 to 36,000 in a small
// guest, and making an instance costs time for each. Neighbours are joined over a gap of zeros, which
// changes nothing as long as no earlier segment has written there: the gap is zero already.
//
// Joined are active segments of the module's own memory at constant addresses, in modules where no
// instruction names a segment by number.

const (
	maxGap   = 64 // zeros that a joint may cost
	maxAreas = 32 // of what earlier segments wrote, kept apart from one another
)

// segment is a data segment.
type segment struct {
	at       uint64
	bytes    []byte
	constant bool // active, in memory 0, at a constant address
}

func (s segment) end() uint64 { return s.at + uint64(len(s.bytes)) }

func (w *rewriting) dataSection(body []byte) []byte {
	if body == nil || w.namesData || w.dataCount >= 0 || w.imported(kindMemory) > 0 {
		return body
	}
	r := &reader{data: body}
	j := joiner{out: make([]byte, 0, len(body)+len(body)/8)}
	count := r.u32()
	for n := range count {
		s := w.readSegment(r)
		if !s.constant {
			return body
		}
		switch {
		case n == 0:
			j.run.at = s.at
		case !j.joins(s):
			j.flush()
			j.run = segment{at: s.at}
		}
		j.run.bytes = append(j.run.bytes, make([]byte, s.at-j.run.end())...)
		j.run.bytes = append(j.run.bytes, s.bytes...)
	}
	if count > 0 {
		j.flush()
	}
	return append(appendU32(nil, j.segments), j.out...)
}

// area is a part of memory that segments before the current run may have written.
type area struct{ from, to uint64 }

// joiner joins segments into runs.
type joiner struct {
	run      segment
	areas    []area
	out      []byte
	segments uint32
}

// joins tells whether a segment continues the run.
func (j *joiner) joins(s segment) bool {
	end := j.run.end()
	if s.at < end || s.at-end > maxGap || len(s.bytes) == 0 || len(j.run.bytes) == 0 { // an empty one may trap
		return false
	}
	return !slices.ContainsFunc(j.areas, func(a area) bool { return a.from < s.at && end < a.to })
}

func (j *joiner) flush() {
	j.out = appendSigned(append(j.out, 0, opcodeI32Const), int64(int32(uint32(j.run.at))))
	j.out = appendSized(append(j.out, opcodeEnd), j.run.bytes)
	j.segments++
	j.areas = append(j.areas, area{j.run.at, j.run.end()})
	if len(j.areas) > maxAreas { // taken together, which can only join less
		all := j.areas[0]
		for _, a := range j.areas {
			all = area{min(all.from, a.from), max(all.to, a.to)}
		}
		j.areas = append(j.areas[:0], all)
	}
}

// readSegment reads an entry of the data section, which is well formed.
func (w *rewriting) readSegment(r *reader) segment {
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
