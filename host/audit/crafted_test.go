package audit

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Files that are made to fill the memory of who reads them, or to take for ever.

// bounded runs what must end soon, and take little memory on the way. Tests with
// it are not parallel: what others take would count.
func bounded(t *testing.T, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	timer := time.AfterFunc(time.Minute, func() { panic("has not ended within a minute") })
	do()
	timer.Stop()
	runtime.ReadMemStats(&after)
	if took, most := time.Since(began), 30*time.Second*slow; took > most {
		t.Errorf("took %s, more than %s", took, most)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 200 {
		t.Errorf("%d MB were taken", got)
	}
}

// grow makes a file so much longer, by a hole where it can have one.
func (p place) grow(t *testing.T, name string, by int64) {
	t.Helper()
	info, err := os.Stat(p.file(name))
	must(t, err)
	must(t, os.Truncate(p.file(name), info.Size()+by))
}

// showErr is what a reader says.
func (p place) showErr(t *testing.T) error {
	t.Helper()
	r, err := OpenReader(p.folder(), p.keyFile())
	must(t, err)
	defer r.Close()
	return r.Find(Filter{After: -1}, func(Record) error { return nil })
}

func TestLineWithoutAnEnd(t *testing.T) {
	p := finished(t)
	p.grow(t, entriesFile, 1<<30)
	bounded(t, func() { wantTold(t, p.verify(t), "torn entries.jsonl:42") })
	must(t, os.Truncate(p.file(entriesFile), 256<<20))
	bounded(t, func() {
		if got := p.found(t, p.keyFile(), Filter{}); len(got) != 41 {
			t.Errorf("%d entries are found", len(got))
		}
	})
}

// A line that is too long is one line, in any place, and is told once.
func TestLongLine(t *testing.T) {
	for name, test := range map[string]struct {
		change func([]string) []string
		anew   bool // the tree is made of the lines
		want   []string
		line   string
	}{
		"at-the-end": {
			func(l []string) []string { return append(l, long) }, false,
			[]string{"edited entries.jsonl:42"},
			"line 42",
		},
		"put-in": {
			func(l []string) []string { return slices.Insert(l, 11, long) }, false,
			[]string{"edited entries.jsonl:12", "rewritten the state database:0", "rewritten entries.jsonl:9"},
			"line 12",
		},
		"in-the-place-of-another": {
			func(l []string) []string { l[11] = long; return l }, false,
			[]string{"edited entries.jsonl:12", "rewritten the state database:0", "rewritten entries.jsonl:9"},
			"line 12",
		},
		"with-its-hash": {
			func(l []string) []string { l[11] = long; return l }, true,
			[]string{"edited entries.jsonl:12", "rewritten the state database:0", "rewritten entries.jsonl:9"},
			"line 12",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := finished(t)
			p.writeLines(t, test.change(p.lines(t)))
			if test.anew {
				p.treeAnew(t)
			}
			r := p.verify(t)
			wantTold(t, r, test.want...)
			if r.Findings[0].Text != errLongLine.Error() {
				t.Errorf("is told as %q", r.Findings[0].Text)
			}
			err := p.showErr(t)
			if err == nil || !strings.Contains(err.Error(), "entries.jsonl, "+test.line+": the line is longer") || strings.Contains(err.Error(), indexFile) {
				t.Errorf("a reader says %v", err)
			}
		})
	}
}

var long = strings.Repeat("x", maxLine+1)

func TestLineReader(t *testing.T) {
	for _, size := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, maxLine - 1, maxLine, maxLine + 1, maxLine + 2, 3*maxLine + 5} {
		line := bytes.Repeat([]byte("y"), size)
		data := append(slices.Concat([]byte("a\n"), line), "\nb\ntorn"...)
		in := newLineReader(bytes.NewReader(data), 0, int64(len(data))).withHashes()
		var got []tlog.Hash
		for {
			text, taken, err := in.next()
			if err == nil {
				got = append(got, tlog.RecordHash(text))
			} else if err == errLongLine && text == nil && size > maxLine { //nolint:errorlint // itself
				got = append(got, in.longLeaf())
			} else {
				if taken != 4 {
					t.Errorf("%d bytes are torn: %v", taken, err)
				}
				break
			}
		}
		if want := []tlog.Hash{tlog.RecordHash([]byte("a")), tlog.RecordHash(line), tlog.RecordHash([]byte("b"))}; !slices.Equal(got, want) {
			t.Errorf("a line of %d bytes: %v, want %v", size, got, want)
		}
	}
}

func TestCheckpointsOfNothing(t *testing.T) {
	for name, more := range map[string][]byte{
		"newlines":       bytes.Repeat([]byte("\n"), 20<<20),
		"lines":          bytes.Repeat([]byte("toolhost-audit/x\n"), 1<<20),
		"one-long-line":  bytes.Repeat([]byte("x"), 20<<20),
		"some-long-ones": bytes.Repeat(append(bytes.Repeat([]byte("x"), 5000), '\n'), 4000),
	} {
		t.Run(name, func(t *testing.T) {
			p := finished(t)
			p.write(t, checkpointsFile, append(p.read(t, checkpointsFile), more...))
			bounded(t, func() {
				r := p.verify(t)
				if n := len(r.Findings); n > maxFindings+1 || n == 0 {
					t.Errorf("%d findings", n)
				}
				last := r.Findings[len(r.Findings)-1]
				if last.File != checkpointsFile || last.Fault != FaultCheckpoint || len(r.Findings) > 1 && last.Text != "and more from here on" {
					t.Errorf("the last one is %+v", last)
				}
				if r.Signed != 41 || r.Kept != 1 {
					t.Errorf("signed %d, kept %d", r.Signed, r.Kept)
				}
			})
		})
	}
	p := finished(t)
	p.grow(t, checkpointsFile, 1<<30)
	bounded(t, func() { wantTold(t, p.verify(t), "checkpoint checkpoints:7") })
}

// Checkpoints of what is not there any more are told up to a number, too.
func TestManyCheckpointsOfACutLog(t *testing.T) {
	p := finished(t)
	notes := p.notes(t)
	p.writeNotes(t, append(notes, slices.Repeat(notes[5:], 300)...))
	p.cutLines(t, 4)
	r := p.verify(t)
	n := 0
	for _, f := range r.Findings {
		if f.File == checkpointsFile {
			n++
		}
	}
	if n != maxFindings+1 {
		t.Errorf("%d findings of checkpoints", n)
	}
}

// cutLines leaves so many lines.
func (p place) cutLines(t *testing.T, n int) {
	t.Helper()
	p.writeLines(t, p.lines(t)[:n])
	p.treeAnew(t)
}

func TestTreeOfNothing(t *testing.T) {
	p := finished(t)
	p.grow(t, treeFile, 1<<30)
	bounded(t, func() { wantTold(t, p.verify(t), "cut entries.jsonl:42") })
}

// Lines of which none follows another are not all held in memory.
func TestLinesOfNothing(t *testing.T) {
	for name, line := range map[string]string{"empty": "\n", "no-entries": "{}\n"} {
		t.Run(name, func(t *testing.T) {
			p := finished(t)
			data := append(p.read(t, entriesFile), bytes.Repeat([]byte(line), 150_000)...)
			p.write(t, entriesFile, data)
			r := p.verify(t)
			if n := len(r.Findings); n == 0 || n > maxFindings+2 {
				t.Errorf("%d findings", n)
			}
			if r.Findings[0].Line != 42 || r.Findings[0].Fault != FaultInserted {
				t.Errorf("first %+v", r.Findings[0])
			}
			if r.Entries != 150_041 {
				t.Errorf("%d lines", r.Entries)
			}
			p.treeAnew(t)
			if n := len(p.verify(t).Findings); n == 0 || n > maxFindings+2 {
				t.Errorf("with their hashes %d findings", n)
			}
		})
	}
}

// No more is read of what is sealed than an entry can have, nor than there is.
func TestSealedOfNothing(t *testing.T) {
	t.Run("many", func(t *testing.T) {
		p := finished(t)
		lines := p.lines(t)
		i := strings.Index(lines[11], `"sealed":[`) + len(`"sealed":[`)
		lines[11] = lines[11][:i] + strings.Repeat(`{"at":0,"bytes":67108864,"file":"`+theDay+`","person":"x"},`, 30_000) + lines[11][i:]
		p.writeLines(t, lines)
		p.treeAnew(t)
		p.grow(t, dayFile, 1<<30)
		bounded(t, func() {
			if found := told(p.verify(t)); !slices.Contains(found, "edited entries.jsonl:12") {
				t.Errorf("verify found %v", found)
			}
		})
		bounded(t, func() {
			if err := p.showErr(t); err == nil || !strings.Contains(err.Error(), "entries.jsonl, line 12") {
				t.Errorf("a reader says %v", err)
			}
		})
	})
	t.Run("more-than-there-is", func(t *testing.T) {
		p := finished(t)
		for _, ref := range []SealedRef{
			{At: 0, Bytes: maxSealed, File: theDay},
			{At: 1 << 40, Bytes: maxSealed, File: theDay},
			{At: 1<<63 - 1, Bytes: 1, File: theDay},
			{At: 0, Bytes: maxSealed + 1, File: theDay},
			{At: -1, Bytes: 1, File: theDay},
		} {
			bounded(t, func() {
				for range 100 {
					if blob, err := readValue(p.folder(), ref); err == nil {
						t.Errorf("%+v: %d bytes", ref, len(blob))
					}
				}
			})
		}
	})
}
