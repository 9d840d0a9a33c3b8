package capabilities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Call answers one request of a guest.
func (r *recordsReach) Call(ctx context.Context, function string, request strictjson.Value) (Answer, error) {
	var q recordsRequest
	var err error
	switch function {
	case "get":
		q, err = r.parse(request, "key", "columns")
	case "list":
		q, err = r.parse(request, "columns", "where", "order", "limit")
	case "search":
		q, err = r.parse(request, "columns", "where", "order", "limit", "words", "in")
		if err == nil && len(q.words) == 0 {
			err = errors.New("words must hold at least one word")
		}
	default:
		return Refuse(Invalid, "no such function", "unknown_function"), nil
	}
	var denied *deniedError
	switch {
	case errors.As(err, &denied):
		return Refuse(Denied, denied.text, denied.reason), nil
	case err != nil:
		return Refuse(Invalid, err.Error(), "invalid_request"), nil
	case function == "get":
		return r.get(ctx, q)
	default:
		return r.list(ctx, q)
	}
}

// get gives one row by its key. A key that the grant does not name is refused
// without a query: it is not this call's, whether it exists or not.
func (r *recordsReach) get(ctx context.Context, q recordsRequest) (Answer, error) {
	if r.only != nil && q.key != *r.only {
		return asked(q.key, Refuse(Denied, r.c.Name+": the grant names another key", "not_the_granted_key")), nil
	}
	row := r.newRow(r.c.Columns) // all of them: the statement is prepared once, and no column's cost shows
	if err := r.lookup.Row(ctx, r.lookupArgs(q.key, r.want), row.into()); err != nil {
		return Answer{}, fmt.Errorf("table %q cannot be read: %w", r.c.Table, err)
	}
	verdict := row.verdict(q.key, r.want)
	switch {
	case !verdict.Found:
		return asked(q.key, Answer{Status: NotAvailable, Reason: "not_found"}), nil
	case !verdict.Within():
		return asked(q.key, Answer{Status: NotAvailable, Reason: "out_of_scope:" + r.c.Scope[verdict.Failed]}), nil
	}
	values := make([]any, len(q.columns))
	for i, name := range q.columns {
		values[i] = row.values[slices.Index(r.c.Columns, name)]
	}
	body, err := r.appendRow([]byte(`{"row":`), q.columns, values)
	if err != nil {
		return Answer{}, err
	}
	return r.bounded(append(body, '}')), nil
}

// list gives the rows of the scope that fit the filters and hold every word,
// at most limit, and says whether there are more.
func (r *recordsReach) list(ctx context.Context, q recordsRequest) (Answer, error) {
	query, args := r.listSQL(q)
	rows, err := r.db.guestRows(ctx, query, args)
	if err != nil {
		return Answer{}, fmt.Errorf("table %q cannot be read: %w", r.c.Table, err)
	}
	defer rows.Close()
	body, count, more := []byte(`{"rows":[`), 0, false
	own := len(r.c.Scope) + 1 // the key and the scope columns stand first
	values, into := make([]any, own+len(q.columns)), make([]any, own+len(q.columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() && int64(len(body)) <= r.c.MaxBytes {
		if count == q.limit {
			more = true
			break
		}
		if err := rows.Scan(into...); err != nil {
			return Answer{}, fmt.Errorf("table %q cannot be read: %w", r.c.Table, err)
		}
		if !r.mine(values) {
			continue // what came back is held against scope and key again
		}
		if count > 0 {
			body = append(body, ',')
		}
		if body, err = r.appendRow(body, q.columns, values[own:]); err != nil {
			return Answer{}, err
		}
		count++
	}
	if err := rows.Err(); err != nil {
		return Answer{}, fmt.Errorf("table %q cannot be read: %w", r.c.Table, err)
	}
	return r.bounded(fmt.Appendf(body, `],"more":%t}`, more)), nil
}

// mine holds a row of listSQL against the grant's key and the scope.
func (r *recordsReach) mine(values []any) bool {
	if r.only != nil && !same(values[0], *r.only) {
		return false
	}
	for i, want := range r.want {
		if !same(values[i+1], want) {
			return false
		}
	}
	return len(r.want) == len(r.c.Scope)
}

// bounded refuses an answer that is longer than the capability allows: cut in
// the middle it would look whole.
func (r *recordsReach) bounded(body []byte) Answer {
	if int64(len(body)) > r.c.MaxBytes {
		return Refuse(Invalid, fmt.Sprintf("%s: the answer is longer than max_bytes (%d); ask for fewer rows or columns", r.c.Name, r.c.MaxBytes), "answer_too_long")
	}
	return Answer{Status: OK, Body: body}
}

// appendRow stops where the answer is longer than bounded will let through.
func (r *recordsReach) appendRow(b []byte, columns []string, values []any) ([]byte, error) {
	b = append(b, '{')
	for i, name := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strictjson.AppendString(b, name), ':')
		var err error
		if b, err = r.types[name].appendJSON(b, values[i]); err != nil {
			return nil, fmt.Errorf("table %q: a value of column %q %w", r.c.Table, name, err)
		}
		if int64(len(b)) > r.c.MaxBytes {
			break
		}
	}
	return append(b, '}'), nil
}

// listSQL builds the one query of a request. Every name in it stood in the
// config, every value of the guest's or session's is bound.
func (r *recordsReach) listSQL(q recordsRequest) (string, []any) {
	var args []any
	bind := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("?%d", len(args))
	}
	selected := []string{"+" + quote(r.c.Key)} // "+": no declared type, so that a date stays its text
	var where []string
	for i, name := range r.c.Scope {
		selected = append(selected, "+"+quote(name))
		where = append(where, equals(name, bind(r.keyValue(name, r.want[i]))))
	}
	for _, name := range q.columns {
		selected = append(selected, r.value(name))
	}
	if r.only != nil {
		where = append(where, equals(r.c.Key, bind(r.keyValue(r.c.Key, *r.only))))
	}
	for _, f := range q.filters {
		if f.op == "IS NULL" {
			where = append(where, quote(f.column)+" IS NULL")
		} else {
			where = append(where, fmt.Sprintf("%s %s %s COLLATE BINARY", quote(f.column), f.op, bind(f.value)))
		}
	}
	for _, word := range q.words {
		where = append(where, r.holds(q, bind(like(word))))
	}
	query := "SELECT " + strings.Join(selected, ", ") + " FROM " + quote(r.c.Table)
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	order := ""
	for _, o := range q.order {
		order += quote(o.column)
		if o.descending {
			order += " DESC"
		}
		order += ", "
	}
	return query + " ORDER BY " + order + quote(r.c.Key) + " LIMIT " + bind(q.limit+1), args
}

// holds says that a word occurs in one of the searched columns. LIKE compares
// substrings, of any script, and folds the case of ASCII letters alone.
func (r *recordsReach) holds(q recordsRequest, pattern string) string {
	in := q.in
	if len(in) == 0 {
		for _, name := range r.c.Columns {
			if t := r.types[name].Name; t == "text" || t == "json" {
				in = append(in, name)
			}
		}
	}
	if len(in) == 0 {
		return "0" // nothing that holds words
	}
	parts := make([]string, len(in))
	for i, name := range in {
		parts[i] = fmt.Sprintf(`(octet_length(%[1]s) <= %[3]d AND %[1]s LIKE %[2]s ESCAPE '\')`, quote(name), pattern, r.c.MaxBytes)
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// like makes a pattern that finds the word itself: % and _ are letters here.
func like(word string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(word) + "%"
}
