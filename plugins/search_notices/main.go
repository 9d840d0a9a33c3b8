// search_notices finds notices by words, the newest first.
package main

import "github.com/toolhost/toolhost/pdk"

const (
	mostNotices = 10
	mostExcerpt = 200 // characters; ten notices are then less than limits.result_chars
)

type args struct {
	Query         string  `json:"query"`
	PublishedFrom *string `json:"published_from"`
}

type notice struct {
	ID          string `json:"id"`
	PublishedOn string `json:"published_on"`
	Excerpt     string `json:"excerpt"`
	Cut         bool   `json:"cut"`
}

type result struct {
	Notices []notice `json:"notices"`
	More    bool     `json:"more"`
}

func init() { pdk.Tool(searchNotices) }

func searchNotices(c pdk.Call, a args) (result, error) {
	search := pdk.Search{
		Words: a.Query,
		In:    []string{"content"},
		Order: []pdk.Order{{Column: "published_on", Descending: true}},
		Limit: mostNotices,
	}
	if a.PublishedFrom != nil {
		search.Where = []pdk.Condition{pdk.AtLeast("published_on", *a.PublishedFrom)}
	}
	found, err := c.Records("notices").Search(search)
	if err != nil {
		return result{}, err
	}
	r := result{Notices: make([]notice, len(found.Rows)), More: found.More} // none is [], not null
	for i, row := range found.Rows {
		excerpt, cut := pdk.Cut(row.Text("content"), mostExcerpt)
		r.Notices[i] = notice{ID: row.Text("id"), PublishedOn: row.Text("published_on"), Excerpt: excerpt, Cut: cut}
	}
	return r, nil
}

func main() {}
