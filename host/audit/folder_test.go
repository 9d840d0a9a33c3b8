package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/toolhost/toolhost/host/state"
)

// What an adversary does with a log's folder, and what is then found.

// finished is a closed log of 41 entries: the first, and 40 calls of 7
// customers. Checkpoints are of 8, 16, 24, 32, 40 and 41 entries, and the state
// database knows the last.
func finished(t testing.TB) place {
	t.Helper()
	return logOf(t, 40)
}

// eights has a checkpoint after 8 entries, and all on one day.
func eights(o *Options) {
	o.CheckpointEntries = 8
	o.Clock = func() time.Time { return time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC) }
}

const theDay = "2026-11-30"

func logOf(t testing.TB, calls int) place {
	t.Helper()
	p := newPlace(t)
	l := p.open(t, eights)
	appendAll(t, l, calls, 1)
	must(t, l.Close())
	return p
}

// abandoned is a log as a kill leaves it: 41 entries, the last checkpoint of 40.
func abandoned(t testing.TB) place {
	t.Helper()
	p := newPlace(t)
	l := p.open(t, eights)
	appendAll(t, l, 40, 1)
	left := p.copy(t)
	must(t, l.Close())
	return left
}

// copy copies folder, key and state database.
func (p place) copy(t testing.TB) place {
	t.Helper()
	p.settle(t)
	to := newPlace(t)
	must(t, os.CopyFS(to.dir, os.DirFS(p.dir)))
	must(t, os.Chmod(to.path("keys/audit.key"), 0o600)) // CopyFS opens it to the group
	return to
}

// settle waits until the state database keeps the last checkpoint of the folder,
// which a log that is open has done beside its calls.
func (p place) settle(t testing.TB) {
	t.Helper()
	notes := p.notes(t)
	for deadline := time.Now().Add(10 * time.Second); len(notes) > 0; time.Sleep(time.Millisecond) {
		if kept := p.kept(t); len(kept) > 0 && string(kept[0].Note) == notes[len(notes)-1] {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the state database does not get the last checkpoint")
		}
	}
}

func (p place) file(name string) string { return filepath.Join(p.folder(), name) }

func (p place) read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(p.file(name))
	must(t, err)
	return data
}

func (p place) write(t testing.TB, name string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(p.file(name), data, 0o600))
}

func (p place) lines(t testing.TB) []string {
	t.Helper()
	return strings.Split(strings.TrimSuffix(string(p.read(t, entriesFile)), "\n"), "\n")
}

func (p place) writeLines(t testing.TB, lines []string) {
	t.Helper()
	p.write(t, entriesFile, []byte(strings.Join(lines, "\n")+"\n"))
}

// treeAnew makes the tree of the lines, as a tamperer does who knows RFC 6962.
func (p place) treeAnew(t testing.TB) {
	t.Helper()
	p.write(t, treeFile, treeOf(t, p.lines(t)))
}

func treeOf(t testing.TB, lines []string) []byte {
	t.Helper()
	var edge frontier
	var out []byte
	for i, line := range lines {
		hashes, err := edge.grow(int64(i), tlog.RecordHash([]byte(line)))
		must(t, err)
		out = appendHashes(out, hashes)
	}
	return out
}

// notes are the checkpoints of the folder.
func (p place) notes(t testing.TB) []string {
	t.Helper()
	notes, torn := splitNotes(p.read(t, checkpointsFile))
	if len(torn) > 0 {
		t.Fatalf("a torn checkpoint: %q", torn)
	}
	var out []string
	for _, n := range notes {
		out = append(out, string(n))
	}
	return out
}

func (p place) writeNotes(t testing.TB, notes []string) {
	t.Helper()
	p.write(t, checkpointsFile, []byte(strings.Join(notes, "")))
}

func entry(t testing.TB, line string) *Entry {
	t.Helper()
	e, err := ReadEntry([]byte(line))
	must(t, err)
	return e
}

// nobody is the key of who can write to the folder and has no key of the log.
func nobody() *key { return &key{stamps: []byte("some other key")} }

// lineOf writes an entry as the log does, without the log's key.
func lineOf(t testing.TB, e *Entry) string {
	t.Helper()
	plain := *e
	head, err := plain.head()
	must(t, err)
	return string(nobody().appendTail(head, 0, e.Seq, e.Sealed))
}

// forged is a well-formed entry that says of itself that it has a number.
func forged(t testing.TB, like string, seq int64) string {
	t.Helper()
	e := entry(t, like)
	e.Seq, e.Sealed, e.Call.Commitments = seq, nil, nil
	e.Call.ID, e.Call.Outcome = "FORGED", "refused"
	return lineOf(t, e)
}

// kept is the state database's checkpoint.
func (p place) kept(t testing.TB) []KeptCheckpoint {
	t.Helper()
	s, err := state.OpenToRead(p.path("state/state.db"))
	must(t, err)
	defer s.Close()
	note, err := s.Checkpoint()
	must(t, err)
	if note == nil {
		return nil
	}
	return []KeptCheckpoint{{Name: StateName, Note: note}}
}

// verify is Verify with the key, and with the state database's checkpoint.
func (p place) verify(t testing.TB) *Report {
	t.Helper()
	return p.verifyAgainst(t, p.kept(t)...)
}

func (p place) verifyAgainst(t testing.TB, kept ...KeptCheckpoint) *Report {
	t.Helper()
	r, err := Verify(p.folder(), VerifyOptions{KeyFile: p.path("keys/audit.key"), Kept: kept})
	must(t, err)
	return r
}

// told are the findings as "fault file:line", without those by the stamp, which
// only who has the key makes: TestStamps is about them.
func told(r *Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		if f.Fault == FaultForged {
			continue
		}
		out = append(out, fmt.Sprintf("%s %s:%d", f.Fault, f.File, f.Line))
	}
	return out
}

func wantTold(t testing.TB, r *Report, want ...string) {
	t.Helper()
	if got := told(r); !slices.Equal(got, want) {
		t.Errorf("verify found\n  %s\nwant\n  %s\nin words:%s", strings.Join(got, "\n  "), strings.Join(want, "\n  "), inWords(r))
	}
}

func inWords(r *Report) string {
	var out bytes.Buffer
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "\n  %s:%d: %s: %s", f.File, f.Line, f.Fault, f.Text)
	}
	return out.String()
}

// wantSound is a log in which nothing is wrong.
func wantSound(t testing.TB, p place) *Report {
	t.Helper()
	r := p.verify(t)
	wantTold(t, r)
	return r
}

// openAfter opens a log that was tampered with. Where a refusal is expected,
// it names what is wrong and nothing on disk has changed (A6). Where there is
// none, Open cannot see it: it reads nothing before the last checkpoint. Then
// Verify still finds what it found.
func openAfter(t testing.TB, p place, refusal, found string) {
	t.Helper()
	before := p.bytes(t)
	l, err := Open(p.options(t))
	if refusal == "" {
		must(t, err)
		must(t, l.Append(ended(900, "C-00900")))
		must(t, l.Close())
		if after := told(p.verify(t)); !slices.Contains(after, found) {
			t.Errorf("after the log was opened, verify found %v, no more %q", after, found)
		}
		return
	}
	if err == nil {
		l.Close()
		t.Fatalf("the log was opened; want a refusal that says %q", refusal)
	}
	if !strings.Contains(err.Error(), refusal) && !strings.Contains(err.Error(), "was not written with this log's key") {
		t.Errorf("the log was not opened: %v; want %q", err, refusal)
	}
	if after := p.bytes(t); after != before {
		t.Errorf("a log that was not opened was changed: %s, then %s", before, after)
	}
}

// bytes is a digest of what the log consists of.
func (p place) bytes(t testing.TB) string {
	t.Helper()
	out := ""
	for _, name := range []string{entriesFile, treeFile, checkpointsFile} {
		data, err := os.ReadFile(p.file(name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%s %d %s; ", name, len(data), tlog.RecordHash(data))
	}
	return out
}
