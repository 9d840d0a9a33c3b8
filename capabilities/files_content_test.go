//go:build linux

package capabilities

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Every byte leaves as it is, and none beyond max_bytes.

func TestFilesContent(t *testing.T) {
	tree := newFileTree(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, tt := range map[string]struct {
		content string
		member  string
	}{
		"empty":               {"", "text"},
		"plain":               {"a line\r\nand one more\n", "text"},
		"quotes":              {`"a" \ \" \u0041 '`, "text"},
		"json":                {`{"ok":false}`, "text"},
		"nul":                 {"a\x00b\x00", "text"},
		"controls":            {string(every[:32]) + "\x7f\u0085", "text"},
		"line-separators":     {"a\u2028b\u2029c", "text"},
		"markup":              {"</script><!-- & -->", "text"},
		"beyond-the-plane":    {"\U0001F600\U0010FFFF", "text"},
		"replacement-itself":  {"\ufffd", "text"},
		"no-characters":       {"\ufffe\uffff\ufdd0", "text"},
		"byte-order-mark":     {"\ufeffa", "text"},
		"both-normal-forms":   {"\u00e9e\u0301", "text"},
		"every-byte":          {string(every), "base64"},
		"one-broken-byte":     {"a\xffb", "base64"},
		"half-a-character":    {"a\xe8\xaf", "base64"},
		"half-of-a-surrogate": {"\xed\xa0\x80", "base64"},
		"overlong":            {"\xc0\xaf", "base64"},
		"utf16":               {"\xff\xfea\x00", "base64"},
		"max-bytes-of-text":   {strings.Repeat("a", fileMost), "text"},
		"max-bytes-of-nul":    {strings.Repeat("\x00", fileMost), "text"},
		"max-bytes-of-binary": {strings.Repeat("\xff", fileMost), "base64"},
	} {
		t.Run(name, func(t *testing.T) {
			fileWrite(t, tree.own("f"), tt.content)
			only := "f"
			tree.wantDenial(t, tree.reach(&only).Admit(t.Context()), "")
			a := tree.ask(t, tree.reach(nil), "read", fileRequest(t, "path", "f"))
			body, err := strictjson.Read(a.Body, strictjson.Default(1<<20))
			fileMust(t, err)
			got, ok := body.TextAt(tt.member)
			if tt.member == "base64" {
				raw, err := base64.StdEncoding.DecodeString(got)
				fileMust(t, err)
				got = string(raw)
			}
			n, _ := body.Get("bytes")
			if size, _ := n.Any().(interface{ Int64() (int64, error) }).Int64(); !ok || got != tt.content || int(size) != len(tt.content) || body.Len() != 2 {
				t.Errorf("%q became %s", tt.content, a.Body)
			}
		})
	}
}

func TestFilesTooLong(t *testing.T) {
	tree := newFileTree(t)
	for name, size := range map[string]int64{"by-one": fileMost + 1, "by-a-terabyte-of-holes": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			fileMust(t, os.WriteFile(tree.own("f"), nil, 0o600))
			fileMust(t, os.Truncate(tree.own("f"), size))
			inTime(t, func() { tree.check(t, fileCase{path: "f", word: "file_too_long", list: "not_a_folder"}) })
		})
	}
}

// A file's size is a first look; what is read is counted.
func TestFilesGrows(t *testing.T) {
	tree := newFileTree(t)
	fileWrite(t, tree.own("f"), "a")
	r := tree.reach(nil)
	for name, tt := range map[string]struct {
		size int64
		word string
	}{"within-max-bytes": {fileMost, ""}, "by-one-too-many": {fileMost + 1, "file_too_long"}, "by-a-terabyte": {1 << 40, "file_too_long"}} {
		t.Run(name, func(t *testing.T) {
			fileMust(t, os.Truncate(tree.own("f"), 1))
			file, err := r.open("f")
			fileMust(t, err)
			defer file.Close()
			fileMust(t, os.Truncate(tree.own("f"), tt.size))
			inTime(t, func() {
				data, err := r.content(file)
				tree.wantDenial(t, err, tt.word)
				if tt.word == "" && int64(len(data)) != tt.size || tt.word != "" && len(data) > 0 {
					t.Errorf("%d bytes", len(data))
				}
			})
		})
	}
}

// While it is written to, a read gives a part that is within max_bytes, or none.
func TestFilesGrowsWhileRead(t *testing.T) {
	tree := newFileTree(t, "f")
	path, stop, done := tree.own("f"), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := int64(0); ; n = (n + 97) % (2 * fileMost) {
			select {
			case <-stop:
				return
			default:
				_ = os.Truncate(path, n)
			}
		}
	}()
	inTime(t, func() {
		for range 2000 {
			a := tree.ask(t, tree.reach(nil), "read", fileRequest(t, "path", "f"))
			if a.Status == OK && len(a.Body) < 7*fileMost || a.Status == NotAvailable && wordOf(a) == "file_too_long" {
				continue
			}
			t.Errorf("%s %q, %d bytes", a.Status.Word(), a.Reason, len(a.Body))
		}
	})
	close(stop)
	<-done
}

// countedFile counts what is asked of it.
type countedFile struct {
	from io.Reader
	n    int64
}

func (c *countedFile) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.n += int64(n)
	return n, err
}

type endlessFile struct{}

func (endlessFile) Read(b []byte) (int, error) { return len(b), nil }

// Some files say that they are empty and are not, as those of /proc; their open
// handle gives what they hold, or never ends.
func TestFilesContentOfEmpty(t *testing.T) {
	r := newFileTree(t).reach(nil)
	status, err := os.Open("/proc/self/status")
	fileMust(t, err)
	defer status.Close()
	fileMust(t, r.admissible(infoOf(t, status)))
	if info := infoOf(t, status); info.Size() != 0 {
		t.Errorf("a file of /proc has %d bytes", info.Size())
	}
	if data, err := r.content(status); err != nil || !bytes.HasPrefix(data, []byte("Name:")) {
		t.Errorf("%q, %v", data, err)
	}
	source := &countedFile{from: endlessFile{}}
	inTime(t, func() {
		data, err := r.content(source)
		if !errors.As(err, new(*Denial)) || data != nil || source.n > fileMost+1 {
			t.Errorf("%d of %d bytes, %v", len(data), source.n, err)
		}
	})
}

func infoOf(t *testing.T, f *os.File) os.FileInfo {
	t.Helper()
	info, err := f.Stat()
	fileMust(t, err)
	return info
}
