package state

import (
	"path/filepath"
	"testing"
	"time"
)

// A clock that is set gives nothing back: neither within a process, nor to one
// that is started with it.
func TestClockOfAProcessNeverGoesBack(t *testing.T) {
	at := atNoon()
	c := newClock(at.now)
	first := c.now()
	at.add(time.Minute)
	if got := c.now() - first; got != time.Minute.Microseconds() {
		t.Errorf("%d us have passed", got)
	}
	at.add(-time.Hour)
	if got := c.now() - first; got != time.Minute.Microseconds() {
		t.Errorf("a step back gives %d us", got)
	}
	at.add(time.Hour + time.Second)
	if got := c.now() - first; got != (time.Minute + time.Second).Microseconds() {
		t.Errorf("made good again gives %d us", got)
	}
}

func TestClocksThatAreSet(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		steps    []time.Duration // each is a process of its own, started with its clock moved so far from noon
		session  Standing        // of a session that has its last call at noon + 4m
		refusals bool            // three refusals at noon + 4m still lock
	}{
		"as-it-was":                {[]time.Duration{0}, Admitted, true},
		"back-a-minute":            {[]time.Duration{-time.Minute}, Admitted, true},
		"back-a-day":               {[]time.Duration{-day}, Expired, true},
		"forward-past-the-session": {[]time.Duration{6 * time.Minute}, Expired, true},
		"forward-past-the-window":  {[]time.Duration{20 * time.Minute}, Expired, false},
		"forward-and-back":         {[]time.Duration{20 * time.Minute, 0}, Expired, true},
		"a-day-forward-and-back":   {[]time.Duration{day, 0}, Expired, true},
		"back-and-forward-again":   {[]time.Duration{-day, 0}, Admitted, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			clock := atNoon()
			b := openBounds(t, path, small(), clock.now)
			wantStanding(t, b, call("s", "1"), Admitted)
			clock.add(4 * time.Minute)
			wantStanding(t, b, call("s", "2"), Admitted)
			for range 3 {
				refuse(t, b, who("refused"), false)
			}
			noon := clock.at
			for i, step := range c.steps {
				moved := &fakeClock{noon.Add(step)}
				b = openBounds(t, path, small(), moved.now)
				last := i == len(c.steps)-1
				v := enter(t, b, call("s", "in between"[:i]))
				locked := enter(t, b, Call{Who: who("refused")})
				if !last {
					continue
				}
				if v.Standing != c.session {
					t.Errorf("the session stands at %+v, want %d", v, c.session)
				}
				if (locked.Standing == Locked) != c.refusals {
					t.Errorf("who was refused stands at %+v, want locked: %t", locked, c.refusals)
				}
				begun := call("begun now", "x")
				wantStanding(t, b, begun, Admitted)
				moved.add(4*time.Minute + 59*time.Second)
				wantStanding(t, b, begun, Admitted)
				moved.add(time.Second)
				wantStanding(t, b, begun, Expired)
			}
		})
	}
}

// A session never lasts longer than its time by its own latest clock, whichever
// host it calls: one that is behind sees the time that the other has seen.
func TestClocksThatDisagree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	ahead, behind := atNoon(), atNoon()
	behind.add(-3 * time.Minute)
	a, b := openBounds(t, path, small(), ahead.now), openBounds(t, path, small(), behind.now)
	wantStanding(t, a, call("s", "1"), Admitted)
	ahead.add(4*time.Minute + 59*time.Second)
	behind.add(4*time.Minute + 59*time.Second)
	wantStanding(t, a, call("s", "2"), Admitted)
	wantStanding(t, b, call("s", "3"), Admitted)
	ahead.add(time.Second)
	wantStanding(t, a, call("s", "4"), Expired)
	wantStanding(t, b, call("s", "4"), Expired) // for its own clock the session has begun a minute ago
	for range 3 {
		refuse(t, a, who("refused"), false) // in the future of b
	}
	wantStanding(t, b, Call{Who: who("refused")}, Locked)
}
