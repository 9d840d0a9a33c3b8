package sandbox

import (
	"fmt"
	"sync"
)

// Which pages of its memory a call has written is what the kernel knows, where it can be asked (written_linux.go): then
// putting an instance back takes as long as what was written is large, and not as long as its memory is. Elsewhere all of the memory is compared
// with the image, which is always right.

// tracker asks the kernel.
type tracker interface {
	// watch begins with a mapping of whole pages, of which none counts as written.
	watch(memory []byte) error
	// written calls f with each run of pages that were written since they were last unwritten, from byte to byte.
	written(memory []byte, f func(from, to int)) error
	// unwritten makes the pages count as not written.
	unwritten(pages []byte) error
}

// smallestWatched is the least memory for which to ask is cheaper than to compare.
var smallestWatched uint64 = 256 << 10 // tests lower it

// Tracking says how what a call has written is found.
func Tracking() string {
	if theTracker() == nil || distrusted.Load() {
		return "by comparing all of its memory"
	}
	return "by the pages that the kernel has seen written"
}

// theTracker is nil where the kernel cannot be asked, or does not answer rightly.
var theTracker = sync.OnceValue(func() tracker {
	t, err := newTracker()
	if err != nil || tracks(t) != nil {
		return nil
	}
	return t
})

// tracks makes the tracker show that it sees each write and no other, once written pages count as not written again too.
func tracks(t tracker) error {
	const pages = 8
	memory, err := mapMemory(pages * blockSize)
	if err != nil {
		return err
	}
	defer unmapMemory(memory)
	memory[3*blockSize] = 1
	if err := t.watch(memory); err != nil {
		return err
	}
	for _, want := range []uint8{0b00000000, 0b10001001, 0b00000010, 0b01110000} {
		for n := range pages {
			if want>>n&1 == 1 {
				memory[n*blockSize+n]++
			}
		}
		got := uint8(0)
		err := t.written(memory, func(from, to int) {
			for at := from; at < to; at += blockSize {
				got |= 1 << (at / blockSize)
			}
		})
		if err != nil || got != want {
			return fmt.Errorf("of %08b the pages %08b are said to be written: %w", want, got, err)
		}
		if err := t.unwritten(memory); err != nil {
			return err
		}
	}
	return nil
}
