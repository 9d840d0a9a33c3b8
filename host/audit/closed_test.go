package audit

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// After Close nothing is written, and nobody waits or panics.
func TestAfterClose(t *testing.T) {
	p := newPlace(t)
	l := p.open(t, eights)
	appendAll(t, l, 20, 4)
	must(t, l.Close())
	before := p.bytes(t)
	for range 20 { // over where a checkpoint would be due
		if err := l.Append(ended(100, "C-00001")); !errors.Is(err, errClosed) {
			t.Fatalf("after Close: %v", err)
		}
	}
	must(t, l.Close())
	if p.bytes(t) != before {
		t.Error("a closed log was written to")
	}
}

// Appends that go on while the log is closed are written or refused.
func TestCloseAmongAppends(t *testing.T) {
	p := newPlace(t)
	l := p.open(t, eights)
	written := make(chan int, 1)
	go func() {
		n := 0
		for l.Append(ended(n, "C-00001")) == nil {
			n++
		}
		written <- n
	}()
	time.Sleep(20 * time.Millisecond)
	must(t, l.Close())
	n := <-written
	if r := wantSound(t, p); r.Entries != int64(n)+1 || r.Signed != r.Entries {
		t.Errorf("%d appends returned nil; %d entries, %d signed", n, r.Entries, r.Signed)
	}
}

// The state database has the last checkpoint, whatever the command does.
func TestStateDoesNotWaitForTheCommand(t *testing.T) {
	p := newPlace(t)
	l := p.open(t, eights, func(o *Options) {
		o.CheckpointCommand, o.sendTime = []string{"/bin/sleep", "60"}, 300*time.Millisecond
	})
	appendAll(t, l, 40, 1)
	must(t, l.Close())
	if r := wantSound(t, p); r.Kept != 1 || r.Signed != 41 {
		t.Errorf("%+v", r)
	}
	if kept, notes := p.kept(t), p.notes(t); string(kept[0].Note) != notes[len(notes)-1] {
		t.Errorf("the state database keeps\n%s\nthe last one is\n%s", kept[0].Note, notes[len(notes)-1])
	}
}

// A people.db from before an erasure makes the person readable again: verify
// says so.
func TestErasedPersonIsBack(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	must(t, l.Append(ended(0, "C-00001")))
	old := p.read(t, peopleFile)
	pseudonym, err := l.Erase(Person{Customer: "C-00001"})
	must(t, err)
	must(t, l.Close())
	wantSound(t, p)
	p.write(t, peopleFile, old)
	r := p.verify(t)
	if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Text, pseudonym+" was erased, and is back") {
		t.Errorf("verify found:%s", inWords(r))
	}
}

// Who is erased, and what expires, while a log is verified is not missed in it.
func TestErasedWhileVerifying(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	appendAll(t, l, 20, 1)
	k, err := readKey(p.keyFile())
	must(t, err)
	v := newVerifier(p.folder(), VerifyOptions{Public: k.verify})
	v.key = k
	must(t, v.snapshot())
	defer v.close()
	_, err = l.Erase(Person{Customer: "C-00001"})
	must(t, err)
	must(t, v.run())
	wantTold(t, v.report)
	must(t, l.Close())
}

// A page of the tree that a crash kept from the disk is no edited line.
func TestVerifyWithALostTreePage(t *testing.T) {
	p := abandoned(t)
	tree := p.read(t, treeFile)
	last := len(tree) - 32
	for i := last; i < len(tree); i++ {
		tree[i] = 0
	}
	p.write(t, treeFile, tree)
	if got := told(p.verify(t)); !slices.Equal(got, []string{"tree tree:0"}) {
		t.Errorf("verify found %v", got)
	}
	must(t, p.open(t).Close())
	wantSound(t, p)
}

// A clock that is put back does not make anybody unseen.
func TestClockPutBack(t *testing.T) {
	p := newPlace(t)
	var back atomic.Int64 // days
	l := p.open(t, func(o *Options) {
		o.Clock = func() time.Time {
			return time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC).AddDate(0, 0, -int(back.Load()))
		}
	})
	must(t, l.Append(ended(0, "C-00001")))
	_, err := l.Checkpoint()
	must(t, err)
	back.Store(3)
	must(t, l.Append(ended(1, "C-00001")))
	var seen string
	must(t, l.people.Load().db.QueryRow("SELECT min(seen) FROM person").Scan(&seen))
	if seen != "2026-11-30" {
		t.Errorf("seen on %s", seen)
	}
	l.mu.Lock()
	if !l.checkpointDue() {
		t.Error("no checkpoint is due until the clock has caught up")
	}
	l.mu.Unlock()
	must(t, l.Close())
}

// An index that another process is making is left to it, and asked for no less.
func TestIndexThatIsBusy(t *testing.T) {
	if os.Getenv("TOOLHOST_NIGHTLY") != "1" {
		t.Skip("waits for SQLite's 10 seconds; TOOLHOST_NIGHTLY=1 runs it")
	}
	p := finished(t)
	other, err := openIndex(p.folder())
	must(t, err)
	defer other.close()
	for _, s := range []string{"BEGIN EXCLUSIVE", "CREATE TABLE mine (x)"} {
		_, err := other.db.Exec(s)
		must(t, err)
	}
	if got := p.found(t, p.keyFile(), Filter{Kinds: []Kind{Ended}}); len(got) != 40 {
		t.Errorf("%d calls are found", len(got))
	}
	_, err = other.db.Exec("COMMIT")
	must(t, err)
}
