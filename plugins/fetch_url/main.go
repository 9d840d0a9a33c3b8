// fetch_url gets one page of the hosts that its grant allows.
package main

import "github.com/toolhost/toolhost/pdk"

// What the model gets is at most this long (limits.result_chars); around is the longest that stands
// around type and text.
const (
	most     = 4000
	mostType = 100
	around   = `{"ok":true,"status":200,"type":"","binary":false,"text":"","cut":false}`
)

type args struct {
	URL string `json:"url"`
}

type result struct {
	Status int    `json:"status"`
	Type   string `json:"type"`
	Binary bool   `json:"binary"`
	Text   string `json:"text"`
	Cut    bool   `json:"cut"`
}

func init() { pdk.Tool(fetchURL) }

func fetchURL(c pdk.Call, a args) (result, error) {
	answer, err := c.Fetch("carrier").Get(a.URL)
	if err != nil {
		return result{}, err
	}
	kind, _ := pdk.Cut(answer.Headers["content-type"], mostType)
	text, isText := answer.Body.Text()
	text, cut := pdk.Cut(text, most-mostType-len(around))
	return result{Status: answer.Status, Type: kind, Binary: !isText, Text: text, Cut: cut}, nil
}

func main() {}
