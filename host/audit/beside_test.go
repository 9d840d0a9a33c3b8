package audit

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Many append at once, in one process and in two (A1, A3).

func TestSideBySide(t *testing.T) {
	t.Parallel()
	const callers, each = 200, 5
	for logs := 1; logs <= 2; logs++ {
		t.Run(fmt.Sprintf("logs-%d", logs), func(t *testing.T) {
			p := newPlace(t)
			var open []*Log
			for range logs {
				open = append(open, p.open(t, func(o *Options) { o.CheckpointEntries = 100 }))
			}
			var wait sync.WaitGroup
			for c := range callers {
				wait.Go(func() {
					for n := range each {
						if err := open[c%logs].Append(ended(c*each+n, fmt.Sprintf("C-%05d", c%20))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wait.Wait()
			for _, l := range open {
				must(t, l.Close())
			}
			times := map[string]int{}
			last := map[int]int{}
			for _, line := range p.lines(t)[1:] {
				id := entry(t, line).Call.ID
				times[id]++
				var n int
				_, err := fmt.Sscanf(id, "CALL%d", &n)
				must(t, err)
				if had, ok := last[n/each]; ok && had > n {
					t.Errorf("caller %d's call %d stands before its call %d", n/each, had, n)
				}
				last[n/each] = n
			}
			for n := range callers * each {
				if id := ended(n, "").Call.ID; times[id] != 1 {
					t.Errorf("%s stands %d times in the log", id, times[id])
				}
			}
			r := wantSound(t, p)
			if r.Entries != 1+callers*each || r.Recoveries > 0 {
				t.Errorf("%d entries, %d recoveries; want %d and none", r.Entries, r.Recoveries, 1+callers*each)
			}
			wantPeople(t, p, 20)
		})
	}
}

// wantPeople is so many customers, each with one pseudonym.
func wantPeople(t *testing.T, p place, want int) {
	t.Helper()
	who := map[string]bool{}
	for _, line := range p.lines(t) {
		if e := entry(t, line); e.Call != nil {
			who[e.Call.Who.Person] = true
		}
	}
	if len(who) != want {
		t.Errorf("%d people have %d pseudonyms", want, len(who))
	}
}

// An entry that cannot be written fails alone, the others of its group are
// written.
func TestOneOfAGroupFails(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	var wait sync.WaitGroup
	for n := range 60 {
		wait.Go(func() {
			e := ended(n, "C-00001")
			if n%3 == 0 {
				e.Values[0].JSON = []byte(`{"order_id":`)
			}
			if err := l.Append(e); (err != nil) != (n%3 == 0) {
				t.Errorf("call %d: %v", n, err)
			}
		})
	}
	wait.Wait()
	must(t, l.Close())
	if r := wantSound(t, p); r.Entries != 41 {
		t.Errorf("%d entries, want 41", r.Entries)
	}
}

// What is kept in memory of people is thrown away when it is much. Who was
// prepared before that, and is not stored yet, stays who they are.
func TestPeopleAreForgotten(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	defer l.Close()
	people := l.people.Load()
	who := Who{Customer: "C-00001", Session: "s-1"}
	first, _, err := people.of(who)
	must(t, err)
	people.mu.Lock()
	people.held = maxKnown + 1
	people.mu.Unlock()
	second, _, err := people.of(who)
	must(t, err)
	must(t, people.keep([]identified{first}, theDay))
	must(t, people.keep([]identified{second}, theDay))
	if first.person.pseudonym != second.person.pseudonym || first.session.pseudonym != second.session.pseudonym {
		t.Errorf("one person has two pseudonyms: %+v, %+v", first, second)
	}
	must(t, l.Append(ended(1, "C-00001")))
	people.mu.Lock()
	defer people.mu.Unlock()
	if people.held > 10 {
		t.Errorf("%d people and names are still kept in memory", people.held)
	}
}

// A lock that another process does not give back is an error, not a wait.
func TestLockIsHeld(t *testing.T) {
	p := finished(t)
	held, asked := newLock(p.folder(), 0), newLock(p.folder(), 0)
	must(t, takeLock(held, time.Second))
	if err := takeLock(asked, 20*time.Millisecond); err == nil || !strings.Contains(err.Error(), "another process has held its lock") {
		t.Errorf("a lock was taken that another one has: %v", err)
	}
	must(t, held.Unlock())
	must(t, takeLock(asked, time.Second))
	must(t, asked.Unlock())
}
