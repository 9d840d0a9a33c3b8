package state

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/sqlitefile"
)

// contents are the names and bytes of all files of a folder. A -shm is an index
// into the -wal that every reader may make anew.
func contents(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-shm") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		must(t, err)
		info, err := e.Info()
		must(t, err)
		fmt.Fprintf(&b, "%s %d %x\n", e.Name(), info.ModTime().UnixNano(), data)
	}
	return b.String()
}

// leftBehind copies the files that a host has left in path, as it was killed.
func leftBehind(t *testing.T, to string, suffixes ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(path)
	must(t, err)
	defer s.Close()
	_, err = s.Bounds(small(), time.Now)
	must(t, err)
	must(t, s.KeepCheckpoint(5, []byte("five")))
	for _, suffix := range suffixes {
		data, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(to+suffix, data, 0o600))
	}
}

// databases are what who reads may find.
var databases = []struct {
	name string
	make func(t *testing.T, path string)
	want string
}{
	{"a-host-was-closed", func(t *testing.T, path string) {
		s, err := Open(path)
		must(t, err)
		_, err = s.Bounds(small(), time.Now)
		must(t, err)
		must(t, s.KeepCheckpoint(5, []byte("five")))
		must(t, s.Close())
		if _, err := os.Stat(path + "-wal"); err == nil {
			t.Error("a host that was closed has left a -wal")
		}
	}, "five"},
	{"a-host-was-killed", func(t *testing.T, path string) { leftBehind(t, path, "", "-wal", "-shm") }, "five"},
	{"of-an-older-version", func(t *testing.T, path string) {
		db, err := sql.Open("sqlite", sqlitefile.Name(path, nil))
		must(t, err)
		defer db.Close()
		_, err = db.Exec(`CREATE TABLE audit_checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), entries INTEGER NOT NULL, note BLOB NOT NULL) STRICT;
			INSERT INTO audit_checkpoint VALUES (1, 5, CAST('five' AS BLOB))`)
		must(t, err)
	}, "five"},
	{"nothing-kept", func(t *testing.T, path string) {
		s, err := Open(path)
		must(t, err)
		must(t, s.Close())
	}, ""},
}

func TestOpenToReadChangesNothing(t *testing.T) {
	for _, c := range databases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			c.make(t, path)
			before := contents(t, filepath.Dir(path))
			for range 2 {
				s, err := OpenToRead(path)
				must(t, err)
				wantKept(t, s, c.want)
				must(t, s.Close())
			}
			if after := contents(t, filepath.Dir(path)); after != before {
				t.Errorf("who read has changed\n%.300s\nto\n%.300s", before, after)
			}
			again := openBounds(t, path, small(), time.Now) // an older one becomes one of ours
			wantStanding(t, again, call("s", "x"), Admitted)
			read, err := OpenToRead(path)
			must(t, err)
			wantKept(t, read, c.want)
		})
	}
}

// The same where nothing can be written: a copy on a disk that is read-only.
func TestOpenToReadOnAReadOnlyDisk(t *testing.T) {
	for _, c := range databases {
		t.Run(c.name, func(t *testing.T) {
			disk := t.TempDir()
			mount(t, "-t", "tmpfs", "-o", "size=4m,mode=0700", "toolhost-state", disk)
			t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
			path := filepath.Join(disk, "state.db")
			c.make(t, path)
			mount(t, "-o", "remount,ro", disk)
			s, err := OpenToRead(path)
			must(t, err)
			wantKept(t, s, c.want)
		})
	}
}

func mount(t *testing.T, args ...string) {
	t.Helper()
	if said, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		if os.Getenv("TOOLHOST_NEEDS") == "all" {
			t.Fatalf("needs to mount a tmpfs: %s", said)
		}
		t.Skipf("needs to mount a tmpfs: %s", said)
	}
}

// A copy of the file and its -wal is whole; the -shm is made again.
func TestOpenToReadOfACopyWithItsWAL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	leftBehind(t, path, "", "-wal")
	s, err := OpenToRead(path)
	must(t, err)
	wantKept(t, s, "five")
}

// Who reads while a host runs gets what it has kept last, and takes nothing from
// it: another host that closes must not take the WAL away.
func TestReadersBesideAHost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(path)
	must(t, err)
	b, err := s.Bounds(small(), time.Now)
	must(t, err)
	for n := range int64(20) {
		must(t, s.KeepCheckpoint(n+1, fmt.Append(nil, n)))
		read, err := OpenToRead(path)
		must(t, err)
		wantKept(t, read, fmt.Sprint(n))
		cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
		if n%10 == 5 {
			cmd.Env = append(os.Environ(), opener+"="+path)
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			if _, err := os.Stat(path + "-wal"); err != nil {
				t.Fatal("another host has taken the WAL away: ", err)
			}
		}
		if again, err := Open(path); err != nil {
			t.Fatal(err)
		} else {
			must(t, again.Close())
		}
		refuse(t, b, who(fmt.Sprint(n)), false)
	}
	must(t, s.Close())
	read, err := OpenToRead(path)
	must(t, err)
	wantKept(t, read, "19")
	wantRows(t, openBounds(t, path, small(), time.Now), "refusal", 20)
}

// opener, in the environment, makes the test binary a host that comes and goes.
const opener = "TOOLHOST_STATE_OPENER"

func comeAndGo(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	return s.Close()
}
