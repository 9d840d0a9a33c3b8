//go:build linux

package capabilities

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// What can lie under a name.

func mkfifo(path string) error { return unix.Mkfifo(path, 0o644) }

// linkTree holds links of both sorts, and what is no regular file.
func linkTree(t testing.TB) fileTree {
	tree := newFileTree(t, "a.txt", "sub/b.txt", "sub/deep/c.txt")
	for name, to := range map[string]string{
		"to-outside":          tree.at("outside/secret.txt"),
		"to-outside-relative": "../../outside/secret.txt",
		"to-session":          "../T-10/x",
		"to-inside":           "a.txt",
		"to-inside-absolute":  tree.own("a.txt"),
		"to-folder-outside":   tree.at("outside"),
		"to-folder-inside":    "sub",
		"to-up":               "..",
		"to-here":             ".",
		"to-nowhere":          "none",
		"to-itself":           "to-itself",
		"to-proc":             "/proc/self/environ",
		"to-cwd":              "/proc/self/cwd",
		"sub/to-deep":         "deep",
		"sub/to-outside":      tree.at("outside"),
	} {
		fileMust(t, os.Symlink(to, tree.own(name)))
	}
	fileMust(t, os.Link(tree.at("outside/secret.txt"), tree.own("hard-outside")))
	fileMust(t, os.Link(tree.at("outside/mid/f.txt"), tree.own("sub/hard-outside")))
	fileWrite(t, tree.own("hard-1"), insideText("hard-1"))
	fileMust(t, os.Link(tree.own("hard-1"), tree.own("hard-2")))
	fileMust(t, mkfifo(tree.own("fifo")))
	bindSocket(t, tree.own("socket"))
	return tree
}

// bindSocket binds a socket by a short path: the kernel takes 108 bytes.
func bindSocket(t testing.TB, path string) {
	t.Helper()
	folder, name := filepath.Split(path)
	t.Chdir(folder)
	l, err := net.Listen("unix", name)
	fileMust(t, err)
	t.Cleanup(func() { _ = l.Close() })
}

func linkCases() map[string]fileCase {
	return map[string]fileCase{
		"file":                             {path: "a.txt"},
		"file-in-a-folder":                 {path: "sub/b.txt"},
		"link-to-a-file-outside":           {path: "to-outside", word: "link"},
		"link-to-a-file-outside-by-dots":   {path: "to-outside-relative", word: "link"},
		"link-to-a-file-of-a-session":      {path: "to-session", word: "link"},
		"link-to-a-file-inside":            {path: "to-inside", word: "link"},
		"link-to-a-file-inside-absolute":   {path: "to-inside-absolute", word: "link"},
		"link-to-a-folder-outside":         {path: "to-folder-outside", word: "link"},
		"link-to-a-folder-inside":          {path: "to-folder-inside", word: "link"},
		"link-to-the-root":                 {path: "to-up", word: "link"},
		"link-to-the-own-folder":           {path: "to-here", word: "link"},
		"link-to-nowhere":                  {path: "to-nowhere", word: "link"},
		"link-to-itself":                   {path: "to-itself", word: "link"},
		"link-to-the-host's-environment":   {path: "to-proc", word: "link"},
		"file-through-a-folder-outside":    {path: "to-folder-outside/secret.txt", word: "link"},
		"file-through-a-folder-inside":     {path: "to-folder-inside/b.txt", word: "link"},
		"file-through-the-root":            {path: "to-up/T-10/x", word: "link"},
		"file-through-the-own-folder":      {path: "to-here/a.txt", word: "link"},
		"file-through-nowhere":             {path: "to-nowhere/a.txt", word: "link"},
		"file-through-itself":              {path: "to-itself/a.txt", word: "link"},
		"file-through-a-magic-link":        {path: "to-cwd/a.txt", word: "link"},
		"file-through-a-link-in-mid-path":  {path: "sub/to-deep/c.txt", word: "link"},
		"file-through-an-outside-mid-path": {path: "sub/to-outside/secret.txt", word: "link"},
		"hard-link-to-a-file-outside":      {path: "hard-outside", word: "hard_link", list: "not_a_folder"},
		"hard-link-in-a-folder":            {path: "sub/hard-outside", word: "hard_link", list: "not_a_folder"},
		"hard-link-with-both-names-inside": {path: "hard-1", word: "hard_link", list: "not_a_folder"},
		"the-other-of-both-names":          {path: "hard-2", word: "hard_link", list: "not_a_folder"},
		"fifo":                             {path: "fifo", word: "not_regular", list: "not_a_folder"},
		"fifo-in-mid-path":                 {path: "fifo/a.txt", word: "not_a_folder"},
		"socket":                           {path: "socket", word: "not_regular", list: "not_a_folder"},
		"socket-in-mid-path":               {path: "socket/a.txt", word: "not_a_folder"},
		"folder-read-as-a-file":            {path: "sub", word: "not_regular", list: "ok"},
		"file-in-mid-path":                 {path: "a.txt/b.txt", word: "not_a_folder"},
		"hard-link-in-mid-path":            {path: "hard-outside/x", word: "not_a_folder"},
	}
}

func TestFilesLinks(t *testing.T) {
	tree := linkTree(t)
	for name, tt := range linkCases() {
		t.Run(name, func(t *testing.T) {
			inTime(t, func() { tree.check(t, tt) })
		})
	}
}

// A device could be endless, and its open alone can do something.
func TestFilesDevices(t *testing.T) {
	tree := newFileTree(t, "a.txt")
	mknod(t, tree.own("zero"), 1, 5)
	mknod(t, tree.own("null"), 1, 3)
	for _, path := range []string{"zero", "null"} {
		t.Run(path, func(t *testing.T) {
			inTime(t, func() {
				tree.check(t, fileCase{path: path, word: "not_regular", list: "not_a_folder"})
				tree.check(t, fileCase{path: path + "/a.txt", word: "not_a_folder"})
			})
		})
	}
}

func mknod(t *testing.T, path string, major, minor uint32) {
	t.Helper()
	err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(major, minor)))
	needs(t, "to make a device", err)
}

// asNobody makes calls without the rights of root, which reads whatever the
// modes say: the kernel takes them from the one thread that the calls run on.
func asNobody(t *testing.T, calls func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		calls()
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Setfsuid(nobody)
	defer unix.Setfsuid(0)
	if is, err := unix.SetfsuidRetUid(-1); is != nobody {
		t.Fatalf("the thread is of user %d: %v", is, err)
	}
	calls()
}

// chmod sets modes, and sets them back so that the tree can be removed.
func (tree fileTree) chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	fileMust(t, os.Chmod(path, mode))
	t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
}

func TestFilesUnreadable(t *testing.T) {
	tree := newFileTree(t, "a.txt", "locked", "shut/a.txt", "blind/a.txt", "stuck/a.txt", "open/locked")
	for path, mode := range map[string]os.FileMode{
		"..": 0o755, ".": 0o755, "a.txt": 0o644, "open": 0o755,
		"locked": 0, "open/locked": 0o200, "shut": 0, "blind": 0o111, "stuck": 0o444,
	} {
		tree.chmod(t, tree.own(path), mode)
	}
	cases := map[string]fileCase{
		"readable":                        {path: "a.txt"},
		"file":                            {path: "locked", word: "unreadable", list: "not_a_folder"},
		"file-in-a-readable-folder":       {path: "open/locked", word: "unreadable", list: "not_a_folder"},
		"folder":                          {path: "shut", word: "not_regular", list: "unreadable"},
		"file-in-an-unreadable-folder":    {path: "shut/a.txt", word: "unreadable"},
		"missing-in-an-unreadable-folder": {path: "shut/none", word: "unreadable"},
		"folder-without-names":            {path: "blind/a.txt", word: "unreadable"},
		"folder-without-passage":          {path: "stuck/a.txt", word: "unreadable"},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			asNobody(t, func() { tree.check(t, tt) })
		})
	}
	tree.chmod(t, tree.at("root/T-1"), 0)
	asNobody(t, func() {
		tree.wantDenial(t, tree.reach(nil).Admit(t.Context()), "unreadable")
		tree.check(t, fileCase{path: "a.txt", word: "unreadable"})
	})
	tree.chmod(t, tree.at("root"), 0)
	asNobody(t, func() { tree.checkFolder(t, folderCase{word: "unreadable"}) })
}

// Another program that holds a lease on a file can hold up who opens it.
func TestFilesLease(t *testing.T) {
	tree := newFileTree(t, "a.txt")
	file, err := os.OpenFile(tree.own("a.txt"), os.O_RDWR, 0)
	fileMust(t, err)
	defer file.Close()
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	needs(t, "to take a lease", err)
	path := "a.txt"
	inTime(t, func() {
		if err := tree.reach(&path).Admit(t.Context()); err == nil {
			t.Error("the gate admits it")
		}
		if a, err := tree.reach(nil).Call(t.Context(), "read", fileRequest(t, "path", path)); err == nil && a.Status == OK {
			t.Errorf("read gives %s", a.Body)
		}
	})
}
