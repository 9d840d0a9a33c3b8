//go:build linux

package capabilities

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/strictjson"
)

// The tests of the kind "files" need FIFOs, devices, /proc, and file systems
// that tell names apart byte by byte: they are for Linux.

const (
	fileMarker = "MARKER-OF-ANOTHER" // in every file, and in names of files, that T-1 must not see
	fileMost   = 4096                // max_bytes
	fileTime   = 60 * time.Second    // what takes longer hangs
)

// fileTree is a folder with the root of a files capability and what lies
// outside it. Session T-1 is the one that asks; each of its files says "inside"
// and its own path. T-10 is another session.
type fileTree struct {
	base  string
	files *Files
}

// newFileTree makes the tree with these files of T-1.
func newFileTree(t testing.TB, paths ...string) fileTree {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	fileMust(t, err)
	tree := fileTree{base: base}
	for _, path := range paths {
		fileWrite(t, tree.own(path), insideText(path))
	}
	for _, folder := range []string{"root/T-10", "outside"} {
		for _, path := range []string{"x", "secret.txt", "mid/f.txt", "mid/" + fileMarker} {
			fileWrite(t, tree.at(folder, path), fileMarker)
		}
	}
	fileMust(t, os.MkdirAll(tree.at("root/T-1"), 0o755))
	fileMust(t, os.Mkdir(tree.at("stage"), 0o755))
	tree.files = tree.open(t, FilesConfig{})
	return tree
}

// open opens the root with what the config says besides.
func (tree fileTree) open(t testing.TB, c FilesConfig) *Files {
	t.Helper()
	c.Name, c.MaxBytes, c.MaxFiles = "notes", max(c.MaxBytes, fileMost), max(c.MaxFiles, 100)
	if c.Root == "" {
		c.Root = tree.at("root")
	}
	f, err := OpenFiles(c)
	fileMust(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func (tree fileTree) at(names ...string) string {
	return filepath.Join(append([]string{tree.base}, names...)...)
}

func (tree fileTree) own(path string) string { return tree.at("root/T-1", path) }

// reach is the reach of T-1.
func (tree fileTree) reach(only *string) *FilesReach {
	return tree.files.Reach([]string{"T-1"}, only)
}

// handles counts this process's open handles of files in the tree.
func (tree fileTree) handles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	fileMust(t, err)
	n := 0
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, tree.base) {
			n++
		}
	}
	return n
}

func insideText(path string) string { return "inside " + path }

func fileMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fileWrite(t testing.TB, path, text string) {
	t.Helper()
	fileMust(t, os.MkdirAll(filepath.Dir(path), 0o755))
	fileMust(t, os.WriteFile(path, []byte(text), 0o644))
}

// inTime fails a test whose calls hang. They may say what is wrong with Errorf.
func inTime(t *testing.T, calls func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		calls()
	}()
	select {
	case <-done:
	case <-time.After(fileTime):
		t.Fatal("it hangs")
	}
}

// fileRequest is a request with one member besides from. Where JSON can write
// the text it went through JSON; only this test can make the others.
func fileRequest(t testing.TB, member, text string) strictjson.Value {
	t.Helper()
	written := fmt.Appendf(nil, `{"from":"notes",%q:`, member)
	written = append(strictjson.AppendString(written, text), '}')
	v, err := strictjson.Read(written, strictjson.Default(1<<20))
	if err != nil {
		t.Errorf("%s: %v", written, err)
	}
	if !utf8.ValidString(text) {
		v = v.Map(func(name string, v strictjson.Value) strictjson.Value {
			if name == member {
				return strictjson.Text(text)
			}
			return v
		})
	}
	if got, _ := v.TextAt(member); got != text {
		t.Errorf("%q became %q", text, got)
	}
	return v
}

// listOwn asks for the list of the session's folder itself.
func (tree fileTree) listOwn(t testing.TB, r Reach) Answer {
	t.Helper()
	v, err := strictjson.Read([]byte(`{"from":"notes"}`), strictjson.Default(100))
	if err != nil {
		t.Error(err)
	}
	return tree.ask(t, r, "list", v)
}

// ask is one request; an error is the test's.
func (tree fileTree) ask(t testing.TB, r Reach, function string, request strictjson.Value) Answer {
	t.Helper()
	a, err := r.Call(t.Context(), function, request)
	if err != nil {
		t.Errorf("%s: %v", function, err)
	}
	tree.showsNothing(t, string(a.Body)+a.Reason)
	return a
}

// showsNothing holds words against what must never leave: what is in another's
// file, and where the tree lies on the host.
func (tree fileTree) showsNothing(t testing.TB, words string) {
	t.Helper()
	for _, secret := range []string{fileMarker, tree.base} {
		if strings.Contains(words, secret) {
			t.Errorf("%q shows %q", words, secret)
		}
	}
}

// wantDenial wants the word of a gate's denial; "": none.
func (tree fileTree) wantDenial(t testing.TB, err error, word string) {
	t.Helper()
	var d *Denial
	switch {
	case err == nil:
		if word != "" {
			t.Errorf("the gate admits it, want %s", word)
		}
	case !errors.As(err, &d):
		t.Errorf("the gate fails: %v", err)
	case d.Word != word || d.Text == "":
		t.Errorf("the gate says %s (%s), want %q", d.Word, d.Text, word)
	}
	if err != nil {
		tree.showsNothing(t, err.Error())
	}
}

// fileCase is a path of T-1 and what is said of it.
type fileCase struct {
	path string
	word string // why it is not read; "": it is
	list string // why it is not listed; "": as word, or it is no folder; "ok": it is
}

func (tt fileCase) listWord() string {
	switch {
	case tt.list == "ok":
		return ""
	case tt.list != "":
		return tt.list
	case tt.word == "":
		return "not_a_folder"
	}
	return tt.word
}

// check asks through both callers of the check.
func (tree fileTree) check(t testing.TB, tt fileCase) {
	t.Helper()
	only := tree.reach(&tt.path)
	tree.wantDenial(t, only.Admit(t.Context()), tt.word)
	for _, r := range []*FilesReach{tree.reach(nil), only} {
		a := tree.ask(t, r, "read", fileRequest(t, "path", tt.path))
		wantAnswer(t, "read", a, tt.path, tt.word)
		if tt.word == "" && string(a.Body) != readBody(insideText(tt.path)) {
			t.Errorf("read gives %s", a.Body)
		}
	}
	a := tree.ask(t, tree.reach(nil), "list", fileRequest(t, "folder", tt.path))
	wantAnswer(t, "list", a, tt.path, tt.listWord())
}

// readBody is how a text leaves.
func readBody(text string) string {
	b := fmt.Appendf(nil, `{"bytes":%d,"text":`, len(text))
	return string(strictjson.AppendString(b, text)) + "}"
}

// wantAnswer wants that a path is given, or is not there, for the reason of this word.
func wantAnswer(t testing.TB, function string, a Answer, path, word string) {
	t.Helper()
	status := NotAvailable
	if word == "" {
		status = OK
	}
	if a.Status != status || wordOf(a) != word || a.Asked != path || (status == OK) == (len(a.Body) == 0) {
		t.Errorf("%s says %s %q of %q, want %s %q: %s", function, a.Status.Word(), a.Reason, a.Asked, status.Word(), word, a.Body)
	}
}
