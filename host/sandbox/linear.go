package sandbox

// linearMemory backs one instance's memory (S8). wazero would refuse growth at its own limit without
// a word; this one remembers that it refused. Growth beyond four gigabytes or beyond the module's own
// declared maximum is refused by wazero first, and is not remembered: that is the module's bound, not ours.
type linearMemory struct {
	limit   uint64 // bytes
	bytes   []byte
	refused bool
	alive   func() // looks whether the call's time is over: a copy of all the memory takes some
}

// Reallocate implements experimental.LinearMemory; nil is a refusal. A new instance's minimum was held
// against the limit when the module was compiled, so it is never refused here.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	if size > uint64(cap(m.bytes)) {
		m.alive()
		room := size
		if len(m.bytes) > 0 { // growing: Go's runtime asks for a few pages many times
			room = min(m.limit, size+size/4)
		}
		grown := make([]byte, size, room)
		copy(grown, m.bytes)
		m.bytes = grown
	}
	m.bytes = m.bytes[:size]
	return m.bytes
}

// Free implements experimental.LinearMemory. The size stays readable for Usage; Go frees the bytes.
func (m *linearMemory) Free() {}
