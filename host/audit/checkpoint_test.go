package audit

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/mod/sumdb/note"
)

// When a log is signed, and who gets to know.

// sizes are the entries that the folder's checkpoints cover.
func (p place) sizes(t *testing.T) (out []int64) {
	t.Helper()
	for _, n := range p.notes(t) {
		c, err := openCheckpoint([]byte(n), p.public(t))
		must(t, err)
		out = append(out, c.Entries)
	}
	return out
}

func TestCheckpointsByNumberAndAtTheEnd(t *testing.T) {
	p := finished(t)
	want := []int64{8, 16, 24, 32, 40, 41}
	got := p.sizes(t)
	if len(got) != len(want) {
		t.Fatalf("checkpoints of %v entries, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("checkpoints of %v entries, want %v", got, want)
		}
	}
	if kept, notes := p.kept(t), p.notes(t); string(kept[0].Note) != notes[len(notes)-1] {
		t.Errorf("the state database keeps\n%s\nthe last one is\n%s", kept[0].Note, notes[len(notes)-1])
	}
	must(t, p.open(t).Close())
	if n := len(p.notes(t)); n != len(want) {
		t.Errorf("a log to which nothing came has %d checkpoints, had %d", n, len(want))
	}
}

func TestCheckpointsByTime(t *testing.T) {
	p := newPlace(t)
	l := p.open(t, func(o *Options) { o.CheckpointTime = 100 * time.Millisecond })
	for n := range int64(3) {
		must(t, l.Append(ended(int(n), "C-00001")))
		waitFor(t, "a checkpoint by time", func() bool {
			data := p.mayRead(t, checkpointsFile)
			last, _, err := lastNote(bytes.NewReader(data), int64(len(data)))
			must(t, err)
			if last == nil {
				return false
			}
			c, err := openCheckpoint(last, p.public(t))
			must(t, err)
			return c.Entries == n+2
		})
	}
	must(t, l.Close())
	wantSound(t, p)
}

// Each checkpoint is sent, in order and as it was signed, without a secret of
// the host's environment.
func TestCheckpointCommand(t *testing.T) {
	p := newPlace(t)
	sent, env := p.path("sent"), p.path("env")
	script := p.path("send.sh")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\ncat >> \"$1\"\nenv > \"$2\"\n"), 0o700)) //nolint:gosec // it is to be run
	t.Setenv("TOOLHOST_TEST_SECRET", "hunter2")
	l := p.open(t, eights, func(o *Options) { o.CheckpointCommand = []string{script, sent, env} })
	appendAll(t, l, 20, 1)
	must(t, l.Close())
	got, err := os.ReadFile(sent)
	must(t, err)
	if want := p.read(t, checkpointsFile); !bytes.Equal(got, want) || len(p.notes(t)) != 3 {
		t.Errorf("sent was\n%s\nwant\n%s", got, want)
	}
	text, err := os.ReadFile(env)
	must(t, err)
	if strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "PATH=") {
		t.Errorf("the command has the environment\n%s", text)
	}
}

// A command that fails, is missing, or hangs holds nothing up: not a call, and
// not Close for longer than one checkpoint may take.
func TestCheckpointCommandThatDoesNot(t *testing.T) {
	for name, command := range map[string][]string{
		"fails":            {"sh", "-c", "echo no such server >&2; exit 3"},
		"is-missing":       {"/nowhere/to-be-found"},
		"hangs":            {"sleep", "1000"},
		"hangs-in-a-child": {"sh", "-c", "sleep 3 & wait"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("sleep"); err != nil {
				t.Fatal(err)
			}
			p := newPlace(t)
			var said saidBy
			l := p.open(t, eights, func(o *Options) {
				o.CheckpointEntries, o.CheckpointCommand, o.sendTime = 1, command, 300*time.Millisecond
				o.Log = hclog.New(&hclog.LoggerOptions{Output: &said})
			})
			began := time.Now()
			appendAll(t, l, 40, 1)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("40 entries took %s", took)
			}
			began = time.Now()
			must(t, l.Close())
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("to close took %s", took)
			}
			if !strings.Contains(said.String(), "the checkpoint command failed") {
				t.Errorf("nobody was told: %s", said.String())
			}
			if r := wantSound(t, p); r.Checkpoints != 40 {
				t.Errorf("%d checkpoints, want 40", r.Checkpoints)
			}
		})
	}
}

// broken is a state database whose disk is full.
type broken struct{}

func (broken) Checkpoint() ([]byte, error)        { return nil, nil } //nolint:nilnil // none is kept
func (broken) KeepCheckpoint(int64, []byte) error { return errors.New("no room for it") }

// Where the state database cannot keep a checkpoint, the log goes on, and the
// checkpoint is in its folder.
func TestCheckpointThatIsNotKept(t *testing.T) {
	p := newPlace(t)
	var said saidBy
	l := p.open(t, eights, func(o *Options) {
		o.State, o.Log = broken{}, hclog.New(&hclog.LoggerOptions{Output: &said})
	})
	appendAll(t, l, 20, 1)
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "no room for it") {
		t.Errorf("the last checkpoint is not kept, and Close says %v", err)
	}
	if !strings.Contains(said.String(), "no room for it") {
		t.Errorf("nobody was told: %s", said.String())
	}
	if r := p.verify(t); len(r.Findings) > 0 || r.Signed != 21 {
		t.Errorf("%d entries of 21 are signed%s", r.Signed, inWords(r))
	}
}

// There is one way to write a checkpoint. What the key has signed and is
// written otherwise, or is of another log, is none.
func TestCheckpointForms(t *testing.T) {
	good := Checkpoint{Origin: quickOrigin, Entries: 7, Bytes: 900, Time: monday}
	sign := func(text string) []byte {
		signed, err := note.Sign(&note.Note{Text: text}, quickKey{})
		must(t, err)
		return signed
	}
	if c, err := openCheckpoint(sign(good.text()), quickKey{}); err != nil || c != good {
		t.Fatalf("%+v: %v", c, err)
	}
	other := good
	other.Origin = originPrefix + "OTHER"
	for name, text := range map[string]string{
		"of-another-log":    other.text(),
		"a-zero-in-front":   strings.Replace(good.text(), "\n7\n", "\n07\n", 1),
		"a-sign":            strings.Replace(good.text(), "\n7\n", "\n+7\n", 1),
		"less-than-nothing": strings.Replace(good.text(), "\n7\n", "\n-7\n", 1),
		"more-than-64-bits": strings.Replace(good.text(), "\n7\n", "\n99999999999999999999\n", 1),
		"another-zone":      strings.Replace(good.text(), "Z\n", "+00:00\n", 1),
		"parts-of-seconds":  strings.Replace(good.text(), "Z\n", ".5Z\n", 1),
		"no-bytes":          strings.Replace(good.text(), "bytes 900\n", "900\n", 1),
		"a-line-too-many":   good.text() + "more\n",
		"a-line-too-few":    strings.Replace(good.text(), "bytes 900\n", "", 1),
		"bits-of-the-root-that-no-decoder-looks-at": strings.Replace(good.text(), "A=\n", "B=\n", 1),
		"nothing": "\n",
	} {
		if c, err := openCheckpoint(sign(text), quickKey{}); err == nil {
			t.Errorf("%s was taken for %+v", name, c)
		}
	}
}
