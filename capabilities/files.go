package capabilities

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind "files": the regular files of one folder for each session, read-only.
//
// Everything is opened beneath the handle of the root (os.Root), one name after
// the other, and each name must be what it was taken for: no link is followed,
// at any place, and what was looked at is what is read.

// FilesConfig is what the config says of one files capability.
type FilesConfig struct {
	Name     string
	Root     string // the folder that holds the sessions' folders
	MaxBytes int64  // of one file
	MaxFiles int    // names in one list
}

// Files is one files capability. The folder of its root stays open.
type Files struct {
	c    FilesConfig
	root *os.Root
}

// OpenFiles opens the root. The operator's own path to it may hold links.
func OpenFiles(c FilesConfig) (*Files, error) {
	if !countsLinks {
		return nil, fmt.Errorf("this system does not tell how many names a file has, so that no file can be granted")
	}
	info, err := os.Stat(c.Root) // the open of a FIFO would wait
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(c.Root)
	}
	if err != nil {
		return nil, withoutPath(err)
	}
	return &Files{c: c, root: root}, nil
}

// Close closes the root.
func (f *Files) Close() error { return f.root.Close() }

// Reach bounds the capability for one call: folder are the names that lead from
// the root to the session's folder (none: the root itself), only the one file
// that the grant names (nil: all in that folder).
func (f *Files) Reach(folder []string, only *string) *FilesReach {
	return &FilesReach{Files: f, folder: folder, only: only}
}

// FilesReach is a files capability within the bounds of one call.
type FilesReach struct {
	*Files
	folder []string
	only   *string
}

// Denial says why a check says no: Word for the record of what a guest asked,
// Text for the reason of a gate. Every other error of a check says that the
// host could not do its part.
type Denial struct{ Word, Text string }

func (d *Denial) Error() string { return d.Text }

// reason is what the record of a request has.
func (d *Denial) reason() string { return d.Word + ": " + d.Text }

const (
	maxPath  = 1024 // bytes
	maxName  = 255  // bytes
	maxDepth = 16   // names
)

// checkPath splits a path into names. It is taken as it is: a percent sign is
// a percent sign, and a name in another case or normal form is another name.
func checkPath(path string) ([]string, error) {
	if len(path) > maxPath {
		return nil, &Denial{"path_too_long", fmt.Sprintf("the path is longer than %d bytes", maxPath)}
	}
	if strings.HasPrefix(path, "/") {
		return nil, &Denial{"absolute_path", "the path is absolute"}
	}
	names := strings.Split(path, "/")
	if len(names) > maxDepth {
		return nil, &Denial{"path_too_long", fmt.Sprintf("the path has more than %d names", maxDepth)}
	}
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// checkName admits one plain name.
func checkName(name string) error {
	switch {
	case name == "":
		return &Denial{"empty_name", "a name in it is empty"}
	case name == "." || name == "..":
		return &Denial{"dot_segment", "a name in it is . or .."}
	case len(name) > maxName:
		return &Denial{"name_too_long", fmt.Sprintf("a name in it is longer than %d bytes", maxName)}
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return &Denial{"control", "a name in it is not UTF-8 or holds a control character"}
	case strings.ContainsAny(name, `/\`):
		return &Denial{"separator", `a name in it holds / or \`}
	}
	return nil
}
