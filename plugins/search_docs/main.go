// search_docs finds passages of a shop's help documents by the words of a query.
package main

import (
	"errors"

	"github.com/toolhost/toolhost/pdk"
)

// Five passages of these characters each, with what stands around them, are
// less than limits.result_chars.
const (
	mostPassages = 5
	mostTitle    = 100
	mostExcerpt  = 600
)

type args struct {
	Query string `json:"query"`
}

type passage struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Excerpt string `json:"excerpt"`
	Cut     bool   `json:"cut"`
}

type result struct {
	Passages []passage `json:"passages"`
	More     bool      `json:"more"`
}

func init() { pdk.Tool(searchDocs) }

// searchDocs asks once for each term and not once for all: the host finds rows
// that hold every word it is given, and of a model's many words few occur.
func searchDocs(c pdk.Call, a args) (result, error) {
	documents, asked := c.Records("documents"), terms(a.Query)
	held := map[string]int{}
	for _, term := range asked {
		ids, err := holding(documents, term)
		if err != nil {
			return result{}, err
		}
		for id := range ids {
			held[id]++
		}
	}
	best, more := ranked(held, mostPassages)
	r := result{Passages: []passage{}, More: more} // none is [], not null
	for _, id := range best {
		row, err := documents.Get(id)
		if errors.Is(err, pdk.ErrNotAvailable) {
			continue // taken away since it was found
		}
		if err != nil {
			return result{}, err
		}
		title, _ := pdk.Cut(row.Text("title"), mostTitle)
		text, cut := excerpt(row.Text("body"), asked)
		r.Passages = append(r.Passages, passage{ID: id, Title: title, Excerpt: text, Cut: cut})
	}
	return r, nil
}

// holding gives the ids of the passages that hold a term, at most as many as
// the capability's max_rows lets through.
func holding(documents pdk.Records, term string) (map[string]bool, error) {
	ids := map[string]bool{}
	for _, form := range forms(term) {
		found, err := documents.Search(pdk.Search{Words: form, In: []string{"title", "body"}, Columns: []string{"doc_id"}})
		if err != nil {
			return nil, err
		}
		for _, row := range found.Rows {
			ids[row.Text("doc_id")] = true
		}
	}
	return ids, nil
}

func main() {}
