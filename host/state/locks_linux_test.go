package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Who opens the file of a database that this process has open, to write or to
// read, must leave it its locks.
func TestOpeningAgainKeepsTheLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(path)
	must(t, err)
	defer s.Close()
	must(t, s.KeepCheckpoint(1, []byte("one")))
	if locksOn(t, path) == 0 {
		t.Fatal("an open database has no lock")
	}
	read, err := OpenToRead(path)
	must(t, err)
	wantKept(t, read, "one")
	again, err := Open(path)
	must(t, err)
	must(t, again.Close())
	if locksOn(t, path) == 0 {
		t.Error("the locks of the open database are gone")
	}
}

// locksOn counts the locks that this process holds on a file.
func locksOn(t *testing.T, path string) (held int) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	all, err := os.ReadFile("/proc/locks")
	must(t, err)
	of, on := fmt.Sprintf(" %d ", os.Getpid()), fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for _, line := range strings.Split(string(all), "\n") {
		if strings.Contains(line, of) && strings.Contains(line, on) {
			held++
		}
	}
	return held
}
