package pdk

import "slices"

// Records names a records capability by its name in the config, such as "orders". What it gives is
// narrowed by the capability's scope and by the grant; a plugin cannot widen it.
func (Call) Records(name string) Records { return Records{name} }

// Records asks one records capability.
type Records struct{ name string }

// Get gives the row with this key: the named columns, or with none named all that may leave.
// ErrNotAvailable if there is no such row within reach.
func (r Records) Get(key string, columns ...string) (Row, error) {
	x := struct { // in one piece of the heap
		getRequest
		getAnswer
	}{getRequest: getRequest{r.name, key, columns}}
	err := exchange("records.get", hostRecordsGet, &x.getRequest, &x.getAnswer)
	return x.Row, err
}

type getRequest struct {
	From    string   `json:"from"`
	Key     string   `json:"key"`
	Columns []string `json:"columns,omitempty"`
}

type getAnswer struct {
	Row Row `json:"row"`
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
	err := exchange("records.list", hostRecordsList, &listRequest{r.name, q}, &rows)
	return rows, err
}

type listRequest struct {
	From string `json:"from"`
	Query
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
	err := exchange("records.search", hostRecordsSearch, &searchRequest{r.name, s}, &rows)
	return rows, err
}

type searchRequest struct {
	From string `json:"from"`
	Search
}

// Condition compares one column with a value: a string, a number, a bool or a Number.
type Condition struct {
	Column  string `json:"column"`
	Is      any    `json:"is,omitempty"`
	AtLeast any    `json:"at_least,omitempty"`
	AtMost  any    `json:"at_most,omitempty"`
}

// Is asks that a column equals a value; nil is NULL.
func Is(column string, value any) Condition {
	if value == nil {
		value = Row{} // is null; an empty interface would be left out
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

// MarshalJSON gives a copy of the row as it came. A Row that was never filled is null.
func (r Row) MarshalJSON() ([]byte, error) {
	if len(r.raw) == 0 {
		return []byte("null"), nil
	}
	return slices.Clone(r.raw), nil
}

// UnmarshalJSON keeps a copy of the bytes.
func (r *Row) UnmarshalJSON(b []byte) error { return Unmarshal(b, r) }

// row keeps the bytes of the next value, without white space between its parts.
func (d *reader) row(r *Row) error {
	d.peek()
	d.space = false
	raw, err := d.raw()
	switch {
	case err != nil:
		return err
	case d.space:
		raw = appendCompact(nil, raw)
	case !d.kept:
		raw = slices.Clone(raw)
	}
	r.raw = raw
	return nil
}

// Decode fills v as Unmarshal does.
func (r Row) Decode(v any) error {
	if err := decodeKept(r.raw, v); err != nil {
		return because("decode a row", err)
	}
	return nil
}

// Text gives one column: a string's text, the JSON of anything else as it was written, and "" for
// null or a column that is not there.
func (r Row) Text(column string) string {
	d := reader{b: r.raw, kept: true}
	if d.peek() != '{' {
		return ""
	}
	more, err := d.open('}')
	for more && err == nil {
		name, err := d.name()
		if err != nil {
			return ""
		}
		if string(name) == column {
			return d.column()
		}
		if d.skip() != nil {
			return ""
		}
		if more, err = d.more('}'); err != nil {
			return ""
		}
	}
	return ""
}

// column reads a value as Text gives it.
func (d *reader) column() string {
	switch d.peek() {
	case 'n':
		return ""
	case '"':
		text, _ := d.text() // Row has read it before
		return text
	default:
		raw, _ := d.raw()
		return textOf(raw)
	}
}
