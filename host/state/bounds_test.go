package state

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// A fakeClock is what a test says it is.
type fakeClock struct{ at time.Time }

func (c *fakeClock) now() time.Time      { return c.at }
func (c *fakeClock) add(d time.Duration) { c.at = c.at.Add(d) }

func atNoon() *fakeClock { return &fakeClock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func small() Limits {
	return Limits{Steps: 5, Time: 5 * time.Minute, Repeats: 2, Refusals: 3, Within: 10 * time.Minute}
}

// openBounds opens a database as one process does.
func openBounds(t testing.TB, path string, l Limits, clock func() time.Time) *Bounds {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b, err := s.Bounds(l, clock)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newBounds(t testing.TB, l Limits, clock func() time.Time) *Bounds {
	t.Helper()
	return openBounds(t, filepath.Join(t.TempDir(), "state.db"), l, clock)
}

func who(subject string) Who { return Who{Tenant: "larkfield", Subject: subject} }

func call(session, args string) Call {
	return Call{Session: session, Who: who("usr-1"), Tool: "get_order", Arguments: []byte(args)}
}

// enter wants Peek to have said what Enter says.
func enter(t testing.TB, b *Bounds, c Call) Verdict {
	t.Helper()
	peeked, err := b.Peek(c)
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.Enter(c)
	if err != nil {
		t.Fatal(err)
	}
	if peeked != v {
		t.Errorf("Peek says %+v, Enter %+v", peeked, v)
	}
	return v
}

func wantStanding(t testing.TB, b *Bounds, c Call, want Standing) {
	t.Helper()
	if v := enter(t, b, c); v.Standing != want {
		t.Errorf("%s %q: %+v, want standing %d", c.Session, c.Arguments, v, want)
	}
}

func refuse(t testing.TB, b *Bounds, w Who, wantLocked bool) {
	t.Helper()
	v, err := b.Refused(w)
	if err != nil {
		t.Fatal(err)
	}
	if locked := v.Standing == Locked; locked != wantLocked || v.Until.IsZero() == locked && b.limits.Refusals > 0 {
		t.Errorf("a refusal of %+v gives %+v, want locked: %t", w, v, wantLocked)
	}
}

func TestStepsOfASession(t *testing.T) {
	b := newBounds(t, small(), atNoon().now)
	for n := range 5 {
		if v := enter(t, b, call("s", fmt.Sprint(n))); v != (Verdict{Standing: Admitted, Call: n + 1, Times: 1}) {
			t.Errorf("call %d: %+v", n+1, v)
		}
		wantStanding(t, b, call("", fmt.Sprint(n)), Admitted) // a loop of its own
	}
	for n := range 3 {
		if v := enter(t, b, call("s", "another")); v != (Verdict{Standing: TooManyCalls, Call: n + 6, Times: 0}) {
			t.Errorf("call %d: %+v", n+6, v)
		}
	}
	other := call("s", "0")
	other.Who = who("usr-2")
	wantStanding(t, b, other, Admitted) // who guesses an id has a session of their own
	wantStanding(t, b, call("s2", "0"), Admitted)
}

func TestRepeatsInASession(t *testing.T) {
	l := small()
	l.Steps = 100
	b := newBounds(t, l, atNoon().now)
	wantStanding(t, b, call("s", "a"), Admitted)
	wantStanding(t, b, call("s", "b"), Admitted)
	wantStanding(t, b, call("s", "a"), Admitted)
	wantStanding(t, b, call("s", "c"), Admitted)
	if v := enter(t, b, call("s", "a")); v != (Verdict{Standing: Repeated, Call: 5, Times: 3}) {
		t.Errorf("the third time: %+v", v)
	}
	wantStanding(t, b, call("s", "c"), Admitted) // what lies between resets nothing
	wantStanding(t, b, call("s", "a"), Repeated)
	for name, c := range map[string]Call{
		"another-tool":                 {Session: "s", Who: who("usr-1"), Tool: "get_orders", Arguments: []byte("a")},
		"another-text":                 call("s", "a "),
		"the-border-moves-with-length": {Session: "s", Who: who("usr-1"), Tool: "get_ordera", Arguments: nil},
		"another-session":              call("s2", "a"),
		"no-session":                   call("", "a"),
	} {
		if v := enter(t, b, c); v.Standing != Admitted {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestLockOfWhoIsRefused(t *testing.T) {
	clock := atNoon()
	b := newBounds(t, small(), clock.now)
	for n := range 3 {
		wantStanding(t, b, call(fmt.Sprint("s", n), "x"), Admitted)
		refuse(t, b, who("usr-1"), false)
		wantStanding(t, b, call("lawful", fmt.Sprint(n)), map[bool]Standing{true: Admitted, false: Locked}[n < 2])
		clock.add(time.Minute)
	}
	refuse(t, b, who("usr-1"), true)
	for _, session := range []string{"", "s0", "lawful", "new"} {
		wantStanding(t, b, call(session, "x"), Locked)
	}
	for _, other := range []Who{
		who("usr-2"),
		{Tenant: "bramble", Subject: "usr-1"},
		{Tenant: "larkfield", Customer: "usr-1"}, // a customer is no subject
		{Tenant: "larkfield"},
		{Subject: "usr-1"},
		{Tenant: "larkfieldusr-1"},
	} {
		if v := enter(t, b, Call{Who: other}); v.Standing != Admitted {
			t.Errorf("%+v: %+v", other, v)
		}
	}
	wantStanding(t, b, Call{Who: Who{Tenant: "larkfield", Subject: "usr-1", Customer: "C-1"}}, Locked)
	clock.add(7*time.Minute - time.Microsecond) // three were added above
	wantStanding(t, b, call("new", "x"), Locked)
	clock.add(time.Microsecond)
	if v := enter(t, b, call("new", "x")); v != (Verdict{Standing: Admitted, Call: 1, Times: 1}) {
		t.Errorf("after the window, where a locked call was not counted: %+v", v)
	}
	refuse(t, b, who("usr-1"), false)
	refuse(t, b, who("usr-1"), true) // the second one is still in the window
}

// What could have been decided wrongly or not at all denies (I2).
func TestZeroLimitsDeny(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Limits)
		want   Standing
	}{
		"no-limits":   {func(l *Limits) { *l = Limits{} }, Locked},
		"no-refusals": {func(l *Limits) { l.Refusals = 0 }, Locked},
		"no-time":     {func(l *Limits) { l.Time = 0 }, Expired},
		"no-steps":    {func(l *Limits) { l.Steps = 0 }, TooManyCalls},
		"no-repeats":  {func(l *Limits) { l.Repeats = 0 }, Repeated},
	} {
		t.Run(name, func(t *testing.T) {
			l := small()
			c.change(&l)
			wantStanding(t, newBounds(t, l, atNoon().now), call("s", "x"), c.want)
		})
	}
	if (Verdict{}).Standing == Admitted {
		t.Error("the zero verdict admits")
	}
	b := newBounds(t, Limits{}, atNoon().now)
	refuse(t, b, who("usr-1"), true)
}

// No name, id or argument stands in the files, nor a hash that can be made
// without the key of the database.
func TestNamesAreHashedWithAKey(t *testing.T) {
	a, b := newBounds(t, small(), atNoon().now), newBounds(t, small(), atNoon().now)
	if string(a.tagOf(who("usr-1"))) == string(b.tagOf(who("usr-1"))) {
		t.Error("two databases have the same key")
	}
	if string(a.tag("x", []byte("ab"), []byte("c"))) == string(a.tag("x", []byte("a"), []byte("bc"))) {
		t.Error("two lists of parts have the same tag")
	}
}

// Only the newest refusals are kept, and of who has not been refused for long
// none.
func TestRowsAreBounded(t *testing.T) {
	clock, l := atNoon(), small()
	b := newBounds(t, l, clock.now)
	for range 50 {
		refuse(t, b, who("usr-1"), false)
		clock.add(l.Within / 2)
	}
	wantRows(t, b, "refusal", 3)
	for n := range 50 {
		enter(t, b, call("s", fmt.Sprint(n)))
	}
	wantRows(t, b, "session_call", l.Steps)
	clock.add(25 * time.Hour)
	refuse(t, b, who("usr-2"), false)
	wantRows(t, b, "refusal", 1)
	wantRows(t, b, "session", 0)
	wantRows(t, b, "session_call", 0)
}

func wantRows(t testing.TB, b *Bounds, table string, want int) {
	t.Helper()
	var got int
	if err := b.read.QueryRow("SELECT count(*) FROM " + table).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%d rows of %s, want %d", got, table, want)
	}
}
