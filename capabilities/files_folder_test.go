//go:build linux

package capabilities

import (
	"os"
	"strings"
	"testing"
)

// What the session's folder can be. It comes from the session, not the guest,
// and is trusted as little.

// folderCase is the names of a session's folder and what is said of it.
type folderCase struct {
	folder []string
	word   string // why nothing in it is read; "": it is
}

func folderCases(tree fileTree) map[string]folderCase {
	return map[string]folderCase{
		"a-folder":                     {folder: []string{"T-1"}},
		"two-names":                    {folder: []string{"T-1", "sub"}},
		"the-root-itself":              {},
		"missing":                      {[]string{"T-9"}, "no_folder"},
		"missing-in-a-folder":          {[]string{"T-1", "none"}, "no_folder"},
		"in-another-case":              {[]string{"t-1"}, "no_folder"},
		"link-to-a-session":            {[]string{"to-session"}, "bad_folder"},
		"link-to-the-own-folder":       {[]string{"to-own"}, "bad_folder"},
		"link-outside":                 {[]string{"to-outside"}, "bad_folder"},
		"link-to-nowhere":              {[]string{"to-nowhere"}, "bad_folder"},
		"link-to-itself":               {[]string{"to-itself"}, "bad_folder"},
		"link-before-a-name":           {[]string{"to-own", "sub"}, "bad_folder"},
		"link-after-a-name":            {[]string{"T-1", "to-session"}, "bad_folder"},
		"up":                           {[]string{".."}, "bad_folder"},
		"up-to-outside":                {[]string{"..", "outside"}, "bad_folder"},
		"up-after-a-name":              {[]string{"T-1", "..", "T-10"}, "bad_folder"},
		"up-after-a-missing-name":      {[]string{"none", ".."}, "bad_folder"},
		"here":                         {[]string{"."}, "bad_folder"},
		"empty":                        {[]string{""}, "bad_folder"},
		"empty-after-a-name":           {[]string{"T-1", ""}, "bad_folder"},
		"slash":                        {[]string{"T-1/sub"}, "bad_folder"},
		"slash-up":                     {[]string{"T-1/../T-10"}, "bad_folder"},
		"slash-at-the-end":             {[]string{"T-1/"}, "bad_folder"},
		"absolute":                     {[]string{tree.at("outside")}, "bad_folder"},
		"backslash":                    {[]string{`T-1\sub`}, "bad_folder"},
		"nul":                          {[]string{"T-1\x00"}, "bad_folder"},
		"control":                      {[]string{"T-1\n"}, "bad_folder"},
		"broken-utf8":                  {[]string{"T-1\xff"}, "bad_folder"},
		"longer-than-a-name":           {[]string{strings.Repeat("T", 256)}, "bad_folder"},
		"a-file":                       {[]string{"file"}, "bad_folder"},
		"a-file-before-a-name":         {[]string{"file", "sub"}, "bad_folder"},
		"a-fifo":                       {[]string{"fifo"}, "bad_folder"},
		"a-socket":                     {[]string{"socket"}, "bad_folder"},
		"a-name-with-a-dot-first":      {folder: []string{".T"}},
		"a-name-of-dots":               {folder: []string{"..."}},
		"a-name-with-a-percent-sign":   {folder: []string{"%2e%2e"}},
		"a-name-that-another-is-in":    {[]string{"T"}, "no_folder"},
		"a-name-that-is-part-of-more":  {[]string{"T-"}, "no_folder"},
		"a-name-with-a-space-after-it": {[]string{"T-1 "}, "no_folder"},
	}
}

// folderTree has the same file in each folder that can be a session's.
func folderTree(t testing.TB) fileTree {
	tree := newFileTree(t)
	for _, folder := range []string{"", "T-1", "T-1/sub", ".T", "...", "%2e%2e"} {
		fileWrite(t, tree.at("root", folder, "a.txt"), insideText("a.txt"))
	}
	for _, folder := range []string{"outside", "root/T-10", "."} {
		fileWrite(t, tree.at(folder, "a.txt"), fileMarker)
	}
	for name, to := range map[string]string{
		"to-session": "T-10", "to-own": "T-1", "to-outside": tree.at("outside"), "to-nowhere": "T-9", "to-itself": "to-itself", "T-1/to-session": "../T-10",
	} {
		fileMust(t, os.Symlink(to, tree.at("root", name)))
	}
	fileWrite(t, tree.at("root/file"), fileMarker)
	fileMust(t, mkfifo(tree.at("root/fifo")))
	bindSocket(t, tree.at("root/socket"))
	return tree
}

// checkFolder asks through the gate, with a file and without, and through the
// host functions.
func (tree fileTree) checkFolder(t testing.TB, tt folderCase) {
	t.Helper()
	path := "a.txt"
	whole, only := tree.files.Reach(tt.folder, nil), tree.files.Reach(tt.folder, &path)
	tree.wantDenial(t, only.Admit(t.Context()), tt.word)
	withoutFile := tt.word
	if withoutFile == "no_folder" {
		withoutFile = "" // there is nothing that its guest could reach
	}
	tree.wantDenial(t, whole.Admit(t.Context()), withoutFile)
	for _, r := range []*FilesReach{whole, only} {
		wantAnswer(t, "read", tree.ask(t, r, "read", fileRequest(t, "path", path)), path, tt.word)
	}
	wantAnswer(t, "read", tree.ask(t, whole, "read", fileRequest(t, "path", "../T-10/x")), "../T-10/x", "dot_segment")
	a := tree.listOwn(t, whole)
	wantAnswer(t, "list", a, "", withoutFile)
	if tt.word == "no_folder" && string(a.Body) != `{"files":[],"folders":[],"more":false}` {
		t.Errorf("a folder that is not there yet lists %s", a.Body)
	}
}

func TestFilesFolder(t *testing.T) {
	tree := folderTree(t)
	for name, tt := range folderCases(tree) {
		t.Run(name, func(t *testing.T) {
			inTime(t, func() { tree.checkFolder(t, tt) })
		})
	}
}
