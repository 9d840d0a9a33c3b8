//go:build linux

package capabilities

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// listTree holds what is listed and what is not.
func listTree(t testing.TB) fileTree {
	tree := newFileTree(t, "b", "a", "B", "ä", ".hidden", "10", "9", `"`, "z/inner", "Z/inner", "locked")
	fileMust(t, os.Chmod(tree.own("locked"), 0))
	fileMust(t, os.Mkdir(tree.own("empty"), 0o755))
	for name, to := range map[string]string{"to-file": "a", "to-folder": "z", "to-outside": tree.at("outside"), "to-nowhere": "none"} {
		fileMust(t, os.Symlink(to, tree.own(name)))
	}
	fileMust(t, os.Link(tree.at("outside/secret.txt"), tree.own("hard-outside")))
	fileWrite(t, tree.own("hard-1"), "")
	fileMust(t, os.Link(tree.own("hard-1"), tree.own("hard-2")))
	fileMust(t, mkfifo(tree.own("fifo")))
	for _, name := range []string{`back\slash`, "line\nfeed", "broken\xff", "del\x7f"} {
		fileWrite(t, tree.own(name), "")
		fileMust(t, os.Mkdir(tree.own(name+"-folder"), 0o755))
	}
	bindSocket(t, tree.own("socket"))
	return tree
}

func TestFilesListed(t *testing.T) {
	tree := listTree(t)
	file := func(name string) string { return fmt.Sprintf(`{"name":%q,"bytes":%d}`, name, len(insideText(name))) }
	files := []string{file(`"`), file(".hidden"), file("10"), file("9"), file("B"), file("a"), file("b"), file("locked"), file("ä")}
	inner := `{"files":[{"name":"inner","bytes":14}],"folders":[],"more":false}`
	all := `{"files":[` + strings.Join(files, ",") + `],"folders":["Z","empty","z"],"more":false}`
	for name, tt := range map[string]struct {
		most          int
		request, want string
	}{
		"what-can-be-read-sorted": {100, `{"from":"notes"}`, all},
		"a-folder":                {100, `{"from":"notes","folder":"z"}`, inner},
		"another-case-is-another": {100, `{"from":"notes","folder":"Z"}`, inner},
		"an-empty-folder":         {100, `{"from":"notes","folder":"empty"}`, `{"files":[],"folders":[],"more":false}`},
		"max-files-exactly":       {12, `{"from":"notes"}`, all},
		"max-files-and-one-more":  {11, `{"from":"notes"}`, `{"files":[` + strings.Join(files[:8], ",") + `],"folders":["Z","empty","z"],"more":true}`},
		"the-first-by-name":       {2, `{"from":"notes"}`, `{"files":[` + strings.Join(files[:2], ",") + `],"folders":[],"more":true}`},
		"files-and-folders-count": {6, `{"from":"notes"}`, `{"files":[` + strings.Join(files[:5], ",") + `],"folders":["Z"],"more":true}`},
		"one-of-one":              {1, `{"from":"notes","folder":"z"}`, inner},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func() {
				f := tree.open(t, FilesConfig{})
				f.c.MaxFiles = tt.most
				a := call(t, f.Reach([]string{"T-1"}, nil), "list", tt.request)
				if a.Status != OK || string(a.Body) != tt.want {
					t.Errorf("%s %q: %s\nwant %s", a.Status.Word(), a.Reason, a.Body, tt.want)
				}
			})
		})
	}
}

// What is not listed for its sort alone is not counted as more.
func TestFilesListMoreOfNothing(t *testing.T) {
	tree := newFileTree(t, "a")
	fileMust(t, os.Symlink("a", tree.own("b")))
	fileMust(t, mkfifo(tree.own("c")))
	f := tree.open(t, FilesConfig{})
	f.c.MaxFiles = 1
	a := call(t, f.Reach([]string{"T-1"}, nil), "list", `{"from":"notes"}`)
	if want := `{"files":[{"name":"a","bytes":8}],"folders":[],"more":false}`; string(a.Body) != want {
		t.Errorf("%s, want %s", a.Body, want)
	}
}

// The names of a folder are bounded before they are sorted and looked at.
func TestFilesListLong(t *testing.T) {
	tree := newFileTree(t)
	add := func(n int) { // a link is a name, and is made faster than a file
		fileMust(t, os.Link(tree.at("outside/x"), tree.own(fmt.Sprintf("f%05d", n))))
	}
	for n := range maxScan {
		if n <= 100 {
			fileWrite(t, tree.own(fmt.Sprintf("f%05d", n)), "")
		} else {
			add(n)
		}
	}
	list := func() (a Answer) {
		inTime(t, func() { a = tree.listOwn(t, tree.reach(nil)) })
		return a
	}
	if a := list(); a.Status != OK || !strings.HasPrefix(string(a.Body), `{"files":[{"name":"f00000","bytes":0},`) || !strings.HasSuffix(string(a.Body), `"more":true}`) {
		t.Errorf("of %d names: %s %q", maxScan, a.Status.Word(), a.Reason)
	}
	for n := maxScan; n < maxScan+3; n++ {
		add(n)
		a := list()
		if a.Status != Invalid || a.Reason != "folder_too_long" || len(a.Body) > 200 {
			t.Errorf("of more than %d names: %s %q", n, a.Status.Word(), a.Reason)
		}
	}
	folder, err := tree.reach(nil).openFolder(nil)
	fileMust(t, err)
	defer folder.Close()
	if names, err := namesIn(folder); err != nil || len(names) != maxScan+1 {
		t.Errorf("%d names are taken, %v", len(names), err)
	}
	// Its files are read all the same.
	fileWrite(t, tree.own("f00000"), insideText("f00000"))
	tree.check(t, fileCase{path: "f00000"})
}
