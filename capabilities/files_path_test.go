//go:build linux

package capabilities

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// What the text of a path may be, whatever lies on the disk.

var (
	longName  = strings.Repeat("n", 255)
	wideName  = strings.Repeat("语", 85) // 255 bytes
	path1024  = strings.Repeat(strings.Repeat("p", 204)+"/", 4) + strings.Repeat("p", 204)
	deepPath  = strings.Repeat("d/", 15) + "f" // 16 names
	nfc, nfd  = "caf\u00e9.txt", "cafe\u0301.txt"
	oddNames  = []string{"...", "..a", "..%2f", "%2e%2e%2fsecret", ".hidden", " ", "-rf", "a b", "~a", "*", "a:b", `"quoted"`, "\u2028", "\u202e"}
	pathFiles = append([]string{"a.txt", "sub/deep/c.txt", nfc, longName, wideName, path1024, deepPath}, oddNames...)
)

// pathTree holds besides what no path can name.
func pathTree(t testing.TB) fileTree {
	tree := newFileTree(t, pathFiles...)
	for _, name := range []string{`a\b`, "a\nb", "a\x7fb", "a\u0085b", "a\xffb"} {
		fileWrite(t, tree.own(name), fileMarker)
	}
	return tree
}

// pathCases are the paths that are names, and those that are not.
func pathCases(tree fileTree) map[string]fileCase {
	cases := map[string]fileCase{
		"plain-name":                    {path: "a.txt"},
		"folders-in-a-path":             {path: "sub/deep/c.txt"},
		"a-name-of-255-bytes":           {path: longName},
		"a-name-of-255-bytes-by-3":      {path: wideName},
		"a-path-of-1024-bytes":          {path: path1024},
		"16-names":                      {path: deepPath},
		"missing":                       {path: "b.txt", word: "not_there"},
		"missing-folder":                {path: "none/a.txt", word: "not_there"},
		"prefix-of-a-session":           {path: "0/x", word: "not_there"},
		"name-of-a-session":             {path: "T-10/x", word: "not_there"},
		"own-folder's-name":             {path: "T-1/a.txt", word: "not_there"},
		"another-case":                  {path: "A.TXT", word: "not_there"},
		"another-normal-form":           {path: nfd, word: "not_there"},
		"percent-up":                    {path: "%2e%2e/T-10/x", word: "not_there"},
		"percent-slash":                 {path: "..%2fT-10%2fx", word: "not_there"},
		"percent-of-a-name-that-exists": {path: "%61.txt", word: "not_there"},
		"home":                          {path: "~/x", word: "not_there"},
		"wildcard":                      {path: "?.txt", word: "not_there"},
		"wide-slash":                    {path: "..\uff0fT-10\uff0fx", word: "not_there"},
		"wide-dots":                     {path: "\uff0e\uff0e/T-10/x", word: "not_there"},
		"dots-with-a-space":             {path: ".. /T-10/x", word: "not_there"},
	}
	maps.Copy(cases, refusedPaths(tree))
	for i, name := range oddNames {
		cases[fmt.Sprintf("literal-%d", i)] = fileCase{path: name}
	}
	names := []string{"sub", "deep", "c.txt"}
	for i := range len(names) + 1 {
		up := strings.Join(slices.Insert(slices.Clone(names), i, ".."), "/")
		cases[fmt.Sprintf("dots-at-%d", i)] = fileCase{path: up, word: "dot_segment"}
	}
	return cases
}

// refusedPaths are not looked for at all.
func refusedPaths(tree fileTree) map[string]fileCase {
	return map[string]fileCase{
		"dots-alone-up":               {path: "..", word: "dot_segment"},
		"dots-to-a-session":           {path: "../T-10/x", word: "dot_segment"},
		"dots-far-up":                 {path: strings.Repeat("../", 15) + "etc", word: "dot_segment"},
		"dots-that-stay-inside":       {path: "sub/../a.txt", word: "dot_segment"},
		"dots-after-a-missing-name":   {path: "none/../a.txt", word: "dot_segment"},
		"absolute":                    {path: tree.at("outside/secret.txt"), word: "absolute_path"},
		"absolute-inside":             {path: tree.own("a.txt"), word: "absolute_path"},
		"absolute-alone":              {path: "/", word: "absolute_path"},
		"absolute-twice":              {path: "//a.txt", word: "absolute_path"},
		"empty":                       {path: "", word: "empty_name"},
		"slash-at-the-end":            {path: "a.txt/", word: "empty_name"},
		"slash-at-a-folder's-end":     {path: "sub/", word: "empty_name"},
		"slash-twice":                 {path: "sub//deep/c.txt", word: "empty_name"},
		"dot-alone":                   {path: ".", word: "dot_segment"},
		"dot-first":                   {path: "./a.txt", word: "dot_segment"},
		"dot-within":                  {path: "sub/./deep/c.txt", word: "dot_segment"},
		"dot-last":                    {path: "sub/.", word: "dot_segment"},
		"nul":                         {path: "a.txt\x00", word: "control"},
		"nul-before-an-ending":        {path: "x\x00.txt", word: "control"},
		"nul-alone":                   {path: "\x00", word: "control"},
		"line-feed":                   {path: "a\nb", word: "control"},
		"delete":                      {path: "a\x7fb", word: "control"},
		"control-of-the-second-block": {path: "a\u0085b", word: "control"},
		"broken-utf8":                 {path: "a\xffb", word: "control"},
		"overlong-utf8-of-a-slash":    {path: "..\xc0\xaf..\xc0\xafx", word: "control"},
		"backslash":                   {path: `a\b`, word: "separator"},
		"backslash-up":                {path: `..\T-10\x`, word: "separator"},
		"drive":                       {path: `C:\x`, word: "separator"},
		"a-name-of-256-bytes":         {path: longName + "n", word: "name_too_long"},
		"a-path-of-1025-bytes":        {path: path1024 + "p", word: "path_too_long"},
		"a-path-of-4096-bytes":        {path: strings.Repeat("ab/", 1365) + "a", word: "path_too_long"},
		"a-path-of-a-million-slashes": {path: "a" + strings.Repeat("/", 1<<19), word: "path_too_long"},
		"17-names":                    {path: "d/" + deepPath, word: "path_too_long"},
	}
}

func TestFilesPaths(t *testing.T) {
	tree := pathTree(t)
	for name, tt := range pathCases(tree) {
		t.Run(name, func(t *testing.T) {
			inTime(t, func() { tree.check(t, tt) })
		})
	}
}

// A guest's request is JSON, and JSON that strictjson reads is UTF-8 whole: no
// guest can ask for a name that is not. The gate has its path from an argument,
// which was read in the same way; should it come from elsewhere, it is denied
// (broken-utf8).
func TestFilesRequestIsUTF8(t *testing.T) {
	for name, text := range map[string]string{
		"broken-utf8":   "{\"path\":\"a\xffb\"}",
		"overlong-utf8": "{\"path\":\"..\xc0\xafx\"}",
		"surrogate":     `{"path":"\ud800"}`,
	} {
		if _, err := strictjson.Read([]byte(text), strictjson.Default(100)); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

// With a file that the grant names, no other is looked at: the root is closed,
// so that a look would be seen.
func TestFilesOnly(t *testing.T) {
	tree := newFileTree(t, "a.txt", "b.txt", "sub/c.txt")
	only := "a.txt"
	reach := tree.reach(&only)
	a := tree.ask(t, reach, "read", fileRequest(t, "path", only))
	wantAnswer(t, "read", a, only, "")
	fileMust(t, tree.files.Close())
	for name, path := range map[string]string{
		"another":        "b.txt",
		"in-a-folder":    "sub/c.txt",
		"missing":        "none",
		"up":             "../T-10/x",
		"absolute":       "/etc/passwd",
		"empty":          "",
		"nul-after-it":   "a.txt\x00",
		"slash-after-it": "a.txt/",
		"dot-before-it":  "./a.txt",
		"another-case":   "A.txt",
	} {
		t.Run(name, func(t *testing.T) {
			a := tree.ask(t, reach, "read", fileRequest(t, "path", path))
			if a.Status != Denied || wordOf(a) != "not_the_granted_file" || a.Asked != path {
				t.Errorf("%s %q of %q: %s", a.Status.Word(), a.Reason, a.Asked, a.Body)
			}
		})
	}
	for _, request := range []string{`{"from":"notes"}`, `{"from":"notes","folder":"sub"}`, `{"from":"notes","folder":"a.txt"}`} {
		if a := call(t, reach, "list", request); a.Status != Denied || wordOf(a) != "not_the_granted_file" || strings.Contains(string(a.Body), "txt") {
			t.Errorf("list %s: %s %q: %s", request, a.Status.Word(), a.Reason, a.Body)
		}
	}
}

func TestFilesRequests(t *testing.T) {
	tree := newFileTree(t, "a.txt", "sub/c.txt")
	granted := "a.txt"
	for name, tt := range map[string]struct{ function, request, reason string }{
		"read-without-a-path":      {"read", `{"from":"notes"}`, "invalid_request"},
		"read-null":                {"read", `{"from":"notes","path":null}`, "invalid_request"},
		"read-number":              {"read", `{"from":"notes","path":1}`, "invalid_request"},
		"read-array":               {"read", `{"from":"notes","path":["a.txt"]}`, "invalid_request"},
		"read-object":              {"read", `{"from":"notes","path":{"path":"a.txt"}}`, "invalid_request"},
		"read-member-in-case":      {"read", `{"from":"notes","Path":"a.txt"}`, "invalid_request"},
		"read-more-members":        {"read", `{"from":"notes","path":"a.txt","offset":1}`, "invalid_request"},
		"read-a-folder-member":     {"read", `{"from":"notes","path":"a.txt","folder":"sub"}`, "invalid_request"},
		"read-what-is-no-object":   {"read", `["path","a.txt"]`, "invalid_request"},
		"list-null":                {"list", `{"from":"notes","folder":null}`, "invalid_request"},
		"list-number":              {"list", `{"from":"notes","folder":0}`, "invalid_request"},
		"list-false":               {"list", `{"from":"notes","folder":false}`, "invalid_request"},
		"list-array":               {"list", `{"from":"notes","folder":[]}`, "invalid_request"},
		"list-misspelt":            {"list", `{"from":"notes","folders":"sub"}`, "invalid_request"},
		"list-by-path":             {"list", `{"from":"notes","path":"sub"}`, "invalid_request"},
		"list-what-is-no-object":   {"list", `[]`, "invalid_request"},
		"unknown-function":         {"write", `{"from":"notes","path":"a.txt"}`, "unknown_function"},
		"function-in-another-case": {"Read", `{"from":"notes","path":"a.txt"}`, "unknown_function"},
		"function-without-a-name":  {"", `{"from":"notes","path":"a.txt"}`, "unknown_function"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, only := range []*string{nil, &granted} {
				a := call(t, tree.reach(only), tt.function, tt.request)
				if a.Status != Invalid || a.Reason != tt.reason || strings.Contains(string(a.Body), "inside") {
					t.Errorf("%s %q: %s", a.Status.Word(), a.Reason, a.Body)
				}
			}
		})
	}
}

// The operator's own path to the root may be a link; where it is no folder the
// config says so, without a wait.
func TestFilesRoot(t *testing.T) {
	tree := newFileTree(t, "a.txt")
	fileMust(t, os.Symlink(tree.at("root"), tree.at("to-root")))
	linked := tree.open(t, FilesConfig{Root: tree.at("to-root")})
	a := tree.ask(t, linked.Reach([]string{"T-1"}, nil), "read", fileRequest(t, "path", "a.txt"))
	wantAnswer(t, "read", a, "a.txt", "")
	fileMust(t, mkfifo(tree.at("fifo")))
	for name, root := range map[string]string{"missing": "none", "a-file": "outside/x", "a-fifo": "fifo"} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func() {
				f, err := OpenFiles(FilesConfig{Name: "notes", Root: tree.at(root), MaxBytes: 1, MaxFiles: 1})
				if err == nil {
					_ = f.Close()
					t.Error("it is opened")
					return
				}
				tree.showsNothing(t, err.Error())
			})
		})
	}
	// What takes the root's place later is not followed.
	fileMust(t, os.Rename(tree.at("root"), tree.at("stage/root")))
	fileMust(t, os.Symlink(tree.at("outside"), tree.at("root")))
	fileMust(t, os.Mkdir(tree.at("outside/T-1"), 0o755))
	fileWrite(t, tree.at("outside/T-1/a.txt"), fileMarker)
	tree.check(t, fileCase{path: "a.txt"})
}
