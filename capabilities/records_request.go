package capabilities

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/strictjson"
)

// What a guest may ask of records, read strictly: a member that nobody knows
// is an error, so that a misspelt filter never widens an answer.

// A recordsRequest is a request of get, list or search.
type recordsRequest struct {
	key     string
	columns []string
	filters []filter
	order   []ordering
	words   []string
	in      []string
	limit   int
}

type filter struct {
	column, op string // op: "=", ">=", "<=", "IS NULL"
	value      any    // string or int64
}

type ordering struct {
	column     string
	descending bool
}

// deniedError says that a request is understood and asks for what was not
// granted; every other error says that it is not understood.
type deniedError struct{ text, reason string }

func (e *deniedError) Error() string { return e.text }

var (
	errMembers = errors.New("a member of the request is unknown or of the wrong type; docs/abi.md lists them")
	errTooMany = errors.New("the request has more than 20 words, filters or orderings")
	errTwice   = errors.New("a column stands twice in the request")
	errWord    = errors.New("the words are longer than 100 characters each or 200 together, or hold NUL")
)

const (
	maxParts = 20
	// What LIKE costs is the length of a text times that of a word, and SQLite
	// looks at nothing else meanwhile.
	maxWord  = 100 // characters
	maxWords = 200 // characters of all words
)

// parse reads the members that a function takes.
func (r *Records) parse(request strictjson.Value, members ...string) (recordsRequest, error) {
	q := recordsRequest{columns: r.c.Columns, limit: r.c.MaxRows}
	for name, v := range request.Members() {
		if name != "from" && !slices.Contains(members, name) {
			return q, errMembers
		}
		if (name == "where" || name == "order") && v.Len() > maxParts {
			return q, errTooMany
		}
		if err := r.member(&q, name, v); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (r *Records) member(q *recordsRequest, name string, v strictjson.Value) (err error) {
	switch name {
	case "key":
		q.key, err = text(v)
	case "columns":
		q.columns, err = r.columnList(v)
	case "in":
		q.in, err = r.columnList(v)
	case "words":
		q.words, err = wordList(v)
	case "limit":
		q.limit, err = r.limit(v)
	case "where":
		err = each(v, func(v strictjson.Value) error { return r.filter(q, v) })
	case "order":
		err = each(v, func(v strictjson.Value) error { return r.ordering(q, v) })
	}
	return err
}

func each(v strictjson.Value, read func(strictjson.Value) error) error {
	if v.Kind() != strictjson.Array {
		return errMembers
	}
	for _, item := range v.Items() {
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

// wordList splits words at white space, as Unicode has it, and keeps each once.
func wordList(v strictjson.Value) ([]string, error) {
	all, err := text(v)
	if err != nil {
		return nil, err
	}
	words, sum := strings.Fields(all), 0
	if len(words) > maxParts {
		return nil, errTooMany
	}
	for _, w := range words {
		n := utf8.RuneCountInString(w)
		if sum += n; n > maxWord || sum > maxWords || strings.ContainsRune(w, 0) {
			return nil, errWord
		}
	}
	slices.Sort(words)
	return slices.Compact(words), nil
}

func text(v strictjson.Value) (string, error) {
	if s, ok := v.Text(); ok && v.Kind() == strictjson.String {
		return s, nil
	}
	return "", errMembers
}

// column is a name that must have been granted.
func (r *Records) column(v strictjson.Value) (string, error) {
	name, err := text(v)
	if err == nil && !r.granted(name) {
		return "", &deniedError{
			text:   fmt.Sprintf("%s: column %q is not granted", r.c.Name, shorten(name)),
			reason: "column_not_granted",
		}
	}
	return name, err
}

func (r *Records) columnList(v strictjson.Value) ([]string, error) {
	var names []string
	err := each(v, func(v strictjson.Value) error {
		name, err := r.column(v)
		if err == nil && slices.Contains(names, name) {
			return errTwice // a guest must not make an answer longer than the table is wide
		}
		names = append(names, name)
		return err
	})
	if err == nil && len(names) == 0 {
		return nil, errMembers
	}
	return names, err
}

func (r *Records) limit(v strictjson.Value) (int, error) {
	s, _ := v.Text()
	n, err := strconv.Atoi(s)
	if v.Kind() != strictjson.Number || err != nil || n < 1 || n > r.c.MaxRows {
		return 0, fmt.Errorf("limit must be a number from 1 to %d", r.c.MaxRows)
	}
	return n, nil
}

func (r *Records) filter(q *recordsRequest, v strictjson.Value) error {
	named, _ := v.Get("column")
	name, err := r.column(named)
	if err != nil {
		return err
	}
	if v.Len() < 2 {
		return errMembers
	}
	for op, value := range v.Members() {
		sql := map[string]string{"is": "=", "at_least": ">=", "at_most": "<="}[op]
		switch {
		case op == "column":
			continue
		case sql == "":
			return errMembers
		case value.Kind() == strictjson.Null && op == "is":
			q.filters = append(q.filters, filter{column: name, op: "IS NULL"})
			continue
		}
		bound, err := r.filterValue(name, value)
		if err != nil {
			return err
		}
		q.filters = append(q.filters, filter{column: name, op: sql, value: bound})
	}
	return nil
}

// filterValue turns a value of the guest's into what SQLite compares exactly.
func (r *Records) filterValue(name string, v strictjson.Value) (any, error) {
	t := r.types[name]
	s, _ := v.Text()
	switch {
	case t.Name == "text" && v.Kind() == strictjson.String:
		return s, nil
	case t.Name == "date" && v.Kind() == strictjson.String:
		// Only a day: SQLite would compare '9999' with a DATE column as a number.
		if _, err := time.Parse(time.DateOnly, s); err == nil {
			return s, nil
		}
	case t.Name == "boolean" && (v.Kind() == strictjson.True || v.Kind() == strictjson.False):
		if v.Kind() == strictjson.True {
			return int64(1), nil
		}
		return int64(0), nil
	case t.Name == "integer" && v.Kind() == strictjson.Number:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
	case t.Name == "minor" && v.Kind() == strictjson.Number:
		if n, ok := minorUnits(s, t.Places); ok {
			return n, nil
		}
	}
	return nil, fmt.Errorf("column %q is %s, which cannot be compared exactly with that value", name, t)
}

func (r *Records) ordering(q *recordsRequest, v strictjson.Value) error {
	named, _ := v.Get("column")
	name, err := r.column(named)
	if err != nil {
		return err
	}
	if t := r.types[name].Name; t == "decimal" || t == "json" {
		return fmt.Errorf("column %q is %s text, which cannot be sorted by its value", name, t)
	}
	o := ordering{column: name}
	for member, value := range v.Members() {
		switch {
		case member == "column":
		case member == "descending" && (value.Kind() == strictjson.True || value.Kind() == strictjson.False):
			o.descending = value.Kind() == strictjson.True
		default:
			return errMembers
		}
	}
	q.order = append(q.order, o)
	return nil
}

// shorten keeps what a guest wrote from filling a log.
func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return s
}
