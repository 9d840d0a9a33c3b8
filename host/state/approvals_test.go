package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// openApprovals opens a database as one process does.
func openApprovals(t testing.TB, path string, clock func() time.Time) *Approvals {
	t.Helper()
	s, err := Open(path)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	_, err = s.Bounds(small(), clock)
	must(t, err)
	a, err := s.Approvals(clock)
	must(t, err)
	return a
}

func newApprovals(t testing.TB, clock func() time.Time) *Approvals {
	t.Helper()
	return openApprovals(t, filepath.Join(t.TempDir(), "state.db"), clock)
}

// write is a proposal of usr-1 that is called so.
func write(id string) Proposed {
	return Proposed{
		ID: id, Tool: "pay", Session: []byte("usr-1"), What: []byte("what " + id), Who: who("usr-1"), Digest: "d1", Content: []byte("content of usr-1 " + id),
		Call: "call " + id, Expires: 15 * time.Minute, Most: 100,
	}
}

func propose(t testing.TB, a *Approvals, p Proposed) {
	t.Helper()
	if _, again, err := a.Propose(p); err != nil || again {
		t.Fatal(p.ID, again, err)
	}
	must(t, a.Recorded(p.ID))
}

const hold = time.Minute

// What can be done to an approval, and under which name.
var operations = []struct {
	name string
	do   func(a *Approvals) error
}{
	{"recorded", func(a *Approvals) error { return a.Recorded("A") }},
	{"approve", func(a *Approvals) error { return a.Decide("A", "d1", Approved, "grace", "T", hold) }},
	{"approve-other-digest", func(a *Approvals) error { return a.Decide("A", "d2", Approved, "grace", "T", hold) }},
	{"deny", func(a *Approvals) error { return a.Decide("A", "d1", Denied, "grace", "T", hold) }},
	{"decide-done", func(a *Approvals) error { return a.Decide("A", "d1", Done, "grace", "T", hold) }},
	{"begin", func(a *Approvals) error { return a.Begin("A", "T", "run", "place", hold) }},
	{"begin-other-token", func(a *Approvals) error { return a.Begin("A", "U", "run", "place", hold) }},
	{"begin-no-token", func(a *Approvals) error { return a.Begin("A", "", "run", "place", hold) }},
	{"end", func(a *Approvals) error { return a.End("A", "T", Ended{State: Done}) }},
	{"end-other-token", func(a *Approvals) error { return a.End("A", "U", Ended{State: Done}) }},
	{"end-no-token", func(a *Approvals) error { return a.End("A", "", Ended{State: Done}) }},
	{"back", func(a *Approvals) error { return a.Back("A", "T", "d1", []byte("content"), "") }},
	{"back-no-token", func(a *Approvals) error { return a.Back("A", "", "d1", []byte("content"), "") }},
	{"show", func(a *Approvals) error { return a.Show("A", "d1", "d1", []byte("content"), "") }},
	{"show-other-digest", func(a *Approvals) error { return a.Show("A", "d0", "d9", []byte("content"), "") }},
	{"void", func(a *Approvals) error { return a.Void("A", "d1", "code") }},
	{"void-other-digest", func(a *Approvals) error { return a.Void("A", "d0", "code") }},
	{"settle", func(a *Approvals) error { return a.Settle("A", Ended{State: Failed}) }},
	{"sent", func(a *Approvals) error { return a.Sent("A", "T", Sent{Delivery: Delivered}) }},
	{"sent-no-token", func(a *Approvals) error { return a.Sent("A", "", Sent{Delivery: Delivered}) }},
	{"again", func(a *Approvals) error { return a.Again("A") }},
}

// A standing is a state with what else tells it from another.
var standings = []struct {
	name string
	make func(t testing.TB, a *Approvals, c *fakeClock)
	may  map[string]string // operation -> state and delivery that it leaves
}{
	{"nothing", func(testing.TB, *Approvals, *fakeClock) {}, nil},
	{"unrecorded", func(t testing.TB, a *Approvals, _ *fakeClock) {
		_, _, err := a.Propose(write("A"))
		must(t, err)
	}, map[string]string{"recorded": "waiting", "void": "failed", "show": "waiting"}}, // nobody can name it yet
	{
		"waiting", func(t testing.TB, a *Approvals, _ *fakeClock) { propose(t, a, write("A")) },
		map[string]string{"recorded": "waiting", "approve": "approved", "deny": "denied", "void": "failed", "show": "waiting"},
	},
	{
		"approved", func(t testing.TB, a *Approvals, _ *fakeClock) { claimed(t, a) },
		map[string]string{"begin": "running", "end": "done", "back": "waiting"},
	},
	{
		"approved-late", func(t testing.TB, a *Approvals, c *fakeClock) { claimed(t, a); c.add(hold) },
		map[string]string{"end": "done", "back": "waiting", "settle": "failed"},
	},
	{
		"running", func(t testing.TB, a *Approvals, _ *fakeClock) { running(t, a) },
		map[string]string{"end": "done", "back": "waiting"},
	},
	{
		"running-late", func(t testing.TB, a *Approvals, c *fakeClock) { running(t, a); c.add(hold) },
		map[string]string{"end": "done", "back": "waiting", "settle": "failed"},
	},
	{"denied", func(t testing.TB, a *Approvals, _ *fakeClock) {
		propose(t, a, write("A"))
		must(t, a.Decide("A", "d1", Denied, "grace", "T", hold))
	}, nil},
	{"expired", func(t testing.TB, a *Approvals, c *fakeClock) {
		propose(t, a, write("A"))
		c.add(15 * time.Minute)
		_, err := a.Get("A")
		must(t, err)
		c.add(-time.Hour)
	}, nil},
	{"done", func(t testing.TB, a *Approvals, _ *fakeClock) { ended(t, a, Ended{State: Done}) }, nil},
	{"failed", func(t testing.TB, a *Approvals, _ *fakeClock) { ended(t, a, Ended{State: Failed}) }, nil},
	{"unknown", func(t testing.TB, a *Approvals, _ *fakeClock) { ended(t, a, Ended{State: Unknown}) }, nil},
	{"due", func(t testing.TB, a *Approvals, _ *fakeClock) { ended(t, a, Ended{State: Done, Delivery: Due}) }, nil},
	{"sending", func(t testing.TB, a *Approvals, _ *fakeClock) { sending(t, a) }, map[string]string{"sent": "done delivered"}},
	{"delivered", func(t testing.TB, a *Approvals, _ *fakeClock) { sent(t, a, Sent{Delivery: Delivered}) }, nil},
	{"refused", func(t testing.TB, a *Approvals, _ *fakeClock) {
		sent(t, a, Sent{Delivery: Refused, State: Failed, Code: "x"})
	}, map[string]string{"again": "done due"}},
	{"dead", func(t testing.TB, a *Approvals, _ *fakeClock) { sent(t, a, Sent{Delivery: Dead}) }, map[string]string{"again": "done due"}},
	{"doubtful", func(t testing.TB, a *Approvals, _ *fakeClock) {
		sent(t, a, Sent{Delivery: Doubtful, State: Unknown, Code: "x"})
	}, map[string]string{"again": "done due"}},
}

func claimed(t testing.TB, a *Approvals) {
	t.Helper()
	propose(t, a, write("A"))
	must(t, a.Decide("A", "d1", Approved, "grace", "T", hold))
}

func running(t testing.TB, a *Approvals) {
	t.Helper()
	claimed(t, a)
	must(t, a.Begin("A", "T", "run", "place", hold))
}

func ended(t testing.TB, a *Approvals, e Ended) {
	t.Helper()
	running(t, a)
	must(t, a.End("A", "T", e))
}

func sending(t testing.TB, a *Approvals) {
	t.Helper()
	ended(t, a, Ended{State: Done, Delivery: Due})
	if one, ok, err := a.Claim("T", hold, a.clock()); err != nil || !ok || one.ID != "A" {
		t.Fatal(one, ok, err)
	}
}

func sent(t testing.TB, a *Approvals, s Sent) {
	t.Helper()
	sending(t, a)
	must(t, a.Sent("A", "T", s))
}

// standsAs is an approval as it is stored.
func standsAs(t testing.TB, a *Approvals, id string) string {
	t.Helper()
	var text string
	err := a.db.QueryRow("SELECT trim(state || ' ' || delivery) FROM approval WHERE id = ?", id).Scan(&text)
	if err != nil {
		return ""
	}
	return text
}

// Only the transitions that are drawn here can be made, each from the state that
// it starts from; everything else changes nothing.
func TestTransitions(t *testing.T) {
	for _, s := range standings {
		for _, op := range operations {
			t.Run(s.name+"/"+op.name, func(t *testing.T) {
				c := atNoon()
				a := newApprovals(t, c.now)
				s.make(t, a, c)
				before := standsAs(t, a, "A")
				err := op.do(a)
				after := standsAs(t, a, "A")
				want, may := s.may[op.name]
				switch {
				case may && (err != nil || after != want):
					t.Errorf("it is %q, %v; want %q", after, err, want)
				case !may && (err == nil || after != before):
					t.Errorf("it was %q and is %q, %v", before, after, err)
				case !may && !errors.Is(err, ErrNotSo) && !errors.Is(err, ErrNoApproval) && !errors.Is(err, ErrOtherDigest):
					t.Errorf("an error of another kind: %v", err)
				}
			})
		}
	}
}

// What has expired stays so, whatever the clock says, and by whichever question.
func TestExpiryIsSticky(t *testing.T) {
	for name, look := range map[string]func(a *Approvals) error{
		"get":     func(a *Approvals) error { _, err := a.Get("A"); return err },
		"list":    func(a *Approvals) error { _, err := a.List(); return err },
		"propose": func(a *Approvals) error { _, _, err := a.Propose(write(a.clock().String())); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c := atNoon()
			a := newApprovals(t, c.now)
			propose(t, a, write("A"))
			c.add(15*time.Minute - time.Microsecond)
			must(t, look(a))
			if got := standsAs(t, a, "A"); got != "waiting" {
				t.Fatalf("before its time it is %s", got)
			}
			c.add(time.Microsecond)
			must(t, look(a))
			c.add(-time.Hour)
			if err := a.Decide("A", "d1", Approved, "grace", "T", hold); !errors.Is(err, ErrNotSo) {
				t.Errorf("what had expired was approved: %v", err)
			}
			one, err := a.Get("A")
			if err != nil || one.State != Expiry {
				t.Errorf("it is %s, %v", one.State, err)
			}
		})
	}
	// At the very moment nobody had looked before.
	c := atNoon()
	a := newApprovals(t, c.now)
	propose(t, a, write("A"))
	c.add(15 * time.Minute)
	if err := a.Decide("A", "d1", Approved, "grace", "T", hold); !errors.Is(err, ErrNotSo) {
		t.Errorf("at its last moment: %v", err)
	}
}

// The same of the same who waits already is one approval; anything else is another.
func TestSameProposal(t *testing.T) {
	c := atNoon()
	a := newApprovals(t, c.now)
	propose(t, a, write("A"))
	second := write("B")
	second.What = write("A").What
	kept, again, err := a.Propose(second)
	if err != nil || !again || kept.ID != "A" {
		t.Errorf("the same: %s %v %v", kept.ID, again, err)
	}
	second.Digest, second.Content = "d2", []byte("other facts")
	kept, again, err = a.Propose(second)
	if err != nil || !again || kept.Digest != "d2" {
		t.Errorf("with other facts: %s %v %v", kept.Digest, again, err)
	}
	if err := a.Decide("A", "d1", Approved, "grace", "T", hold); !errors.Is(err, ErrOtherDigest) {
		t.Errorf("a yes to what was shown before: %v", err)
	}
	for name, change := range map[string]func(*Proposed){
		"who":            func(p *Proposed) { p.Session = []byte("usr-2") },
		"what":           func(p *Proposed) { p.What = []byte("what else") },
		"cut-otherwise":  func(p *Proposed) { p.Session, p.What = []byte("usr-1what"), []byte(" A") },
		"swapped":        func(p *Proposed) { p.Session, p.What = p.What, p.Session },
		"nothing-at-all": func(p *Proposed) { p.Session, p.What = nil, nil },
	} {
		p := write("C-" + name)
		p.What = write("A").What
		change(&p)
		if kept, again, err := a.Propose(p); err != nil || again || kept.ID != p.ID {
			t.Errorf("%s: is taken for %s, %v", name, kept.ID, err)
		}
	}
	// One that is decided is not proposed again by the same.
	must(t, a.Decide("A", "d2", Denied, "grace", "T", hold))
	if kept, again, err := a.Propose(second); err != nil || again || kept.ID != "B" {
		t.Errorf("after a no: %s %v %v", kept.ID, again, err)
	}
}

// As many as may wait do, also of those that side by side are proposed.
func TestTooManyWait(t *testing.T) {
	c := atNoon()
	path := filepath.Join(t.TempDir(), "state.db")
	handles := []*Approvals{openApprovals(t, path, c.now), openApprovals(t, path, c.now)}
	var wait sync.WaitGroup
	errs := make([]error, 20)
	for n := range errs {
		wait.Go(func() {
			p := write(fmt.Sprint("A", n))
			p.Most = 3
			_, _, errs[n] = handles[n%2].Propose(p)
		})
	}
	wait.Wait()
	kept := 0
	for _, err := range errs {
		if err == nil {
			kept++
		} else if !errors.Is(err, ErrTooMany) {
			t.Error(err)
		}
	}
	if kept != 3 {
		t.Errorf("%d wait, want 3", kept)
	}
	p := write("B")
	p.Most, p.Who = 3, who("usr-2")
	if _, _, err := handles[0].Propose(p); err != nil {
		t.Errorf("somebody else's: %v", err)
	}
	c.add(15 * time.Minute) // what has expired waits no more
	p = write("C")
	p.Most = 3
	if _, _, err := handles[1].Propose(p); err != nil {
		t.Errorf("after they have expired: %v", err)
	}
}

// Deliveries are claimed in the order in which they are due, each by one, and
// one whose sender is gone is due again.
func TestClaim(t *testing.T) {
	c := atNoon()
	path := filepath.Join(t.TempDir(), "state.db")
	a, b := openApprovals(t, path, c.now), openApprovals(t, path, c.now)
	for _, id := range []string{"B", "A", "C"} {
		propose(t, a, write(id))
		must(t, a.Decide(id, "d1", Approved, "grace", "T", hold))
		must(t, a.Begin(id, "T", "run", "place", hold))
		c.add(time.Second)
		must(t, a.End(id, "T", Ended{State: Done, Delivery: Due}))
	}
	claim := func(by *Approvals, token, want string) {
		t.Helper()
		one, ok, err := by.Claim(token, hold, by.clock())
		if err != nil || ok != (want != "") || one.ID != want {
			t.Errorf("claimed %q, %v, %v; want %q", one.ID, ok, err, want)
		}
	}
	claim(a, "1", "B")
	claim(b, "2", "A")
	claim(a, "3", "C")
	claim(b, "4", "")
	for _, token := range []string{"", "2", "4"} {
		if err := a.Sent("B", token, Sent{Delivery: Delivered}); !errors.Is(err, ErrNotSo) {
			t.Errorf("said by who does not send it: %v", err)
		}
	}
	must(t, a.Sent("A", "2", Sent{Delivery: Due, Next: c.now().Add(10 * time.Second)}))
	c.add(9 * time.Second)
	claim(a, "5", "")
	c.add(time.Second)
	claim(a, "5", "A")
	c.add(hold - 10*time.Second) // B's and C's senders are gone
	claim(b, "6", "B")
	if err := a.Sent("B", "1", Sent{Delivery: Delivered}); !errors.Is(err, ErrNotSo) {
		t.Errorf("said by who was gone: %v", err)
	}
	must(t, b.Sent("B", "6", Sent{Delivery: Delivered}))
	claim(a, "7", "C")
	one, err := a.Get("A")
	if err != nil || one.Tries != 2 {
		t.Errorf("tried %d times, %v", one.Tries, err)
	}
	// Set back, the clock makes nothing due and takes nothing from who sends.
	c.add(-time.Hour)
	claim(a, "8", "")
}

// Nothing of who is forgotten stays but that there was an approval; what is not
// at its end is kept until it is.
func TestForget(t *testing.T) {
	for _, s := range standings[2:] {
		t.Run(s.name, func(t *testing.T) {
			c := atNoon()
			a := newApprovals(t, c.now)
			s.make(t, a, c)
			before := standsAs(t, a, "A")
			open := slices.Contains([]string{"waiting", "approved", "approved-late", "running", "running-late", "due", "sending"}, s.name)
			forgotten, left, err := a.Forget(func(one Approval) (bool, bool) { return bytes.Contains(one.Content, []byte("usr-2")), false })
			if err != nil || forgotten != 0 || left != 0 {
				t.Errorf("of somebody else: %d %d %v", forgotten, left, err)
			}
			forgotten, left, err = a.Forget(func(one Approval) (bool, bool) { return bytes.Contains(one.Content, []byte("usr-1")), false })
			if err != nil || (left == 1) != open || (forgotten == 1) == open {
				t.Errorf("%d forgotten, %d left, %v", forgotten, left, err)
			}
			var content []byte
			must(t, a.db.QueryRow("SELECT content FROM approval WHERE id = 'A'").Scan(&content))
			if (content == nil) == open || standsAs(t, a, "A") != before {
				t.Errorf("kept is %q, it is %s", content, standsAs(t, a, "A"))
			}
		})
	}
}

// final tells whether nothing but a delivery can follow.
func final(stands string) bool {
	state, _, _ := strings.Cut(stands, " ")
	return !slices.Contains([]string{"", "waiting", "approved", "running"}, state)
}

// Whatever several hosts do, in whatever order and with clocks that differ: an
// approval ends once, and what has ended stays so; only its delivery goes on.
func TestRandomOrders(t *testing.T) {
	sequences := 20
	if os.Getenv("TOOLHOST_NIGHTLY") == "1" {
		sequences = 2000
	}
	for seed := range sequences {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomOrder(t, uint64(seed)) }) //nolint:gosec // not negative
	}
}

func randomOrder(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same order for the same seed
	path := filepath.Join(t.TempDir(), "state.db")
	clocks, handles := make([]*fakeClock, 3), make([]*Approvals, 3)
	for i := range handles {
		clocks[i] = atNoon()
		clocks[i].add(time.Duration(r.IntN(60)) * time.Second)
		handles[i] = openApprovals(t, path, clocks[i].now)
	}
	ids := []string{"A", "B"}
	before := map[string]string{}
	ends := map[string]int{}
	for step := range 120 {
		n, id := r.IntN(3), ids[r.IntN(2)]
		a, token, digest := handles[n], []string{"T", "U", ""}[r.IntN(3)], []string{"d1", "d1", "d2"}[r.IntN(3)]
		end := Ended{State: []ApprovalState{Done, Done, Failed, Unknown}[r.IntN(4)], Delivery: []DeliveryState{"", Due}[r.IntN(2)]}
		name, ended := "", false
		var err error
		switch r.IntN(14) {
		case 0:
			name = "propose"
			_, _, err = a.Propose(write(id))
		case 1:
			name, err = "recorded", a.Recorded(id)
		case 2, 3:
			name, err = "approve", a.Decide(id, digest, Approved, "grace", token, hold)
		case 4:
			name = "deny"
			if r.IntN(8) == 0 {
				err = a.Decide(id, digest, Denied, "grace", token, hold)
				ended = err == nil
			}
		case 5, 6:
			name, err = "begin", a.Begin(id, token, "run", "place", hold)
		case 7:
			name, err = "end", a.End(id, token, end)
			ended = err == nil
		case 8:
			name, err = "back", a.Back(id, token, "d1", []byte("content of usr-1"), "")
		case 9:
			name, err = "settle", a.Settle(id, end)
			ended = err == nil
		case 10:
			name = "void"
			if r.IntN(8) == 0 {
				err = a.Void(id, digest, "x")
				ended = err == nil
			}
		case 11:
			name = "claim"
			_, _, err = a.Claim(token, hold, a.clock())
		case 12:
			name, err = "sent", a.Sent(id, token, Sent{Delivery: []DeliveryState{Due, Delivered, Dead, Refused}[r.IntN(4)], Next: clocks[n].now()})
		default:
			name = "again"
			err = a.Again(id)
			clocks[n].add([]time.Duration{-time.Second, time.Second, 40 * time.Second}[r.IntN(3)])
		}
		if err != nil && !errors.Is(err, ErrNotSo) && !errors.Is(err, ErrNoApproval) && !errors.Is(err, ErrOtherDigest) {
			t.Logf("seed %d, step %d: %s: %v", seed, step, name, err) // an id that is there
		}
		if ended {
			ends[id]++
		}
		for _, id := range ids {
			now := standsAs(t, a, id)
			if final(before[id]) && !final(now) {
				t.Fatalf("seed %d, step %d: %s has made of %s, which was %q, %q", seed, step, name, id, before[id], now)
			}
			was, _, _ := strings.Cut(before[id], " ")
			is, delivery, _ := strings.Cut(now, " ")
			if final(before[id]) && was != is && (delivery == "" || name != "sent" && name != "again") {
				t.Fatalf("seed %d, step %d: %s has made of %s, which was %q, %q", seed, step, name, id, before[id], now)
			}
			if ends[id] > 1 {
				t.Fatalf("seed %d, step %d: %s has ended %d times", seed, step, id, ends[id])
			}
			before[id] = now
		}
	}
}

// A beginning of an id gives what has it, two at most, and is never a pattern.
func TestBeginning(t *testing.T) {
	clock := &fakeClock{}
	a := newApprovals(t, clock.now)
	for _, id := range []string{"ABCD1", "ABCD2", "ABCD3", "ABCE1", "ABD"} {
		propose(t, a, write(id))
	}
	for begins, want := range map[string]int{"ABCD1": 1, "ABCD": 2, "ABCE": 1, "AB": 2, "ABD": 1, "abd": 0, "A%": 0, "AB_D": 0, "*": 0, "ZZ": 0} {
		list, err := a.Beginning(begins)
		must(t, err)
		if len(list) != want {
			t.Errorf("%q: %d, want %d", begins, len(list), want)
		}
	}
}

// All are given, a page at a time and each once, also where many were asked for
// at one moment.
func TestEachOfMany(t *testing.T) {
	clock := atNoon()
	a := newApprovals(t, clock.now)
	for i := range 2*page + 7 {
		p := write(fmt.Sprintf("ID%04d", i))
		p.Most = 1000
		propose(t, a, p)
		if i%50 == 49 {
			clock.add(time.Second)
		}
	}
	var got []string
	must(t, a.Each(func(one Approval) error {
		got = append(got, one.ID)
		return nil
	}))
	if len(got) != 2*page+7 || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("%d of %d: %v", len(got), 2*page+7, got)
	}
	must(t, a.Void("ID0150", "d1", "x"))
	for _, want := range []struct {
		states []ApprovalState
		n      int
	}{{[]ApprovalState{Waiting}, 2*page + 6}, {[]ApprovalState{Failed}, 1}, {[]ApprovalState{Failed, Waiting}, 2*page + 7}, {[]ApprovalState{Done}, 0}} {
		list, err := a.List(want.states...)
		must(t, err)
		if len(list) != want.n {
			t.Errorf("%v: %d, want %d", want.states, len(list), want.n)
		}
	}
}
