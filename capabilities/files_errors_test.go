//go:build linux

package capabilities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"
)

// What lies with the file is denied, what lies with the host fails, and neither
// tells where the file is.
func TestDenial(t *testing.T) {
	const path = "/srv/desk/T-1/a.txt"
	for name, tt := range map[string]struct {
		err  error
		word string // "": the host's
	}{
		"no-such-file":             {syscall.ENOENT, "not_there"},
		"no-permission":            {syscall.EACCES, "unreadable"},
		"not-permitted":            {syscall.EPERM, "unreadable"},
		"no-folder":                {syscall.ENOTDIR, "changed"},
		"too-many-links":           {syscall.ELOOP, "changed"},
		"no-device":                {syscall.ENXIO, "changed"},
		"a-folder-to-read":         {syscall.EISDIR, "changed"},
		"name-too-long-for-disk":   {syscall.ENAMETOOLONG, "not_there"},
		"name-no-name-on-disk":     {syscall.EINVAL, "not_there"},
		"bytes-no-name-on-disk":    {syscall.EILSEQ, "not_there"},
		"beyond-the-folder":        {errors.New("path escapes from parent"), "changed"},
		"a-denial":                 {errHardLink, "hard_link"},
		"a-denial-within":          {fmt.Errorf("%s: %w", path, errLink), "link"},
		"no-handles-left":          {syscall.EMFILE, ""},
		"no-handles-on-the-system": {syscall.ENFILE, ""},
		"no-memory":                {syscall.ENOMEM, ""},
		"disk-that-fails":          {syscall.EIO, ""},
		"closed":                   {os.ErrClosed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{tt.err, &fs.PathError{Op: "openat", Path: path, Err: tt.err}} {
				var d *Denial
				got := denial(err)
				switch {
				case got == nil || strings.Contains(got.Error(), path):
					t.Errorf("says %v", got)
				case errors.As(got, &d) != (tt.word != ""):
					t.Errorf("%v is %T", err, got)
				case d != nil && d.Word != tt.word:
					t.Errorf("%v is %s, want %s", err, d.Word, tt.word)
				}
			}
		})
	}
}

// hostFails wants that the host says of each function that it failed, without
// its paths.
func (tree fileTree) hostFails(t *testing.T, whole, only *FilesReach) {
	t.Helper()
	read := func(r *FilesReach, function, member string) error {
		a, err := r.Call(t.Context(), function, fileRequest(t, member, "sub/a.txt"))
		if len(a.Body) > 0 {
			t.Errorf("%s gives %s", function, a.Body)
		}
		return err
	}
	for name, err := range map[string]error{
		"gate": only.Admit(t.Context()), "gate-without-a-file": whole.Admit(t.Context()),
		"read": read(whole, "read", "path"), "read-of-only": read(only, "read", "path"), "list": read(whole, "list", "folder"),
	} {
		if err == nil || errors.As(err, new(*Denial)) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tree.showsNothing(t, err.Error())
	}
}

// A capability that was closed denies nothing and gives nothing: it fails.
func TestFilesClosed(t *testing.T) {
	tree := newFileTree(t, "sub/a.txt")
	path := "sub/a.txt"
	fileMust(t, tree.files.Close())
	tree.hostFails(t, tree.reach(nil), tree.reach(&path))
}

// Wherever in a check the handles run out, the host says that it failed, and
// leaves none.
func TestFilesOutOfHandles(t *testing.T) {
	tree := newFileTree(t, "sub/a.txt")
	path := "sub/a.txt"
	whole, only := tree.reach(nil), tree.reach(&path)
	var was unix.Rlimit
	fileMust(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	next := fillHandles(t)
	before, failed := tree.handles(t), 0
	for free := range 10 {
		fileMust(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: next + uint64(free), Max: was.Max}))
		errs := []error{only.Admit(t.Context()), whole.Admit(t.Context())}
		for function, member := range map[string]string{"read": "path", "list": "folder"} {
			text := map[string]string{"read": path, "list": "sub"}[function]
			a, err := whole.Call(t.Context(), function, fileRequest(t, member, text))
			if errs = append(errs, err); err == nil && a.Status != OK {
				t.Errorf("with %d handles: %s says %s %q", free, function, a.Status.Word(), a.Reason)
			}
		}
		fileMust(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
		for _, err := range errs {
			if err == nil {
				continue
			}
			failed++
			if errors.As(err, new(*Denial)) || !errors.Is(err, syscall.EMFILE) {
				t.Errorf("with %d handles: %v", free, err)
			}
			tree.showsNothing(t, err.Error())
		}
		if after := tree.handles(t); after != before {
			t.Errorf("with %d handles: %d are open, then %d", free, before, after)
		}
	}
	if failed < 4 {
		t.Errorf("the handles ran out %d times", failed)
	}
}

// fillHandles opens handles until none is free below the number that it gives.
func fillHandles(t *testing.T) uint64 {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	fileMust(t, err)
	highest := 0
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		fileMust(t, err)
		highest = max(highest, n)
	}
	for fd := 0; fd <= highest; {
		fd, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		fileMust(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		highest = max(highest, fd-1)
	}
	return uint64(highest) + 2
}

// What a disk says in the middle of a file is the host's matter.
func TestFilesReadFails(t *testing.T) {
	tree := newFileTree(t)
	broken := iotest.ErrReader(&fs.PathError{Op: "read", Path: tree.own("a.txt"), Err: syscall.EIO})
	data, err := tree.reach(nil).content(broken)
	if data != nil || !errors.Is(err, syscall.EIO) || errors.As(err, new(*Denial)) {
		t.Fatalf("%q, %v", data, err)
	}
	tree.showsNothing(t, err.Error())
	a, err := tree.reach(nil).notAvailable("a.txt", err)
	if err == nil || a.Asked != "a.txt" || len(a.Body) > 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	tree.showsNothing(t, err.Error())
}

// A call that was given up gives nothing from elsewhere and leaves nothing: the
// check of a local file is too short to be broken off.
func TestFilesCancelled(t *testing.T) {
	tree := newFileTree(t, "a.txt")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := "a.txt"
	before := tree.handles(t)
	tree.wantDenial(t, tree.reach(&path).Admit(ctx), "")
	_, err := tree.reach(nil).Call(ctx, "read", fileRequest(t, "path", path))
	fileMust(t, err)
	if after := tree.handles(t); after != before {
		t.Errorf("%d handles, then %d", before, after)
	}
}

// No case of any table leaves a handle, nor do a thousand rounds. The collector
// rests, as it closes what was lost.
func TestFilesHandles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	paths, links, folders := pathTree(t), linkTree(t), folderTree(t)
	for name, tt := range pathCases(paths) {
		paths.keepsHandles(t, name, func() { paths.check(t, tt) })
	}
	for name, tt := range linkCases() {
		links.keepsHandles(t, name, func() { links.check(t, tt) })
	}
	for name, tt := range folderCases(folders) {
		folders.keepsHandles(t, name, func() { folders.checkFolder(t, tt) })
	}
	links.keepsHandles(t, "a thousand rounds", func() {
		for range 1000 {
			for _, path := range []string{"a.txt", "sub/b.txt", "to-outside", "sub/to-outside/secret.txt", "hard-1", "fifo", "none"} {
				only := path
				_ = links.reach(&only).Admit(t.Context())
				_ = links.reach(nil).Admit(t.Context())
				_, _ = links.reach(nil).Call(t.Context(), "read", fileRequest(t, "path", path))
				_, _ = links.reach(nil).Call(t.Context(), "list", fileRequest(t, "folder", path))
			}
		}
	})
}

func (tree fileTree) keepsHandles(t *testing.T, name string, calls func()) {
	t.Helper()
	before := tree.handles(t)
	calls()
	if after := tree.handles(t); after != before {
		t.Errorf("%s: %d handles, then %d", name, before, after)
	}
}
