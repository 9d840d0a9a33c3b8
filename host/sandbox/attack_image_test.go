package sandbox

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// What an attack of the images found, and what mutations showed that nothing held.

// TestAttackNumberOfAnotherCall: what run returned in one call came back beside the error of the next that did not return.
func TestAttackNumberOfAnotherCall(t *testing.T) {
	g := newGuest().imp("records", "get")
	g.run(g.ask("records.get", 0, 0, 0, 0), opHigh, op(0x04, 0x40), opUnreachable, opEndBlock, i32(7))
	m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20, Instances: 1})
	if _, code, err := m.Run(t.Context(), bounds(saying(OK, ""))); err != nil || code != 7 {
		t.Fatal(code, err)
	}
	_, code, err := m.Run(t.Context(), bounds(saying(Denied, "")))
	wantStop(t, err, Trap, "unreachable")
	if code != 0 {
		t.Errorf("a call that trapped returned %d, as the one before did", code)
	}
}

// TestAttackOutputOfInitialisation is S10: what a guest says while it is initialised counts with what it says in the call.
func TestAttackOutputOfInitialisation(t *testing.T) {
	g := newGuest().imp("toolhost", "log").importAs(wasiModule, "fd_write", strings.Repeat(i32Value, 4), i32Value)
	g.bytesAt(0, "\x10\x00\x00\x00\x64\x00\x00\x00") // 100 bytes at 16
	says := slices.Concat(i32(1), i32(0), i32(1), i32(512), callTo(1), opDrop)
	logs := slices.Concat(g.ask("toolhost.log", 16, 100, 0, 0), opDrop)
	for _, c := range []struct {
		name       string
		init, call []byte
		most       int
	}{
		{"written-then-logged", rep(9, says), rep(9, logs), 0},
		{"logged-then-written", rep(9, logs), rep(9, says), 0},
		{"written-twice", rep(9, says), rep(9, says), 0},
	} {
		g := *g
		g.exports, g.functions, g.bodies, g.types = slices.Clone(g.exports), nil, nil, slices.Clone(g.types)
		(&g).export("_initialize", kindFunction, (&g).fn("", "", 0, c.init))
		m := openModule(t, engineOf(t, Options{}), (&g).run(c.call, i32(0)).bytes(), Limits{Memory: 1 << 20})
		for range 2 {
			var said bytes.Buffer
			logged := 0
			call := bounds(&answers{f: func(_ context.Context, _, _ string, request []byte) (Status, []byte, error) {
				logged += len(request)
				return OK, nil, nil
			}})
			call.Output = &said
			if _, _, err := m.Run(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			notice := strings.Count(said.String(), "[the guest said more")
			if n := said.Len() + logged - notice*70; n > call.LogBytes+20 || notice > 1 {
				t.Errorf("%s: %d bytes of %d, and %d notices", c.name, n, call.LogBytes, notice)
			}
		}
	}
}

// TestAttackImageOfOneCallsRandom: the image is for every call, so it is not made of the random numbers and the clock of one.
func TestAttackImageOfOneCallsRandom(t *testing.T) {
	g := newGuest().importAs(wasiModule, "random_get", i32Value+i32Value, i32Value).
		importAs(wasiModule, "clock_time_get", i32Value+i64Value+i32Value, i32Value)
	g.export("_initialize", kindFunction, g.fn("", "", 0, i32(16), i32(4), callTo(0), opDrop, i32(0), op(0x42, 0), i32(24), callTo(1), opDrop))
	g.run(i32(16), op(0x28, 2, 0), i32(24), op(0x28, 2, 0), op(0x6a))
	images := map[int32]bool{}
	for range 3 {
		m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20})
		call := bounds(&answers{})
		call.Random = rand.NewChaCha8([32]byte{})
		call.Clock = func(bool) uint64 { return 7 }
		_, code, err := m.Run(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		images[code] = true
	}
	if len(images) == 1 {
		t.Error("who makes the first call chooses what all later calls have drawn")
	}
}

// TestAttackRefusalOfAnotherCall: that one call was refused memory says nothing of how the next ends; that the module was
// refused some while it was initialised is so in every call.
func TestAttackRefusalOfAnotherCall(t *testing.T) {
	more := slices.Concat(i32(1000), opGrow, opDrop)
	g := newGuest().imp("records", "get")
	g.run(g.ask("records.get", 0, 0, 0, 0), opHigh, op(0x04, 0x40), opUnreachable, opEndBlock, more, i32(0))
	m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20, Instances: 1})
	if _, _, err := m.Run(t.Context(), bounds(saying(OK, ""))); err != nil {
		t.Fatal(err)
	}
	_, _, err := m.Run(t.Context(), bounds(saying(Denied, "")))
	wantStop(t, err, Trap, "unreachable")
	starts := newGuest()
	starts.export("_initialize", kindFunction, starts.fn("", "", 0, more))
	m = openModule(t, engineOf(t, Options{}), starts.run(i32(5)).bytes(), Limits{Memory: 1 << 20, Instances: 1})
	for range 3 {
		_, code, err := m.Run(t.Context(), bounds(&answers{}))
		wantStop(t, err, OutOfMemory, "run returned 5")
		if code != 5 {
			t.Error(code)
		}
	}
	if n := m.Instances(); n != 1 {
		t.Errorf("%d instances", n)
	}
}

// TestAttackRenewalOfSegments: the two instructions that TestRenewal leaves out.
func TestAttackRenewalOfSegments(t *testing.T) {
	for name, code := range map[string][]byte{
		"table.init": slices.Concat(i32(0), i32(0), i32(0), op(0xfc, 12, 0, 0)),
		"elem.drop":  op(0xfc, 13, 0),
	} {
		g := newGuest()
		g.tables = [][]byte{{typeFuncref, 0, 4}}
		f := g.fn("", "", 0)
		g.after = section(9, vector(slices.Concat([]byte{1, 0}, vector(leb(f))))) // passive
		manifest, faults := Inspect(g.run(code, i32(0)).bytes(), offer())
		if len(faults) > 0 || len(manifest.Renewal) != 1 || !strings.HasPrefix(manifest.Renewal[0], "it uses "+name) {
			t.Errorf("%s: %q, %v", name, manifest.Renewal, faults)
		}
	}
}

// TestAttackBadEndsAreClosed is S4: whatever ends a call other than that run returns, its instance goes with it, and so does one that grew.
// Putting them back would do for all that is known of; this is for what is not.
func TestAttackBadEndsAreClosed(t *testing.T) {
	exit := newGuest().importAs(wasiModule, "proc_exit", i32Value, "")
	recurses := newGuest()
	recurses.fn("", "", 0, callTo(0))
	for name, g := range map[string]*guest{
		"trap":             newGuest().run(opUnreachable),
		"exit":             exit.run(i32(0), callTo(0), i32(0)),
		"out-of-fuel":      newGuest().run(forever(), i32(0)),
		"stack-overflow":   recurses.run(callTo(0), i32(0)),
		"host-error":       asking(1),
		"too-many-calls":   asking(9),
		"grows-by-one":     newGuest().run(i32(1), opGrow, opDrop, i32(0)),
		"well":             asking(2),
		"grows-by-nothing": newGuest().run(i32(0), opGrow, opDrop, i32(0)),
		"another-number":   newGuest().run(i32(5)),
		"refused-memory":   newGuest().run(i32(1000), opGrow, opDrop, i32(0)),
	} {
		m := openModule(t, engineOf(t, Options{}), g.bytes(), Limits{Memory: 1 << 20, Instances: 1})
		for range 4 {
			call := bounds(&answers{f: func(_ context.Context, _, _ string, _ []byte) (Status, []byte, error) {
				if name == "host-error" {
					panic("of the host")
				}
				return OK, nil, nil
			}})
			call.Fuel = 5_000_000
			_, _, _ = m.Run(t.Context(), call)
		}
		want := uint64(4)
		switch name {
		case "well", "grows-by-nothing", "another-number", "refused-memory":
			want = 1
		}
		if n := m.Instances(); n != want {
			t.Errorf("%s: %d instances for four calls, want %d", name, n, want)
		}
	}
}

// asking asks the host so many times.
func asking(n int) *guest {
	g := newGuest().imp("records", "get")
	return g.run(rep(n, g.ask("records.get", 0, 0, 0, 0), opDrop), i32(0))
}

// TestAttackStackInTwoSteps is S16: both together are the bound, and there is no third.
func TestAttackStackInTwoSteps(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), newGuest().run(i32(0)).bytes(), Limits{Memory: 1 << 20})
	for range 2 { // a call after one that was deep begins again
		c := m.newCall(t.Context(), bounds(&answers{}), now())
		i, err := m.take(c)
		if err != nil {
			t.Fatal(err)
		}
		i.begin(c)
		if first := int64(i.stack.Get()); first != shallowStack {
			t.Errorf("%d bytes of stack at first", first)
		}
		c.deeper(-10)
		if rest := int64(i.stack.Get()); shallowStack+10+rest != stackBytes {
			t.Errorf("%d bytes in all, want %d", shallowStack+10+rest, stackBytes)
		}
		func() {
			defer func() {
				if s, ok := recover().(*Stop); !ok || s.Reason != Trap {
					t.Errorf("a third step ends with %v", s)
				}
			}()
			c.deeper(-1)
		}()
		i.end(c)
		m.pool.give(m, i, true)
	}
}

// TestAttackLargeImage: what grew beyond the bound of an image while it was initialised is made anew for each call.
func TestAttackLargeImage(t *testing.T) {
	g := newGuest()
	g.export("_initialize", kindFunction, g.fn("", "", 0, i32(largestImage/pageSize), opGrow, opDrop, i32(8), i32(9), op(0x36, 2, 0)))
	m := openModule(t, engineOf(t, Options{}), g.run(i32(8), op(0x28, 2, 0), i32(8), i32(1), op(0x36, 2, 0)).bytes(), Limits{Memory: 2 * largestImage, Instances: 1})
	for range 3 {
		if _, code, err := m.Run(t.Context(), bounds(&answers{})); err != nil || code != 9 {
			t.Error(code, err)
		}
	}
	if n := m.Instances(); n != 3 || m.image() != nil {
		t.Errorf("%d instances for three calls, an image %v", n, m.image() != nil)
	}
}

// TestAttackWaitingForAnImage: who waits while another call makes the image does so within its own time.
func TestAttackWaitingForAnImage(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), stuckAtStart().bytes(), Limits{Memory: 1 << 20})
	long, short := bounds(&answers{}), bounds(&answers{})
	long.Time, long.Fuel, short.Time = 2*time.Second, 1<<62, 20*time.Millisecond
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _, err := m.Run(ctx, long); done <- err }()
	eventually(t, "it is initialised", func() bool { return m.Instances() == 1 && len(m.cell.turn) == 1 })
	usage, _, err := m.Run(t.Context(), short)
	wantStop(t, err, Deadline, "")
	if usage.Time > time.Second {
		t.Errorf("it waited for %v", usage.Time)
	}
	cancel()
	wantStop(t, <-done, Cancelled, "")
}

// TestAttackContextAfterItsCall: who asks a call's context for its end once the call has ended does not wait for its deadline, or
// leave a timer until then.
func TestAttackContextAfterItsCall(t *testing.T) {
	for _, before := range []bool{false, true} {
		c := (&Module{}).newCall(t.Context(), Call{Time: time.Hour}, now())
		if before {
			_ = c.ctx.Done()
		}
		if c.ctx.Err() != nil {
			t.Error("it has ended before")
		}
		c.ctx.close()
		select {
		case <-c.ctx.Done():
		case <-time.After(time.Second):
			t.Error("its end does not come")
		}
		if c.ctx.Err() == nil {
			t.Error("it has not ended")
		}
	}
}

// TestAttackContextIsLeftBehind: what a host function has left behind ends with its call, whatever time is left.
func TestAttackContextIsLeftBehind(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), asking(1).bytes(), Limits{Memory: 1 << 20})
	for range 3 {
		left := make(chan context.Context, 1)
		call := bounds(&answers{f: func(ctx context.Context, _, _ string, _ []byte) (Status, []byte, error) {
			_ = ctx.Done()
			left <- ctx
			return OK, nil, nil
		}})
		call.Time = time.Hour
		if _, _, err := m.Run(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		select {
		case <-(<-left).Done():
		case <-time.After(time.Second):
			t.Error("it goes on")
		}
	}
}

// TestAttackGrowthLooksAtTheClock: also in an instance that was put back, a growth that copies ends with the call's time.
func TestAttackGrowthLooksAtTheClock(t *testing.T) {
	m := openModule(t, engineOf(t, Options{}), newGuest().run(i32(0)).bytes(), Limits{Memory: 1 << 20})
	c := m.newCall(t.Context(), bounds(&answers{}), now())
	i, err := m.take(c)
	if err != nil {
		t.Fatal(err)
	}
	i.begin(c)
	c.deadline = now() - 1
	func() {
		defer func() {
			if s, ok := recover().(*Stop); !ok || s.Reason != Deadline {
				t.Errorf("it grows: %v", s)
			}
		}()
		i.memory.Reallocate(8 * pageSize)
	}()
	i.end(c)
	m.pool.give(m, i, false)
}
