package audit

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Whole histories that are put in another's place, and two that go on apart.

// replace puts another log's files in the place of this one's.
func (p place) replace(t *testing.T, other place, names ...string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(other.path(name))
		must(t, err)
		must(t, os.WriteFile(p.path(name), data, 0o600))
	}
}

func logFiles() []string {
	return []string{"audit/entries.jsonl", "audit/tree", "audit/checkpoints", "audit/people.db", "audit/values/" + theDay}
}

// A log made with another key is told by the public key, by the state
// database's checkpoint, and, where its checkpoints were left out, by its first
// entry.
func TestReplacedByALogOfAnotherKey(t *testing.T) {
	p, other := finished(t), finished(t)
	public := p.public(t)
	p.replace(t, other, logFiles()...)
	r, err := Verify(p.folder(), VerifyOptions{Public: public})
	must(t, err)
	want := []string{}
	for n := range 6 {
		want = append(want, "other_key checkpoints:"+itoa(n+1))
	}
	wantTold(t, r, append(want, "other_key entries.jsonl:1")...)
	openAfter(t, p, "is signed by another key", "")

	p.writeNotes(t, nil)
	r, err = Verify(p.folder(), VerifyOptions{Public: public})
	must(t, err)
	wantTold(t, r, "other_key entries.jsonl:1")
	openAfter(t, p, `began as "toolhost-audit/`, "")

	p.replace(t, other, "audit/checkpoints", "keys/audit.key", "keys/audit.key.pub")
	wantTold(t, p.verify(t), "other_key the state database:0")
	openAfter(t, p, "the checkpoint that the state database keeps is signed by another key", "")
}

// A key that is put in the place of a log's, before it has a checkpoint, does
// not go on with it.
func TestAnotherKeyBeforeTheFirstCheckpoint(t *testing.T) {
	p, other := newPlace(t), finished(t)
	l := p.open(t)
	appendAll(t, l, 3, 1)
	left := p.copy(t)
	must(t, l.Close())
	left.replace(t, other, "keys/audit.key", "keys/audit.key.pub")
	openAfter(t, left, `began as "toolhost-audit/`, "")
}

// Two hosts that have the log open write one history, through its lock (A3).
func TestTwoWritersThroughTheLock(t *testing.T) {
	p := newPlace(t)
	a, b := p.open(t), p.open(t)
	for n := range 20 {
		must(t, a.Append(ended(n, "C-00001")))
		must(t, b.Append(ended(100+n, "C-00002")))
	}
	must(t, a.Close())
	must(t, b.Close())
	if r := wantSound(t, p); r.Entries != 41 {
		t.Errorf("%d entries of 41", r.Entries)
	}
}

// apart are two copies of a log of 41 entries that went on by 5 each.
func apart(t *testing.T) (a, b place) {
	t.Helper()
	a = finished(t)
	b = a.copy(t)
	for _, p := range []place{a, b} {
		l := p.open(t)
		appendAll(t, l, 5, 1)
		must(t, l.Close())
		wantSound(t, p)
	}
	return a, b
}

func TestTwoWritersApart(t *testing.T) {
	a, b := apart(t)
	a.writeLines(t, slices.Concat(a.lines(t), b.lines(t)[41:]))
	wantTold(t, a.withoutValues(t), "two_writers entries.jsonl:47")
	openAfter(t, a, "line 47: holds entry 41, expected 46", "")

	a.treeAnew(t)
	want := []string{}
	for n := 47; n <= 51; n++ {
		want = append(want, "two_writers entries.jsonl:"+itoa(n))
	}
	wantTold(t, a.withoutValues(t), want...)
	openAfter(t, a, "line 47: holds entry 41, expected 46", "")
}

// withoutValues is a report without what it says of values, which are in
// another folder.
func (p place) withoutValues(t *testing.T) *Report {
	t.Helper()
	r := p.verify(t)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Fault == FaultValues })
	return r
}

// Who has the key can sign another history. Against a checkpoint that was kept
// elsewhere it does not stand.
func TestForkedWithTheRealKey(t *testing.T) {
	a, b := apart(t)
	wantTold(t, b.verifyAgainst(t, a.noted(t, 6)))                       // before they went apart
	wantTold(t, b.verifyAgainst(t, a.noted(t, 7)), "forked kept.note:0") // after
	b.replace(t, a, "state/state.db")
	wantTold(t, b.verify(t), "forked the state database:0")
	openAfter(t, b, "is not the log of the checkpoint that the state database keeps, of 46 entries", "")
}

// Other history of more entries than the kept checkpoint has is no better.
func TestForkedAndLonger(t *testing.T) {
	a, b := apart(t)
	l := b.open(t)
	appendAll(t, l, 30, 1)
	must(t, l.Close())
	wantTold(t, b.verifyAgainst(t, a.noted(t, 7)), "forked kept.note:0")
}

// What no checkpoint covers yet cannot be added to by who can write the files
// and has no key: verify tells, and no host goes on with it (A6). Who has the
// public key alone sees a line that the tree lacks, as after a crash.
func TestAppendedByHand(t *testing.T) {
	for _, anew := range []bool{false, true} {
		p := finished(t)
		lines := p.lines(t)
		p.writeLines(t, append(lines, forged(t, lines[40], 41)))
		want := []string{"tree"}
		if anew {
			p.treeAnew(t)
			want = nil
		}
		var faults []string
		for _, f := range p.verify(t).Findings {
			faults = append(faults, string(f.Fault))
		}
		if !slices.Equal(faults, append(want, "forged")) {
			t.Errorf("tree made anew: %t; verify found %v", anew, faults)
		}
		if l, err := Open(p.options(t)); err == nil || !strings.Contains(err.Error(), "line 42: was not written with this log's key") {
			l.Close()
			t.Errorf("the log was opened: %v", err)
		}
	}
}

// A line that was changed, or was not written here, is told with its number by
// who has the key, whatever the tree says: by its stamp where by nothing else.
func TestStamps(t *testing.T) {
	t.Parallel()
	for _, test := range lineTamperings {
		p := finished(t)
		written := map[string]bool{}
		for _, line := range p.lines(t) {
			written[line] = true
		}
		p.writeLines(t, test.change(t, p.lines(t)))
		p.treeAnew(t)
		found := map[int64]bool{}
		for _, f := range p.verify(t).Findings {
			found[f.Line] = found[f.Line] || f.File == entriesFile
		}
		for i, line := range p.lines(t) {
			if !written[line] && !found[int64(i+1)] {
				t.Errorf("%s: nothing is told of line %d", test.name, i+1)
			}
		}
	}
}
