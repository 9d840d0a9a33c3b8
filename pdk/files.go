package pdk

import "unicode/utf8"

// Files names a files capability by its name in the config, such as "ticket_files". It reaches the
// files of the session's own folder and no others.
func (Call) Files(name string) Files { return Files{name} }

// Files asks one files capability.
type Files struct{ name string }

// Read gives one file, by its path from the session's folder. ErrNotAvailable if there is no such file
// within reach, whatever the reason.
func (f Files) Read(path string) (Content, error) {
	var answer carried
	if err := exchange("files.read", hostFilesRead, &fileRequest{f.name, path}, &answer); err != nil {
		return Content{}, err
	}
	return answer.content("files.read")
}

// List gives what is in one folder, by name; "" is the session's own. ErrNotAvailable if there is no
// such folder within reach, whatever the reason.
func (f Files) List(folder string) (Folder, error) {
	var answer Folder
	err := exchange("files.list", hostFilesList, &folderRequest{f.name, folder}, &answer)
	return answer, err
}

type fileRequest struct {
	From string `json:"from"`
	Path string `json:"path"`
}

type folderRequest struct {
	From   string `json:"from"`
	Folder string `json:"folder,omitempty"`
}

// Folder is what is in one folder, sorted by name.
type Folder struct {
	Files   []FileInfo `json:"files"`
	Folders []string   `json:"folders"` // names
	More    bool       `json:"more"`    // there is more than the host let through
}

// FileInfo is one file of a folder.
type FileInfo struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Content is the bytes of a file or of an answer's body.
type Content struct{ data []byte }

// Bytes gives the bytes as they are.
func (c Content) Bytes() []byte { return c.data }

// Text gives the text, or false if the bytes are not UTF-8.
func (c Content) Text() (string, bool) {
	if !utf8.Valid(c.data) {
		return "", false
	}
	return string(c.data), true
}

// carried is how bytes travel in JSON: as text where they are UTF-8, else in base64.
type carried struct {
	Text   *string `json:"text"`
	Base64 []byte  `json:"base64"`
}

var errNoContent = failed("neither text nor base64")

func (c carried) content(name string) (Content, error) {
	switch {
	case c.Text != nil:
		return Content{[]byte(*c.Text)}, nil
	case c.Base64 != nil:
		return Content{c.Base64}, nil
	default:
		return Content{}, because(name+": decode the response", errNoContent)
	}
}
