package pdk

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Records names a records capability by its name in the config, such as "orders". What it gives is
// narrowed by the capability's scope and by the grant; a plugin cannot widen it.
func (Call) Records(name string) Records { return Records{name} }

// Records asks one records capability.
type Records struct{ name string }

// Get gives the row with this key: the named columns, or with none named all that may leave.
// ErrNotAvailable if there is no such row within reach.
func (r Records) Get(key string, columns ...string) (Row, error) {
	var answer struct {
		Row Row `json:"row"`
	}
	request := struct {
		From    string   `json:"from"`
		Key     string   `json:"key"`
		Columns []string `json:"columns,omitempty"`
	}{r.name, key, columns}
	err := exchange("records.get", hostRecordsGet, request, &answer)
	return answer.Row, err
}

// Query chooses rows. Its zero value asks for all rows and columns within reach, up to the host's limit.
type Query struct {
	Columns []string    `json:"columns,omitempty"`
	Where   []Condition `json:"where,omitempty"` // all must hold
	Order   []Order     `json:"order,omitempty"`
	Limit   int         `json:"limit,omitempty"` // rows
}

// List gives the rows that a query chooses.
func (r Records) List(q Query) (Rows, error) {
	var rows Rows
	request := struct {
		From string `json:"from"`
		Query
	}{r.name, q}
	err := exchange("records.list", hostRecordsList, request, &rows)
	return rows, err
}

// Search chooses rows by words.
type Search struct {
	Words   string      `json:"words"`        // 1 to 20, of at most 100 characters, 200 together; all must occur, as parts of the text
	In      []string    `json:"in,omitempty"` // the columns that are searched; none: every text and json column
	Columns []string    `json:"columns,omitempty"`
	Where   []Condition `json:"where,omitempty"` // all must hold
	Order   []Order     `json:"order,omitempty"`
	Limit   int         `json:"limit,omitempty"` // rows
}

// Search gives the rows in which all the words occur.
func (r Records) Search(s Search) (Rows, error) {
	var rows Rows
	request := struct {
		From string `json:"from"`
		Search
	}{r.name, s}
	err := exchange("records.search", hostRecordsSearch, request, &rows)
	return rows, err
}

// Condition compares one column with a value: a string, a number, a bool or a json.Number.
type Condition struct {
	Column  string `json:"column"`
	Is      any    `json:"is,omitempty"`
	AtLeast any    `json:"at_least,omitempty"`
	AtMost  any    `json:"at_most,omitempty"`
}

// Is asks that a column equals a value; nil is NULL.
func Is(column string, value any) Condition {
	if value == nil {
		value = json.RawMessage("null") // an empty interface would be left out
	}
	return Condition{Column: column, Is: value}
}

// AtLeast asks that a column is not below a value.
func AtLeast(column string, value any) Condition { return Condition{Column: column, AtLeast: value} }

// AtMost asks that a column is not above a value.
func AtMost(column string, value any) Condition { return Condition{Column: column, AtMost: value} }

// Order sorts by one column, ascending unless said otherwise.
type Order struct {
	Column     string `json:"column"`
	Descending bool   `json:"descending,omitempty"`
}

// Rows are the rows of a List or Search.
type Rows struct {
	Rows []Row `json:"rows"`
	More bool  `json:"more"` // there are more rows than the limit let through
}

// Row is one row. It keeps the bytes that the host gave, so that exact numbers and the order of the
// columns survive when a tool returns it.
type Row struct{ raw []byte }

// MarshalJSON gives the row as it came. A Row that was never filled is null.
func (r Row) MarshalJSON() ([]byte, error) {
	if len(r.raw) == 0 {
		return []byte("null"), nil
	}
	return r.raw, nil
}

// UnmarshalJSON keeps a copy of the bytes.
func (r *Row) UnmarshalJSON(b []byte) error {
	r.raw = bytes.Clone(b)
	return nil
}

// Decode fills v as json.Unmarshal does, with json.Number for a number that lands in an any.
func (r Row) Decode(v any) error {
	d := json.NewDecoder(bytes.NewReader(r.raw))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("decode a row: %w", err)
	}
	return nil
}

// Text gives one column: a string's text, the JSON of anything else as it was written, and "" for
// null or a column that is not there.
func (r Row) Text(column string) string {
	var columns map[string]json.RawMessage
	if json.Unmarshal(r.raw, &columns) != nil {
		return ""
	}
	raw := columns[column]
	var text string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// exchange asks with JSON and decodes the JSON of the answer.
func exchange(name string, host func(request, response []byte) uint64, request, answer any) error {
	body, err := encode(request)
	if err != nil {
		return fmt.Errorf("%s: encode the request: %w", name, err)
	}
	raw, err := ask(name, host, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("%s: decode the response: %w", name, err)
	}
	return nil
}
