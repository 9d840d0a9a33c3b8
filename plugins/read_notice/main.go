// read_notice reads one notice of the person that the session is about.
package main

import "github.com/toolhost/toolhost/pdk"

// What the model gets is at most this long (limits.result_chars); around is the longest that stands
// around the content, with an id and a day of the most characters that the contract allows.
const (
	most   = 4000
	around = `{"ok":true,"notice":{"id":"N123456789","published_on":"2026-01-01","content":"","cut":false}}`
)

type args struct {
	ID string `json:"id"`
}

type notice struct {
	ID          string `json:"id"`
	PublishedOn string `json:"published_on"`
	Content     string `json:"content"`
	Cut         bool   `json:"cut"`
}

func init() { pdk.Tool(readNotice) }

func readNotice(c pdk.Call, a args) (any, error) {
	row, err := c.Records("notices").Get(a.ID)
	if err != nil {
		return nil, err
	}
	content, cut := pdk.Cut(row.Text("content"), most-len(around))
	return map[string]any{"notice": notice{
		ID: row.Text("id"), PublishedOn: row.Text("published_on"), Content: content, Cut: cut,
	}}, nil
}

func main() {}
