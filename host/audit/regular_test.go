//go:build unix

package audit

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/regularfile"
)

// within fails the test where something waits for what never comes.
func within[T any](t *testing.T, most time.Duration, do func() T) T {
	t.Helper()
	done := make(chan T, 1)
	go func() { done <- do() }()
	select {
	case out := <-done:
		return out
	case <-time.After(most):
		t.Fatalf("has not ended within %s", most)
		panic("not reached")
	}
}

// seen is what a log's readers said.
type seen struct {
	told      []string
	verifyErr error
	showErr   error
	shown     int
	lookErr   error
}

// readBy lets every reader at a log, and none of them wait.
func (p place) readBy(t *testing.T, kept []KeptCheckpoint) seen {
	t.Helper()
	return within(t, 5*time.Second, func() (s seen) {
		var r *Report
		if r, s.verifyErr = Verify(p.folder(), VerifyOptions{KeyFile: p.keyFile(), Kept: kept}); s.verifyErr == nil {
			s.told = told(r)
		}
		s.lookErr = Look(Options{Folder: p.folder(), Key: p.keyFile(), State: keptNote(kept)})
		reader, err := OpenReader(p.folder(), p.keyFile())
		if err != nil {
			s.showErr = err
			return s
		}
		defer reader.Close()
		s.showErr = reader.Find(Filter{After: -1}, func(Record) error { s.shown++; return nil })
		return s
	})
}

// What is no regular file is found, and nobody waits for it (a FIFO) or reads
// it for ever (a device).
func TestNoRegularFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		told       []string // by Verify
		show, look bool     // are errors
	}{
		{entriesFile, []string{"missing entries.jsonl:0"}, true, true},
		{treeFile, []string{"tree tree:0"}, false, true},
		{checkpointsFile, []string{"checkpoint checkpoints:0"}, false, true},
		{peopleFile, []string{"values people.db:0"}, true, true},
		{peopleFile + "-journal", []string{"values people.db:0"}, true, true},
		{peopleFile + "-wal", []string{"values people.db:0"}, true, true},
		{dayFile, []string{"values " + dayFile + ":0"}, true, false},
		{indexFile, nil, true, false},
		{indexFile + "-journal", nil, true, false},
	} {
		for kind, put := range map[string]func(path string) error{
			"fifo":             func(path string) error { return unix.Mkfifo(path, 0o600) },
			"link-to-a-device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"folder":           func(path string) error { return os.Mkdir(path, 0o700) },
			"socket":           func(path string) error { return socket(t, path) },
		} {
			t.Run(strings.ReplaceAll(test.name, "/", "-")+"/"+kind, func(t *testing.T) {
				t.Parallel()
				p := finished(t)
				kept := p.kept(t)
				must(t, os.RemoveAll(p.file(test.name)))
				must(t, put(p.file(test.name)))
				got := p.readBy(t, kept)
				if got.verifyErr != nil || !slices.Equal(got.told, test.told) {
					t.Errorf("verify found %v, want %v (%v)", got.told, test.told, got.verifyErr)
				}
				if test.show != errors.Is(got.showErr, regularfile.ErrNotRegular) || test.show != (got.showErr != nil) {
					t.Errorf("show says %v", got.showErr)
				} else if test.show && !strings.Contains(got.showErr.Error(), test.name) {
					t.Errorf("%v does not name %s", got.showErr, test.name)
				} else if !test.show && got.shown != 41 {
					t.Errorf("%d entries are shown", got.shown)
				}
				if test.look != (got.lookErr != nil) {
					t.Errorf("look says %v", got.lookErr)
				}
			})
		}
	}
}

// socket makes one, by a short name: the path of a socket has 100 bytes at most.
func socket(t *testing.T, path string) error {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s")})
	if err != nil {
		return err
	}
	t.Cleanup(func() { l.Close() })
	l.SetUnlinkOnClose(false)
	return os.Symlink(filepath.Join(dir, "s"), path)
}

// A link to a regular file is as good as the file.
func TestLinksToFiles(t *testing.T) {
	t.Parallel()
	p := finished(t)
	kept, elsewhere := p.kept(t), t.TempDir()
	for _, name := range []string{entriesFile, treeFile, checkpointsFile, peopleFile, theDay} {
		at := p.file(name)
		if name == theDay {
			at = p.file(dayFile)
		}
		must(t, os.Rename(at, filepath.Join(elsewhere, name)))
		must(t, os.Symlink(filepath.Join(elsewhere, name), at))
	}
	got := p.readBy(t, kept)
	if got.verifyErr != nil || len(got.told) > 0 || got.showErr != nil || got.shown != 41 || got.lookErr != nil {
		t.Errorf("%+v", got)
	}
}

// Nothing is sealed into what is no regular file.
func TestNoRegularValues(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	must(t, os.MkdirAll(p.file(valuesFolder), 0o700))
	must(t, unix.Mkfifo(p.file(dayFile), 0o600))
	err := within(t, 5*time.Second, func() error {
		var v valueFile
		defer v.close()
		return v.of(p.folder(), theDay)
	})
	if !errors.Is(err, regularfile.ErrNotRegular) {
		t.Errorf("a FIFO was opened to seal into: %v", err)
	}
}
