package sandbox

// linearMemory backs one instance's memory (S8). wazero would refuse growth at its own limit without
// a word; this one remembers that it refused. Growth beyond four gigabytes or beyond the module's own
// declared maximum is refused by wazero first, and is not remembered: that is the module's bound, not ours.
//
// A small memory is Go's, because the pages of a call before are warm. One that grows large is mapped whole,
// so that growing copies no more: what copies a gigabyte keeps the call beyond its deadline. One that will be put back is
// mapped too, where the kernel can be asked what of it was written.
type linearMemory struct {
	limit   uint64 // bytes
	bytes   []byte
	use     memoryUse
	mapped  []byte
	track   bool  // it is to be mapped, so that it can be watched
	watched bool  // the tracker knows what of it was written
	call    *call // that runs; nil: none does
}

// memoryUse is what a call did with its memory.
type memoryUse struct {
	most    int64 // the largest size that it had, bytes
	refused bool  // it was refused some
}

// largeMemory is the size from which a memory is mapped: clearing and copying so much takes tens of milliseconds.
const largeMemory = 32 << 20

// Reallocate implements experimental.LinearMemory; nil is a refusal. A new instance's minimum was held
// against the limit when the module was compiled, so it is never refused here.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.use.refused = true
		return nil
	}
	if size > uint64(cap(m.bytes)) {
		if m.call != nil { // a copy of all the memory takes some time
			m.call.alive()
		}
		grown := m.room(size)
		copy(grown, m.bytes)
		m.bytes = grown
	}
	m.bytes = m.bytes[:size]
	m.use.most = int64(size)
	return m.bytes
}

// room makes a place for size bytes and some more.
func (m *linearMemory) room(size uint64) []byte {
	if size > largeMemory || m.track && m.mapped == nil && size >= smallestWatched {
		if mapped, err := mapMemory(m.limit); err == nil {
			m.mapped = mapped
			return mapped[:size]
		}
	}
	room := size
	if m.call != nil && len(m.bytes) > 0 { // a guest that grows: Go's runtime asks for a few pages many times
		room = min(m.limit, size+size/4)
	}
	return make([]byte, size, room)
}

// held is what the memory takes, in bytes. Of one that is mapped the rest was never touched.
func (m *linearMemory) held() int64 {
	if m.mapped != nil {
		return int64(len(m.bytes))
	}
	return int64(cap(m.bytes))
}

// Free implements experimental.LinearMemory. Go frees its own bytes.
func (m *linearMemory) Free() {
	m.bytes = nil
	if m.mapped != nil {
		go unmapMemory(m.mapped) // a gigabyte of pages takes tens of milliseconds, and nobody need wait
		m.mapped = nil
	}
}
