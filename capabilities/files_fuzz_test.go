//go:build linux

package capabilities

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzFilesPath: whatever path is let through, the opened file lies inside the
// session's folder, under that very path and no link.
func FuzzFilesPath(f *testing.F) {
	tree := linkTree(f)
	for _, path := range pathFiles {
		fileWrite(f, tree.own(path), insideText(path))
	}
	for _, tt := range linkCases() {
		f.Add(tt.path)
	}
	for _, tt := range pathCases(tree) {
		if len(tt.path) < 5000 {
			f.Add(tt.path)
		}
	}
	folder, reach := tree.own(""), tree.reach(nil)
	f.Fuzz(func(t *testing.T, path string) {
		file, err := reach.open(path)
		if err != nil {
			if !errors.As(err, new(*Denial)) {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		defer file.Close()
		opened, err := file.Stat()
		fileMust(t, err)
		joined := filepath.Join(folder, path)
		real, err := filepath.EvalSymlinks(joined)
		fileMust(t, err)
		found, err := os.Stat(real)
		fileMust(t, err)
		if real != joined || !strings.HasPrefix(real, folder+"/") || !os.SameFile(opened, found) {
			t.Fatalf("%q opens %s", path, real)
		}
		if data, err := io.ReadAll(file); err != nil || string(data) != insideText(path) {
			t.Fatalf("%q gives %q, %v", path, data, err)
		}
	})
}
