package capabilities

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Call answers one request of a guest.
func (f *FilesReach) Call(_ context.Context, function string, request strictjson.Value) (Answer, error) {
	switch function {
	case "read":
		return f.read(request)
	case "list":
		return f.list(request)
	}
	return Refuse(Invalid, "no such function", "unknown_function"), nil
}

// read gives one file whole. A file that the grant does not name is denied
// without a look at it.
func (f *FilesReach) read(request strictjson.Value) (Answer, error) {
	path, ok := request.TextAt("path")
	if !ok || !onlyMembers(request, "from", "path") {
		return Refuse(Invalid, errMembers.Error(), "invalid_request"), nil
	}
	if f.only != nil && path != *f.only {
		return asked(path, Refuse(Denied, f.c.Name+": "+errOtherFile.Text, errOtherFile.reason())), nil
	}
	file, err := f.open(path)
	if err != nil {
		return f.notAvailable(path, err)
	}
	defer file.Close()
	data, err := f.content(file)
	if err != nil {
		return f.notAvailable(path, err)
	}
	body := fmt.Appendf(nil, `{"bytes":%d,`, len(data))
	return asked(path, Answer{Status: OK, Body: append(appendContent(body, data), '}')}), nil
}

// notAvailable answers for a file or folder that is not within reach: to the
// guest, it is not there.
func (f *FilesReach) notAvailable(path string, err error) (Answer, error) {
	var d *Denial
	if !errors.As(err, &d) {
		return asked(path, Answer{}), fmt.Errorf("files of %s cannot be read: %w", f.c.Name, err)
	}
	return asked(path, Answer{Status: NotAvailable, Reason: d.reason()}), nil
}

// maxScan is how many names of a folder are looked at: sorted, they must all be
// known first.
const maxScan = 10_000

// list gives the regular files and the folders of one folder, by name. What no
// path could lead to is not listed: links, files of two names, what is neither
// file nor folder, names beyond checkName.
func (f *FilesReach) list(request strictjson.Value) (Answer, error) {
	path, given := request.TextAt("folder")
	if _, there := request.Get("folder"); there != given || !onlyMembers(request, "from", "folder") {
		return Refuse(Invalid, errMembers.Error(), "invalid_request"), nil
	}
	if f.only != nil {
		return asked(path, Refuse(Denied, f.c.Name+": the grant names one file", errOtherFile.reason())), nil
	}
	var names []string
	var err error
	if given {
		if names, err = checkPath(path); err != nil {
			return f.notAvailable(path, err)
		}
	}
	folder, err := f.openFolder(names)
	switch {
	case errors.Is(err, errNoFolder) && !given: // nobody has put a file there yet
		return asked(path, Answer{Status: OK, Body: []byte(`{"files":[],"folders":[],"more":false}`)}), nil
	case err != nil:
		return f.notAvailable(path, err)
	}
	defer folder.Close()
	entries, err := namesIn(folder)
	switch {
	case err != nil:
		return f.notAvailable(path, denial(err))
	case len(entries) > maxScan:
		return asked(path, Refuse(Invalid, fmt.Sprintf("%s: the folder holds more than %d names", f.c.Name, maxScan), "folder_too_long")), nil
	}
	return asked(path, f.listed(folder, entries)), nil
}

// namesIn gives the names in a folder, sorted, at most one more than maxScan.
func namesIn(folder *os.Root) ([]string, error) {
	dir, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxScan + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

func (f *FilesReach) listed(folder *os.Root, names []string) Answer {
	files, folders, count, more := []byte{}, []byte{}, 0, false
	for _, name := range names {
		info, err := folder.Lstat(name)
		if err != nil || checkName(name) != nil {
			continue
		}
		isFile := info.Mode().IsRegular() && links(info) == 1
		if !isFile && !info.IsDir() {
			continue
		}
		if count == f.c.MaxFiles {
			more = true
			break
		}
		count++
		if isFile {
			files = appendFile(files, info)
		} else {
			folders = append(strictjson.AppendString(folders, name), ',')
		}
	}
	body := fmt.Appendf(nil, `{"files":[%s],"folders":[%s],"more":%t}`, withoutComma(files), withoutComma(folders), more)
	return Answer{Status: OK, Body: body}
}

func appendFile(b []byte, info fs.FileInfo) []byte {
	b = strictjson.AppendString(append(b, `{"name":`...), info.Name())
	return fmt.Appendf(b, `,"bytes":%d},`, info.Size())
}

func withoutComma(b []byte) string { return strings.TrimSuffix(string(b), ",") }

// appendContent writes bytes of a file or a response: as text where they are.
func appendContent(b, data []byte) []byte {
	if utf8.Valid(data) {
		return strictjson.AppendString(append(b, `"text":`...), string(data))
	}
	b = append(b, `"base64":"`...)
	return append(base64.StdEncoding.AppendEncode(b, data), '"')
}

// onlyMembers tells whether a request holds no member but these, so that a
// misspelt one never widens an answer.
func onlyMembers(request strictjson.Value, names ...string) bool {
	if request.Kind() != strictjson.Object {
		return false
	}
	for name := range request.Members() {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}
