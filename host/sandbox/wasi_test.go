package sandbox

import (
	"encoding/binary"
	"testing"
)

// TestWASIBounds: one call does no more than a bounded piece of work.
func TestWASIBounds(t *testing.T) {
	for _, c := range []struct {
		rule, function string
		n              int64
		want           int32
	}{
		{"most-buffers", "fd_write", maxVectors, wasiOK},
		{"a-buffer-too-many", "fd_write", maxVectors + 1, wasiInval},
		{"most-subscriptions", "poll_oneoff", maxEvents, wasiOK},
		{"a-subscription-too-many", "poll_oneoff", maxEvents + 1, wasiInval},
		{"no-subscription", "poll_oneoff", 0, wasiInval},
	} {
		t.Run(c.rule, func(t *testing.T) {
			g := newGuest().wasi(c.function, 4)
			first := int64(1) // stdout; of poll_oneoff where its subscriptions are: clocks that are over
			g.run(i32(first), i32(1), i32(c.n), i32(1<<15), callTo(0))
			if c.function == "poll_oneoff" {
				g = newGuest().wasi(c.function, 4)
				g.run(i32(0), i32(1<<14), i32(c.n), i32(1<<15), callTo(0))
			}
			if _, code, err := hostileModule(t, g).Run(t.Context(), bounds(&answers{})); err != nil || code != c.want {
				t.Errorf("%d %v, want %d", code, err, c.want)
			}
		})
	}
}

// TestWASIEnvironment: there is one variable, and it is not the host's.
func TestWASIEnvironment(t *testing.T) {
	t.Setenv("SECRET", "of-the-host")
	g := newGuest().imp("toolhost", "result").wasi("environ_get", 2)
	g.run(i32(0), i32(64), callTo(1), opDrop, g.ask("toolhost.result", 0, 128, 0, 0), opDrop, i32(0))
	f := &answers{}
	if _, _, err := hostileModule(t, g).Run(t.Context(), bounds(f)); err != nil || len(f.calls) != 1 {
		t.Fatal(err, f.calls)
	}
	memory := []byte(f.calls[0][len("toolhost.result "):])
	if at := binary.LittleEndian.Uint32(memory); at != 64 || string(memory[64:64+len(environment)]) != environment {
		t.Errorf("%q", memory)
	}
	for _, b := range memory[64+len(environment):] {
		if b != 0 {
			t.Errorf("more than the one variable: %q", memory)
		}
	}
}
