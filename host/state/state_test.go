package state

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// keeper, in the environment, makes the test binary another process that keeps
// checkpoints in the database of that path.
const keeper = "TOOLHOST_STATE_KEEPER"

func TestMain(m *testing.M) {
	for variable, child := range map[string]func(path string) error{
		keeper: func(path string) error { return keepMany(path, 1) },
		caller: callAsChild,
		victim: waitToBeKilled,
		opener: comeAndGo,
	} {
		if path := os.Getenv(variable); path != "" {
			if err := child(path); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// keepMany keeps checkpoints of odd, or of even, numbers of entries up to 200.
func keepMany(path string, from int64) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	for n := from; n <= 200; n += 2 {
		if err := s.KeepCheckpoint(n, []byte(strconv.FormatInt(n, 10))); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKept(t *testing.T, s *State, want string) {
	t.Helper()
	got, err := s.Checkpoint()
	must(t, err)
	if string(got) != want || (got == nil) != (want == "") {
		t.Errorf("kept is %q, want %q", got, want)
	}
}

func TestTheLatestCheckpointIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "state.db")
	s, err := Open(path)
	must(t, err)
	defer s.Close()
	wantKept(t, s, "")
	for _, step := range []struct {
		entries int64
		note    string
		want    string
	}{
		{5, "five", "five"},
		{9, "nine", "nine"},
		{7, "seven", "nine"},
		{9, "another nine", "nine"},
		{10, "ten", "ten"},
	} {
		must(t, s.KeepCheckpoint(step.entries, []byte(step.note)))
		wantKept(t, s, step.want)
	}
	again, err := Open(path)
	must(t, err)
	defer again.Close()
	wantKept(t, again, "ten")
	read, err := OpenToRead(path)
	must(t, err)
	defer read.Close()
	wantKept(t, read, "ten")
	if err := read.KeepCheckpoint(11, []byte("eleven")); err == nil {
		t.Error("who opened to read has written")
	}
	wantKept(t, again, "ten")
}

func TestOnlyTheOwnerMayRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "state.db")
	s, err := Open(path)
	must(t, err)
	must(t, s.Close())
	for path, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(path)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %04o, want %04o", path, got, want)
		}
	}
}

func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), keeper+"="+path)
	var said strings.Builder
	cmd.Stderr = &said
	must(t, cmd.Start())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := keepMany(path, 2); err != nil {
			t.Error(err)
		}
	})
	wait.Wait()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	s, err := Open(path)
	must(t, err)
	defer s.Close()
	wantKept(t, s, "200")
}

// Where there is no database, or an empty file, none was kept. Nothing is made
// of it.
func TestOpenToReadWhereNoneIsKept(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.db")
	must(t, os.WriteFile(empty, nil, 0o600))
	for _, path := range []string{empty, filepath.Join(dir, "missing.db"), filepath.Join(dir, "missing", "state.db")} {
		s, err := OpenToRead(path)
		must(t, err)
		wantKept(t, s, "")
		must(t, s.Close())
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	info, err := os.Stat(empty)
	must(t, err)
	if len(entries) != 1 || info.Size() != 0 {
		t.Errorf("who only read has made %v, %d bytes", entries, info.Size())
	}
}

func TestNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	must(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
	for name, open := range map[string]func(string) (*State, error){"open": Open, "to read": OpenToRead} {
		if s, err := open(path); err == nil {
			s.Close()
			t.Errorf("%s: a text was taken for a database", name)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not say which file: %v", name, err)
		}
	}
}
