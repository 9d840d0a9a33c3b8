package audit

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Ends that are cut off or not whole, and checkpoints that are changed.

// public is the log's public key, as it lies beside the key.
func (p place) public(t testing.TB) note.Verifier {
	t.Helper()
	text, err := os.ReadFile(p.path("keys/audit.key.pub"))
	must(t, err)
	v, err := ParsePublicKey(text)
	must(t, err)
	return v
}

// noted is a checkpoint of the log, kept elsewhere.
func (p place) noted(t testing.TB, n int) KeptCheckpoint {
	t.Helper()
	return KeptCheckpoint{Name: "kept.note", Note: []byte(p.notes(t)[n-1])}
}

// cutTo cuts lines, tree and checkpoints to what checkpoint n says.
func (p place) cutTo(t testing.TB, n int) {
	t.Helper()
	notes := p.notes(t)[:n]
	c, err := openCheckpoint([]byte(notes[n-1]), p.public(t))
	must(t, err)
	p.writeNotes(t, notes)
	p.write(t, entriesFile, p.read(t, entriesFile)[:c.Bytes])
	p.write(t, treeFile, p.read(t, treeFile)[:tlog.StoredHashCount(c.Entries)*tlog.HashSize])
}

// A log that was cut in every file is a sound, shorter log: only a checkpoint
// from outside the folder tells. The state database has one.
func TestCutEverywhere(t *testing.T) {
	p := finished(t)
	kept := p.noted(t, 5)
	p.cutTo(t, 4)
	wantTold(t, p.verifyAgainst(t))
	wantTold(t, p.verifyAgainst(t, kept), "cut kept.note:0")
	wantTold(t, p.verify(t), "cut checkpoints:0", "cut the state database:0")
	openAfter(t, p, "holds 32 entries, the checkpoint that the state database keeps knows 41", "")
}

// Who cuts a log to nothing, or away, is found as well, and no new log is begun.
func TestCutToNothing(t *testing.T) {
	p := finished(t)
	for _, name := range []string{entriesFile, treeFile, checkpointsFile} {
		p.write(t, name, nil)
	}
	wantTold(t, p.verify(t), "cut checkpoints:0", "cut the state database:0")
	openAfter(t, p, "holds 0 entries, the checkpoint that the state database keeps knows 41", "")

	must(t, os.RemoveAll(p.folder()))
	wantTold(t, p.verify(t), "missing "+p.folder()+":0")
	openAfter(t, p, "is not there, but the state database knows it", "")

	must(t, os.Remove(p.path("state/state.db")))
	must(t, os.Remove(p.path("keys/audit.key")))
	openAfter(t, p, "put the key back", "") // its public half is still there
}

func TestCutEntriesAlone(t *testing.T) {
	p := finished(t)
	p.writeLines(t, p.lines(t)[:38])
	wantTold(t, p.verify(t), "cut entries.jsonl:39", "cut checkpoints:5", "cut checkpoints:6", "cut the state database:0")
	openAfter(t, p, "its end was cut off", "")

	p = abandoned(t) // the last line is after the last checkpoint
	p.writeLines(t, p.lines(t)[:40])
	wantTold(t, p.verify(t), "cut entries.jsonl:41")
	openAfter(t, p, "tree has the hashes of more entries than the 40 that there are", "")
}

// A line that was never whole has no hash in the tree, as a crash leaves it.
// Opening the log cuts it and says so (A7).
func TestTornLine(t *testing.T) {
	p := abandoned(t)
	torn := p.lines(t)[40][:100]
	p.write(t, entriesFile, append(p.read(t, entriesFile), torn...))
	wantTold(t, p.verify(t), "torn entries.jsonl:42")
	l := p.open(t)
	must(t, l.Close())
	wantRecovered(t, p, Recovery{EntryBytes: 100})
	wantSound(t, p)
}

// A last line that was whole, and was cut in the middle, has its hash in the
// tree, or a checkpoint: it is not taken for a crash, and nothing is cut (A6).
func TestTornLineThatWasWhole(t *testing.T) {
	p := abandoned(t)
	lines := p.read(t, entriesFile)
	p.write(t, entriesFile, lines[:len(lines)-100])
	wantTold(t, p.verify(t), "torn entries.jsonl:41", "cut entries.jsonl:41")
	openAfter(t, p, "tree has the hashes of more entries than the 40 that there are", "")

	p = finished(t)
	lines = p.read(t, entriesFile)
	p.write(t, entriesFile, lines[:len(lines)-1])
	wantTold(t, p.verify(t), "torn entries.jsonl:41", "cut entries.jsonl:41", "cut checkpoints:6", "cut the state database:0")
	openAfter(t, p, "its end was cut off", "")
}

func TestTornCheckpoint(t *testing.T) {
	p := abandoned(t)
	notes := p.notes(t)
	p.writeNotes(t, append(notes, notes[4][:150]))
	wantTold(t, p.verify(t), "torn checkpoints:6")
	l := p.open(t)
	must(t, l.Close())
	wantRecovered(t, p, Recovery{CheckpointBytes: 150})
	wantSound(t, p)

	// Torn by hand: the state database knows it. The log still has all of its
	// entries, so that it may be opened, and its next checkpoint covers them.
	p = finished(t)
	notes = p.notes(t)
	p.writeNotes(t, append(notes[:5], notes[5][:150]))
	wantTold(t, p.verify(t), "torn checkpoints:6", "cut checkpoints:0")
	l = p.open(t)
	must(t, l.Close())
	wantRecovered(t, p, Recovery{CheckpointBytes: 150})
	wantSound(t, p)
}

// wantRecovered is a log that tells last of what was put right.
func wantRecovered(t testing.TB, p place, want Recovery) {
	t.Helper()
	lines := p.lines(t)
	got := entry(t, lines[len(lines)-1])
	if got.Kind != Recovered || *got.Recovery != want {
		t.Errorf("the last entry is %s, want a recovery of %+v", lines[len(lines)-1], want)
	}
}

// Checkpoints are changed in the folder; lines and tree are not.
func TestTamperWithCheckpoints(t *testing.T) {
	t.Parallel()
	for _, test := range checkpointTamperings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := finished(t)
			p.writeNotes(t, test.change(t, p.notes(t)))
			wantTold(t, p.verify(t), test.want...)
			if test.open != "" {
				openAfter(t, p, test.open, "")
			} else if len(test.want) > 0 && !strings.HasPrefix(test.want[0], "cut") {
				openAfter(t, p, "", test.want[0])
			}
		})
	}
}

// checkpointTamperings change a log's 6 checkpoints.
var checkpointTamperings = []struct {
	name   string
	change func(*testing.T, []string) []string
	want   []string
	open   string // "": Open reads the last one only
}{
	{
		name:   "one-removed-in-the-middle", // nothing is wrong with it: a later one covers what it covered
		change: func(_ *testing.T, n []string) []string { return append(n[:2], n[3:]...) },
	},
	{
		name:   "one-twice", // two hosts may write the same one
		change: func(_ *testing.T, n []string) []string { return append(n, n[5]) },
	},
	{
		name:   "a-damaged-root-in-the-middle",
		change: func(_ *testing.T, n []string) []string { return damaged(n, 2, 2) },
		want:   []string{"checkpoint checkpoints:3"},
	},
	{
		name:   "a-damaged-number-in-the-middle",
		change: func(_ *testing.T, n []string) []string { return edit(n, 2, "\n24\n", "\n25\n") },
		want:   []string{"checkpoint checkpoints:3"},
	},
	{
		name:   "a-damaged-signature-at-the-end",
		change: func(_ *testing.T, n []string) []string { return damaged(n, 5, 6) },
		want:   []string{"checkpoint checkpoints:6", "cut checkpoints:0"},
		open:   "checkpoints: the last one its signature does not fit",
	},
	{
		name:   "bits-of-a-signature-that-no-decoder-looks-at",
		change: func(t *testing.T, n []string) []string { n[2] = unusedBits(t, n[2]); return n },
		want:   []string{"checkpoint checkpoints:3"},
	},
	{
		name:   "swapped",
		change: func(_ *testing.T, n []string) []string { return swap(n, 1, 2) },
		want:   []string{"checkpoint checkpoints:3"},
	},
	{
		name:   "a-missing-line-end-in-the-middle", // all that follow are read at the wrong lines
		change: func(_ *testing.T, n []string) []string { return edit(n, 2, "\n24\n", "24\n") },
		want:   []string{"checkpoint checkpoints:3", "checkpoint checkpoints:4", "checkpoint checkpoints:5", "torn checkpoints:6", "cut checkpoints:0"},
		open:   "checkpoints: the last one",
	},
	{
		name:   "the-last-removed",
		change: func(_ *testing.T, n []string) []string { return n[:5] },
		want:   []string{"cut checkpoints:0"},
	},
	{
		name:   "one-of-another-key-put-in",
		change: func(t *testing.T, n []string) []string { return append(n[:2], finished(t).notes(t)[2], n[3]) },
		want:   []string{"other_key checkpoints:3", "cut checkpoints:0"},
	},
	{
		name:   "one-of-another-key-at-the-end",
		change: func(t *testing.T, n []string) []string { return append(n[:5], finished(t).notes(t)[5]) },
		want:   []string{"other_key checkpoints:6", "cut checkpoints:0"},
		open:   "checkpoints: the last one is signed by another key",
	},
}

// damaged changes one byte in the middle of a line of a checkpoint.
func damaged(notes []string, n, line int) []string {
	lines := strings.SplitAfter(notes[n], "\n")
	half := len(lines[line]) / 2
	digit := "A"
	if lines[line][half] == 'A' {
		digit = "B"
	}
	lines[line] = lines[line][:half] + digit + lines[line][half+1:]
	notes[n] = strings.Join(lines, "")
	return notes
}

// unusedBits changes the last base64 digit of a signature in the bits that
// stand for no byte.
func unusedBits(t *testing.T, signed string) string {
	t.Helper()
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	text, ok := strings.CutSuffix(signed, "=\n")
	if !ok {
		t.Fatalf("a signature without padding: %q", signed)
	}
	last := len(text) - 1
	return text[:last] + string(digits[strings.IndexByte(digits, text[last])^1]) + "=\n"
}
