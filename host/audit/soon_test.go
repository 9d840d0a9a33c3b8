package audit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// startedSoon is a log with a call that has started and not ended, copied before the
// start was put on disk by itself.
func startedSoon(t *testing.T) (l *Log, made, left place) {
	t.Helper()
	made = newPlace(t)
	l = made.open(t)
	appendAll(t, l, 10, 1)
	l.settleIn = time.Hour
	must(t, l.Append(startOf(ended(10, "C-00001"))))
	return l, made, made.copy(t)
}

// A start that nobody waits for is in the file when Append returns, and the tree
// has nothing of it until it is on disk.
func TestSoonIsWritten(t *testing.T) {
	l, p, left := startedSoon(t)
	if n, hashes := len(left.lines(t)), len(left.read(t, treeFile))/tlog.HashSize; n != 12 || hashes != int(tlog.StoredHashCount(11)) {
		t.Errorf("%d lines, %d hashes; want the start as the 12th line, and no hash of it", n, hashes)
	}
	must(t, l.Append(goingOn(ended(10, "C-00001"))))
	must(t, l.Close())
	if r := wantSound(t, p); r.Entries != 13 || r.Recoveries != 0 {
		t.Errorf("%d entries, %d recoveries; want 13 and none", r.Entries, r.Recoveries)
	}
}

func goingOn(e Event) Event {
	e.GoesOn = true
	return e
}

// What a crash of the machine leaves of such a start: all of it, none, the line
// alone, or what is sealed alone. Each is a sound log, and no hash told of more.
func TestCrashAfterSoon(t *testing.T) {
	l, _, left := startedSoon(t)
	defer l.Close()
	lines := left.lines(t)
	last := int64(len(lines[11])) + 1
	sealed := entry(t, lines[11]).Sealed
	values := valuesFolder + "/" + sealed[0].File
	short := func(t *testing.T, p place) {
		p.write(t, values, p.read(t, values)[:sealed[0].At+10])
	}
	for _, test := range []struct {
		name  string
		leave func(*testing.T, place)
		want  Recovery
		n     int64
	}{
		{"all", func(*testing.T, place) {}, Recovery{Hashes: tlog.StoredHashCount(12) - tlog.StoredHashCount(11)}, 13},
		{"nothing", func(t *testing.T, p place) { p.writeLines(t, lines[:11]); short(t, p) }, Recovery{}, 11},
		{"sealed-alone", func(t *testing.T, p place) { p.writeLines(t, lines[:11]) }, Recovery{}, 11},
		{"line-alone", short, Recovery{EntryBytes: last}, 12},
		{"line-and-an-empty-page", func(t *testing.T, p place) {
			p.zeros(t, values, int(sealed[1].At), sealed[1].Bytes)
		}, Recovery{EntryBytes: last}, 12},
		{"line-and-bytes-of-a-page", func(t *testing.T, p place) {
			p.zeros(t, values, int(sealed[1].At)+sealed[1].Bytes-3, 3)
		}, Recovery{EntryBytes: last}, 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := left.copy(t)
			test.leave(t, p)
			must(t, p.open(t).Close())
			if r := wantSound(t, p); r.Entries != test.n {
				t.Errorf("%d entries, want %d", r.Entries, test.n)
			}
			if test.want != (Recovery{}) {
				wantRecovered(t, p, test.want)
			}
		})
	}
}

// Lines that the tree or a checkpoint has are never cut for what is sealed: that is damage.
func TestDamagedValuesAreNoCrash(t *testing.T) {
	for name, change := range map[string]func(place){
		"in-the-tree": func(place) {},
		"in-a-checkpoint": func(p place) {
			must(t, p.open(t).Close())
			p.write(t, treeFile, nil)
		},
		"in-a-checkpoint-of-the-folder-alone": func(p place) {
			must(t, p.open(t).Close())
			p.write(t, treeFile, nil)
			must(t, os.RemoveAll(p.path("state")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := abandoned(t)
			before := len(p.lines(t))
			change(p)
			at := entry(t, p.lines(t)[before-1]).Sealed[0]
			p.zeros(t, valuesFolder+"/"+at.File, int(at.At), at.Bytes)
			must(t, p.open(t).Close())
			if n := len(p.lines(t)); n < before {
				t.Errorf("%d lines of %d are left", n, before)
			}
			if r := p.verify(t); !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Fault == FaultValues }) {
				t.Errorf("verify found%s", inWords(r))
			}
		})
	}
}

// Where a start could not be put on disk the end of its call is refused, and the
// log goes on without either.
func TestSoonIsLost(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	appendAll(t, l, 10, 1)
	l.settleIn = time.Hour
	must(t, l.Append(startOf(ended(10, "C-00001"))))
	l.mu.Lock()
	must(t, l.open.values.file.Close()) // it cannot be synced
	l.mu.Unlock()
	if err := l.Append(Event{Kind: Loaded, Load: &LoadInfo{}}); err == nil {
		t.Fatal("what could not be synced was written")
	}
	if err := l.Append(goingOn(ended(10, "C-00001"))); !errors.Is(err, errStartLost) {
		t.Fatalf("the end without the start: %v", err)
	}
	must(t, l.Append(ended(11, "C-00001")))
	must(t, l.Close())
	if strings.Contains(string(p.read(t, entriesFile)), ended(10, "").Call.ID) {
		t.Error("the call stands in the log")
	}
	if r := wantSound(t, p); r.Recoveries != 0 {
		t.Errorf("%d recoveries", r.Recoveries)
	}
}

// What cannot be written is refused, waited for or not.
func TestSoonIsRefused(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	appendAll(t, l, 10, 1)
	l.mu.Lock()
	must(t, l.open.lines.Close())
	l.mu.Unlock()
	if err := l.Append(startOf(ended(10, "C-00001"))); err == nil {
		must(t, l.Append(goingOn(ended(10, "C-00001")))) // the log was opened again
	}
	must(t, l.Close())
	wantSound(t, p)
}

// Calls side by side, in two hosts on one log: each start is before its end, and
// neither host waits long for the other.
func TestSoonSideBySide(t *testing.T) {
	p := newPlace(t)
	var wait sync.WaitGroup
	for host := range 2 {
		l := p.open(t)
		defer l.Close()
		for worker := range 8 {
			wait.Go(func() {
				for i := range 30 {
					e := goingOn(ended(host*1000+worker*100+i, fmt.Sprintf("C-%05d", worker)))
					if err := l.Append(startOf(e)); err != nil {
						t.Error(err)
					}
					if i%10 == 0 {
						time.Sleep(2 * settleTime)
					}
					if err := l.Append(e); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wait.Wait()
	read := reading{ids: map[string]bool{}, starts: map[string]bool{}}
	read.on(t, p)
	if len(read.ids) != 480 || len(read.starts) != 480 {
		t.Errorf("%d starts, %d ends; want 480 of each", len(read.starts), len(read.ids))
	}
	if r := wantSound(t, p); r.Recoveries != 0 {
		t.Errorf("%d recoveries; nothing was killed", r.Recoveries)
	}
}

// A start alone is on disk, and the lock given back, soon.
func TestSoonAlone(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	defer l.Close()
	must(t, l.Append(startOf(ended(1, "C-00001"))))
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(settleTime) {
		l.mu.Lock()
		held, pending := l.held, l.open.pending()
		l.mu.Unlock()
		if !held && !pending {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the lock is still kept")
		}
	}
	wantSound(t, p)
}

// A host that is closed while calls start and end, beside another one that goes on
// and erases: what was answered is there, with its start, and no lock is kept.
func TestSoonWhileClosing(t *testing.T) {
	for round := range 5 {
		p := newPlace(t)
		hosts := []*Log{p.open(t, func(o *Options) { o.CheckpointEntries = 7 }), p.open(t)}
		var wait sync.WaitGroup
		var answered sync.Map
		for worker := range 8 {
			wait.Go(func() {
				for i := range 20 {
					e := goingOn(ended(worker*100+i, fmt.Sprintf("C-%05d", worker)))
					if err := appendBoth(hosts[worker%2], e); errors.Is(err, errClosed) {
						return
					} else if err != nil {
						t.Error(err)
					}
					answered.Store(e.Call.ID, true)
				}
			})
		}
		wait.Go(func() {
			for i := range 3 {
				if _, err := hosts[1].Erase(Person{Customer: fmt.Sprintf("C-%05d", i)}); err != nil && !errors.Is(err, ErrNoSuchPerson) {
					t.Error(err)
				}
			}
		})
		time.Sleep(time.Duration(round) * settleTime)
		must(t, hosts[0].Close())
		wait.Wait()
		must(t, hosts[1].Close())
		must(t, p.open(t).Close())
		read := reading{ids: map[string]bool{}, starts: map[string]bool{}}
		read.on(t, p)
		answered.Range(func(id, _ any) bool {
			if !read.ids[id.(string)] || !read.starts[id.(string)] {
				t.Errorf("%s was answered, and is not in the log with its start", id)
			}
			return true
		})
		if r := wantSound(t, p); r.Recoveries != 0 {
			t.Errorf("%d recoveries; nothing was killed", r.Recoveries)
		}
	}
}

func appendBoth(l *Log, e Event) error {
	if err := l.Append(startOf(e)); err != nil {
		return err
	}
	return l.Append(e)
}
