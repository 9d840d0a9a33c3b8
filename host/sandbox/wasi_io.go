package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"
)

// Input, output, random numbers and sleep of WASI: the functions whose work the guest can make long.

const (
	stdin  = 0
	stderr = 2

	maxVectors    = 1024     // buffers of one fd_write
	maxEvents     = 64       // subscriptions of one poll_oneoff
	randomPiece   = 64 << 10 // bytes between two looks at the clock
	sizeOfVector  = 8
	sizeOfSub     = 48
	sizeOfEvent   = 32
	characterFile = 2
	rightRead     = 1 << 1
	rightWrite    = 1 << 6
)

func (w *wasiCall) random(ctx context.Context) uint32 {
	at, left := w.u32(0), w.u32(1)
	if (region{at, left}).in(w.mem, "random_get") != nil {
		return wasiFault
	}
	source := w.Random
	if source == nil {
		source = rand.Reader
	}
	piece := make([]byte, min(left, randomPiece))
	for left > 0 {
		n := min(left, randomPiece)
		if _, err := io.ReadFull(source, piece[:n]); err != nil {
			w.stop(HostError, fmt.Errorf("random numbers: %w", err))
		}
		if !put(w.mem, at, piece[:n]) {
			return wasiFault
		}
		at, left = at+n, left-n
		w.alive()
	}
	return wasiOK
}

// standard answers what can be asked of stdin, stdout and stderr: there is nothing to do.
func (w *wasiCall) standard(context.Context) uint32 {
	if w.u32(0) > stderr {
		return wasiBadf
	}
	return wasiOK
}

// status describes the three as a terminal does, so that a C library writes line by line.
func (w *wasiCall) status(context.Context) uint32 {
	if w.u32(0) > stderr {
		return wasiBadf
	}
	var stat [24]byte
	stat[0] = characterFile
	stat[8] = rightWrite
	if w.u32(0) == stdin {
		stat[8] = rightRead
	}
	return fault(put(w.mem, w.u32(1), stat[:]))
}

// read: stdin is at its end.
func (w *wasiCall) read(context.Context) uint32 {
	if w.u32(0) != stdin {
		return wasiBadf
	}
	return fault(put32(w.mem, w.u32(3), 0))
}

func (w *wasiCall) seek(context.Context) uint32 {
	if w.u32(0) > stderr {
		return wasiBadf
	}
	return wasiSpipe
}

// write takes stdout and stderr alike. The guest is told that all was written, whatever is dropped.
func (w *wasiCall) write(context.Context) uint32 {
	if fd := w.u32(0); fd == stdin || fd > stderr {
		return wasiBadf
	}
	n := w.u32(2)
	if n > maxVectors {
		return wasiInval
	}
	list, ok := view(w.mem, region{w.u32(1), n * sizeOfVector})
	if !ok {
		return wasiFault
	}
	var total uint64
	for v := bytes.Clone(list); len(v) > 0; v = v[sizeOfVector:] {
		g := region{binary.LittleEndian.Uint32(v), binary.LittleEndian.Uint32(v[4:])}
		said, ok := view(w.mem, g)
		if !ok {
			return wasiFault
		}
		total += uint64(len(said))
		if !w.output.said { // that more is dropped; one byte beyond what is left, for that notice
			_, _ = w.output.Write(bytes.Clone(said[:min(len(said), w.output.left+1)]))
		}
	}
	if total > 1<<31 {
		return wasiInval
	}
	return fault(put32(w.mem, w.u32(3), uint32(total)))
}

// poll waits for the first clock of its subscriptions; the three files are always ready.
func (w *wasiCall) poll(ctx context.Context) uint32 {
	n := w.u32(2)
	if n == 0 || n > maxEvents {
		return wasiInval
	}
	list, ok := view(w.mem, region{w.u32(0), n * sizeOfSub})
	if !ok || (region{w.u32(1), n * sizeOfEvent}).in(w.mem, "poll_oneoff") != nil {
		return wasiFault
	}
	list = bytes.Clone(list)
	var waits []time.Duration
	for s := list; len(s) > 0; s = s[sizeOfSub:] {
		wait, known := w.waitOf(s)
		if !known {
			return wasiInval
		}
		waits = append(waits, wait)
	}
	first := slices.Min(waits)
	w.sleep(ctx, first)
	var events []byte
	for i, wait := range waits {
		if wait == first {
			events = append(events, event(list[i*sizeOfSub:])...)
		}
	}
	count := uint32(len(events) / sizeOfEvent)
	return fault(put(w.mem, w.u32(1), events) && put32(w.mem, w.u32(3), count))
}

// waitOf reads a subscription: how long it waits.
func (c *call) waitOf(s []byte) (wait time.Duration, known bool) {
	if kind := s[8]; kind != 0 { // 1 and 2: a file is ready for reading or writing
		return 0, kind <= 2
	}
	until := binary.LittleEndian.Uint64(s[24:])
	now, known := c.clock(binary.LittleEndian.Uint32(s[16:]))
	if absolute := s[40]&1 != 0; absolute {
		until -= min(now, until)
	}
	return time.Duration(min(until, 1<<62)), known
}

func event(s []byte) []byte {
	e := make([]byte, sizeOfEvent)
	copy(e, s[:8])
	e[10] = s[8]
	if fd := binary.LittleEndian.Uint32(s[16:]); s[8] != 0 && fd > stderr {
		e[8] = wasiBadf
	}
	return e
}

// sleep ends the guest if the call ends while it sleeps.
func (c *call) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		c.stopDone()
	}
}
