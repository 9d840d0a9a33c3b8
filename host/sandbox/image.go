package sandbox

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"
)

// An image is the state from which every call of a module starts: its memory and globals after _initialize and
// warm_up. An instance whose call has ended well is put back to it: what differs is copied, so that what a call has
// touched costs, and not what a module has. Comparing a megabyte takes some 40 us, and a page that is touched for the
// first time 10.
type image struct {
	blocks   [][]byte        // the memory, blockSize bytes each; those without anything in them are all the same one
	globals  []uint64        // in the order of Module.globals
	use      memoryUse       // of memory while it was initialised
	restored atomic.Uint64   // how often an instance was, by what the tracker says
	heat     []atomic.Uint32 // how many calls have written each block, as far as that matters
}

// blockSize is a page of the machine: what is copied whole.
const blockSize = 4 << 10

var noBlock [blockSize]byte

// largestImage bounds it in bytes: to look through more takes longer than to make an instance of nothing.
const largestImage = largeMemory

// newImage keeps the state of an instance, if the context does not end before: memory that was never touched is slow to read.
func newImage(ctx context.Context, i *instance) (*image, error) {
	m := &image{use: i.memory.use}
	for at := 0; at < len(i.memory.bytes); at += blockSize {
		if err := ctx.Err(); at%(256*blockSize) == 0 && err != nil {
			return nil, err
		}
		block := i.memory.bytes[at : at+blockSize]
		if bytes.Equal(block, noBlock[:]) {
			block = noBlock[:]
		} else {
			block = bytes.Clone(block)
		}
		m.blocks = append(m.blocks, block)
	}
	for _, g := range i.globals {
		m.globals = append(m.globals, g.Get())
	}
	m.heat = make([]atomic.Uint32, len(m.blocks))
	return m, nil
}

// size is the memory of an instance in bytes.
func (m *image) size() int { return len(m.blocks) * blockSize }

// restore puts an instance back. Its memory has the image's size.
func (m *image) restore(i *instance) {
	if !i.memory.watched || distrusted.Load() || m.restoreWritten(i) != nil {
		i.memory.watched = false
		m.putBlocks(i.memory.bytes, 0, m.size())
	} else if m.restored.Add(1)%checkEvery == 0 && m.putBlocks(i.memory.bytes, 0, m.size()) > 0 {
		distrusted.Store(true)
	}
	for n, g := range i.globals {
		g.Set(m.globals[n])
	}
	i.stale = false
	i.memory.use = memoryUse{most: int64(m.size()), refused: m.use.refused}
}

// After so many calls of a module all of an instance is compared, whatever the tracker says. If it has ever missed anything, it is
// asked no more.
const checkEvery = 256

var distrusted atomic.Bool

// putBlocks puts back what differs between two places of a memory, and says how many blocks did.
func (m *image) putBlocks(memory []byte, from, to int) (differed int) {
	for at := from; at < to; at += blockSize {
		if have, block := memory[at:][:blockSize], m.blocks[at/blockSize]; !bytes.Equal(have, block) {
			putLines(have, block)
			differed++
		}
	}
	return differed
}

// hotFrom is how many calls must have written a block for it to be compared after each, and not be watched any more: the first write to
// a watched page takes a call a microsecond.
const hotFrom = 3

// restoreWritten puts back what was written since the blocks were put back.
func (m *image) restoreWritten(i *instance) error {
	memory, t := i.memory.bytes, theTracker()
	var failed error
	err := t.written(memory, func(from, to int) {
		m.putBlocks(memory, from, to)
		for at := from; at < to; at += blockSize {
			heat := &m.heat[at/blockSize]
			if heat.Load() < hotFrom && heat.Add(1) < hotFrom && failed == nil {
				failed = t.unwritten(memory[at:][:blockSize])
			}
		}
	})
	return errors.Join(err, failed)
}

// watch has the tracker note from now on what is written.
func (m *image) watch(i *instance) {
	if i.memory.mapped != nil && i.memory.track {
		i.memory.watched = theTracker().watch(i.memory.bytes) == nil
	}
}

// putLines copies the lines of a block that differ. Those that do not stay in the cache of the processor that has run the call and will
// run the next.
func putLines(have, block []byte) {
	const line = 64
	for at := 0; at < blockSize; at += line {
		if old := block[at:][:line]; !bytes.Equal(have[at:][:line], old) {
			copy(have[at:], old)
		}
	}
}

// fits says whether an instance can be put back: its memory has not grown.
func (m *image) fits(i *instance) bool { return len(i.memory.bytes) == m.size() }

// grow gives a new instance the image's size.
func (m *image) grow(memory api.Memory) bool {
	more := m.size() - int(memory.Size())
	if more <= 0 {
		return more == 0
	}
	_, ok := memory.Grow(uint32(more / pageSize))
	return ok
}

// imageCell holds an image, once a call has made it.
type imageCell struct {
	made atomic.Pointer[image]
	none atomic.Bool   // there is no use in making one
	turn chan struct{} // holds one while a call makes it
}

// image gives the module's image; nil: there is none yet, or there never is one.
func (m *Module) image() *image {
	if m.compiled.Load() == nil {
		return nil
	}
	return m.cell.made.Load()
}

// take gives a call an instance that stands where calls start.
func (m *Module) take(c *call) (*instance, error) {
	i, err := m.pool.get(m, c)
	if err != nil {
		return nil, err
	}
	switch {
	case i.guest == nil:
		err = m.make(i, c)
	case i.stale:
		m.image().restore(i)
	}
	if err != nil {
		m.pool.give(m, i, false)
		return nil, err
	}
	return i, nil
}

// make makes an instance: from the image; or else anew, and if the module can have an image, it is made of that one.
func (m *Module) make(i *instance, c *call) error {
	if m.cell.none.Load() {
		return m.makeNew(i, c)
	}
	if made, err := m.makeImage(i, c); made || err != nil {
		return err
	}
	if err := m.instantiate(&c.ctx, i); err != nil {
		return err
	}
	if !m.image().grow(i.guest.Memory()) {
		return errors.New("an instance was refused the memory of its image")
	}
	m.image().restore(i)
	m.image().watch(i)
	return nil
}

// makeImage makes an instance and the image of it, if there is none. Others that need it wait.
func (m *Module) makeImage(i *instance, c *call) (made bool, err error) {
	if m.image() != nil {
		return false, nil
	}
	select {
	case m.cell.turn <- struct{}{}:
	case <-c.ctx.Done():
		return false, c.ctx.Err()
	}
	defer func() { <-m.cell.turn }()
	if m.image() != nil {
		return false, nil
	}
	if err := m.makeNew(i, c); err != nil {
		return false, err
	}
	if len(i.memory.bytes) > largestImage {
		m.cell.none.Store(true)
		return true, nil
	}
	image, err := newImage(&c.ctx, i)
	if err == nil {
		image.watch(i)
	}
	m.cell.made.Store(image)
	return err == nil, err
}

// makeNew makes an instance and initialises it: with no session and no grant, within the bounds of a call. What the guest
// says counts with what it says in the call. Random numbers and clocks are the real ones: who comes first must not choose for all.
func (m *Module) makeNew(i *instance, c *call) error {
	given := c.Call
	given.Random, given.Clock = nil, nil
	first := m.newCall(c.ctx.Context, given, c.turn)
	defer first.ctx.close()
	first.Functions, first.deadline, first.output = initialising{first}, c.deadline, c.output
	defer func() { c.output = first.output }()
	err := m.instantiate(&first.ctx, i)
	if err == nil {
		err = i.initialize(first)
	}
	if err = first.verdict(0, err); err != nil {
		c.used, c.memory = first.used, i.memory.use
	}
	return err
}

// initialising answers a guest that is not called yet.
type initialising struct{ *call }

// Call implements Functions: a line of the log goes to the operator, and all else is denied.
func (c initialising) Call(_ context.Context, module, function string, request []byte) (Status, []byte, error) {
	if module == logModule && function == logFunction {
		_, _ = c.output.to.Write(append(request, '\n')) // it was counted
		return OK, nil, nil
	}
	return Denied, []byte(`{"error":"nothing is granted while the module is initialised; ask in run"}`), nil
}

// TooLong implements Functions.
func (initialising) TooLong(string, string, int64) error { return nil }
