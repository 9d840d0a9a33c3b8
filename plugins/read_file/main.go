// read_file reads one file of the folder that the session is about.
package main

import (
	"unicode/utf8"

	"github.com/toolhost/toolhost/pdk"
)

// What the model gets is at most this long (limits.result_chars); around is the longest that stands
// around path and text.
const (
	most   = 4000
	around = `{"ok":true,"path":,"bytes":1073741824,"binary":false,"text":"","cut":false}`
)

type args struct {
	Path string `json:"path"`
}

type result struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	Binary bool   `json:"binary"`
	Text   string `json:"text"`
	Cut    bool   `json:"cut"`
}

func init() { pdk.Tool(readFile) }

func readFile(c pdk.Call, a args) (result, error) {
	file, err := c.Files("ticket_files").Read(a.Path)
	if err != nil {
		return result{}, err
	}
	path, err := pdk.Marshal(a.Path) // the host writes it at most as long
	if err != nil {
		return result{}, err
	}
	text, isText := file.Text()
	text, cut := pdk.Cut(text, most-len(around)-utf8.RuneCount(path))
	return result{Path: a.Path, Bytes: len(file.Bytes()), Binary: !isText, Text: text, Cut: cut}, nil
}

func main() {}
