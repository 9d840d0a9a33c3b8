package audit

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// States that a crash can leave, one each. Opening the log puts them right, and
// says so where something of the log itself was written (A7).

func TestCrash(t *testing.T) {
	t.Parallel()
	for _, test := range crashes {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, public := crashed(t)
			test.leave(t, p)
			l := p.open(t)
			before := len(p.lines(t))
			must(t, l.Append(ended(301, "C-00001"))) // it goes on
			must(t, l.Close())
			r := wantSound(t, p)
			if test.want == (Recovery{}) {
				if before != 301 || r.Recoveries != 0 {
					t.Errorf("%d lines, %d recoveries; nothing was to be told", before, r.Recoveries)
				}
			} else if e := entry(t, p.lines(t)[before-1]); before != 302 || e.Kind != Recovered || *e.Recovery != test.want {
				t.Errorf("the log says %s, want %+v", p.lines(t)[before-1], test.want)
			}
			again, err := os.ReadFile(p.path("keys/audit.key.pub"))
			must(t, err)
			if !bytes.Equal(again, public) {
				t.Errorf("the public key is %q, was %q", again, public)
			}
			must(t, p.open(t).Close())
			if r := wantSound(t, p); r.Recoveries > 1 {
				t.Error("a log that was put right was put right again")
			}
		})
	}
}

// crashes are what a kill, or a crash of the machine, can leave.
var crashes = []struct {
	name  string
	leave func(*testing.T, place)
	want  Recovery // zero: there is nothing to tell
}{
	{
		name: "a-torn-line",
		leave: func(t *testing.T, p place) {
			p.write(t, entriesFile, append(p.read(t, entriesFile), `{"at":"2026-`...))
		},
		want: Recovery{EntryBytes: 12},
	},
	{
		name: "lines-without-hashes",
		leave: func(t *testing.T, p place) {
			p.write(t, treeFile, p.read(t, treeFile)[:tlog.StoredHashCount(296)*tlog.HashSize])
		},
		want: Recovery{Hashes: tlog.StoredHashCount(301) - tlog.StoredHashCount(296)},
	},
	{
		name: "a-torn-hash",
		leave: func(t *testing.T, p place) {
			p.write(t, treeFile, p.read(t, treeFile)[:tlog.StoredHashCount(296)*tlog.HashSize+9])
		},
		want: Recovery{Hashes: tlog.StoredHashCount(301) - tlog.StoredHashCount(296)},
	},
	{
		name:  "a-page-of-the-tree-lost", // that begins with the hashes of one line
		leave: func(t *testing.T, p place) { p.zeros(t, treeFile, 4096, 4096) },
		want:  Recovery{Hashes: tlog.StoredHashCount(301) - 128},
	},
	{
		name:  "a-page-of-the-tree-lost-amid-the-hashes-of-a-line", // 193 has numbers 383 and 384
		leave: func(t *testing.T, p place) { p.zeros(t, treeFile, 3*4096, 4096) },
		want:  Recovery{Hashes: tlog.StoredHashCount(301) - 383},
	},
	{
		name:  "no-tree",
		leave: func(t *testing.T, p place) { must(t, os.Remove(p.file(treeFile))) },
		want:  Recovery{Hashes: tlog.StoredHashCount(301)},
	},
	{
		name:  "a-torn-checkpoint",
		leave: func(t *testing.T, p place) { p.write(t, checkpointsFile, []byte("toolhost-audit/X\n12\n")) },
		want:  Recovery{CheckpointBytes: 20},
	},
	{
		name: "all-of-these",
		leave: func(t *testing.T, p place) {
			p.write(t, entriesFile, append(p.read(t, entriesFile), '{'))
			p.write(t, treeFile, nil)
			p.write(t, checkpointsFile, []byte("t"))
		},
		want: Recovery{EntryBytes: 1, Hashes: tlog.StoredHashCount(301), CheckpointBytes: 1},
	},
	{
		name:  "no-public-key",
		leave: func(t *testing.T, p place) { must(t, os.Remove(p.path("keys/audit.key.pub"))) },
	},
	{
		name: "a-torn-public-key", // not in its place yet
		leave: func(t *testing.T, p place) {
			must(t, os.Rename(p.path("keys/audit.key.pub"), p.path("keys/audit.key.pub.new")))
			must(t, os.Truncate(p.path("keys/audit.key.pub.new"), 20))
		},
	},
	{
		name: "values-that-no-entry-names",
		leave: func(t *testing.T, p place) {
			p.write(t, valuesFolder+"/"+theDay, append(p.read(t, valuesFolder+"/"+theDay), "rest"...))
		},
	},
}

// crashed is a log of 301 entries without a checkpoint, as a kill leaves it.
func crashed(t *testing.T) (p place, public []byte) {
	t.Helper()
	made := newPlace(t)
	l := made.open(t, eights, func(o *Options) { o.CheckpointEntries = 1000 })
	appendAll(t, l, 300, 32)
	p = made.copy(t)
	must(t, l.Close())
	public, err := os.ReadFile(p.path("keys/audit.key.pub"))
	must(t, err)
	return p, public
}

// zeros overwrites a part of a file.
func (p place) zeros(t *testing.T, name string, at, n int) {
	t.Helper()
	data := p.read(t, name)
	clear(data[at : at+n])
	p.write(t, name, data)
}

// An erasure that was begun is ended by who opens the log next.
func TestCrashWhileErasing(t *testing.T) {
	made := newPlace(t)
	l := made.open(t)
	appendAll(t, l, 14, 1)
	pseudonym, err := l.people.Load().markErasing(Person{Customer: "C-00003"})
	must(t, err)
	p := made.copy(t)
	must(t, l.Close())

	must(t, p.open(t).Close())
	lines := p.lines(t)
	e := entry(t, lines[len(lines)-1])
	if e.Kind != Erased || e.Erasure.Person != pseudonym || len(lines) != 16 {
		t.Errorf("after 15 lines the log says %s, want the erasure of %s", lines[len(lines)-1], pseudonym)
	}
	if r := wantSound(t, p); r.Values.Erased != 2 {
		t.Errorf("%d sealed values are erased, want those of 2 calls", r.Values.Erased)
	}
	must(t, p.open(t).Close())
	if n := len(p.lines(t)); n != 16 {
		t.Errorf("opened again, the log has %d lines, want 16: one erasure", n)
	}
}

// Another process puts right what a killed one left, without being opened anew.
func TestCrashOfTheOther(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	appendAll(t, l, 5, 1)
	p.write(t, entriesFile, append(p.read(t, entriesFile), "{torn"...))
	p.write(t, checkpointsFile, []byte("torn\n"))
	must(t, l.Append(ended(6, "C-00001")))
	must(t, l.Close())
	r := wantSound(t, p)
	if r.Entries != 8 || r.Recoveries != 1 || r.Checkpoints != 1 {
		t.Errorf("%d entries, %d recoveries, %d checkpoints; want 8, one of them a recovery, and one", r.Entries, r.Recoveries, r.Checkpoints)
	}
}

// A key that was not written whole was never used: there is no log yet.
func TestCrashWhileMakingTheKey(t *testing.T) {
	p := newPlace(t)
	must(t, os.MkdirAll(p.path("keys"), 0o700))
	must(t, os.WriteFile(p.path("keys/audit.key.new"), []byte("PRIVATE+KEY+tool"), 0o600))
	l := p.open(t)
	appendAll(t, l, 3, 1)
	must(t, l.Close())
	wantSound(t, p)
	left, err := os.ReadDir(p.path("keys"))
	must(t, err)
	if len(left) != 2 {
		t.Errorf("the key's folder has %v, want the key and its public half", left)
	}
}

// A crash between the deletion of a row and the end of what is left of it in
// the file is made good by who opens the log next.
func TestCrashBeforePeopleAreWrittenAnew(t *testing.T) {
	p := finished(t)
	due := func() (n int) {
		db, err := openSQLite(p.file(peopleFile), "rw", "SELECT 1")
		must(t, err)
		defer db.Close()
		must(t, db.QueryRow("PRAGMA user_version").Scan(&n))
		if n == 0 {
			_, err = db.Exec("PRAGMA user_version = 1")
			must(t, err)
		}
		return n
	}
	if n := due(); n != 0 {
		t.Fatalf("of a log in which nobody was erased user_version is %d", n)
	}
	must(t, p.open(t).Close())
	if n := due(); n != 0 {
		t.Errorf("after the log was opened user_version is %d", n)
	}
	wantSound(t, p)
}

// A crash of the machine in the middle of a group leaves pages of zeros in
// lines that no answer has left for: they are cut, with what follows. In lines
// that the tree has, zeros are no crash.
func TestCrashWithLostPages(t *testing.T) {
	p := abandoned(t)
	lines := p.lines(t)
	head := p.read(t, entriesFile)
	zeros := strings.Repeat("\x00", 300)
	group := lines[40][:200] + zeros + lines[40][500:] + "\n" + lines[40] + "\n" + zeros
	p.write(t, entriesFile, append(head, group...))
	must(t, p.open(t).Close())
	wantRecovered(t, p, Recovery{EntryBytes: int64(len(group))})
	wantSound(t, p)

	p = abandoned(t)
	lines[40] = lines[40][:200] + zeros + lines[40][500:]
	p.writeLines(t, lines)
	openAfter(t, p, "line 41", "")
}
