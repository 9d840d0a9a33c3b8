package capabilities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/decimal"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What rules may know of a table, for the gates: a row by its key, a sum, a
// count, always within the scope of the session. The queries are prepared at
// load; what was fetched is held against scope and conditions again.

// ColumnTypes gives the types of the columns that may leave.
func (r *Records) ColumnTypes() map[string]ColumnType { return r.types }

// Columns gives the names of the columns that may leave.
func (r *Records) Columns() []string { return r.c.Columns }

// MaxBytes is how long a value can be that leaves.
func (r *Records) MaxBytes() int64 { return r.c.MaxBytes }

// RowFact reads columns of one row.
type RowFact struct {
	*Records
	columns []string
	lookup  *Statement
}

// RowFact prepares to read columns, all of them such as may leave.
func (r *Records) RowFact(ctx context.Context, columns []string) (*RowFact, error) {
	lookup, err := r.db.Prepare(ctx, r.lookupSQL(columns))
	return &RowFact{Records: r, columns: columns, lookup: lookup}, err
}

// Read gives the row with the key as a JSON object; no value where there is
// none within scope.
func (f *RowFact) Read(ctx context.Context, key string, want []string) (strictjson.Value, error) {
	if len(want) != len(f.c.Scope) {
		return strictjson.Value{}, fmt.Errorf("%d values for %d scope columns", len(want), len(f.c.Scope))
	}
	row := f.newRow(f.columns)
	if err := f.lookup.Row(ctx, f.lookupArgs(key, want), row.into()); err != nil {
		return strictjson.Value{}, fmt.Errorf("table %q cannot be read: %w", f.c.Table, err)
	}
	if !row.verdict(key, want).Within() {
		return strictjson.Value{}, nil
	}
	reach := recordsReach{Records: f.Records}
	text, err := reach.appendRow(nil, f.columns, row.values)
	if err != nil {
		return strictjson.Value{}, err
	}
	if int64(len(text)) > f.c.MaxBytes { // columns are missing, and would look like NULL
		return strictjson.Value{}, fmt.Errorf("table %q: the columns that rules read are longer than max_bytes (%d) together", f.c.Table, f.c.MaxBytes)
	}
	return strictjson.Read(text, strictjson.Default(len(text)))
}

// SumConfig is what is added up.
type SumConfig struct {
	Column string   // a number; "": the rows are counted
	Where  []string // columns that must equal what Read is given
	Since  string   // a date column that must not be before what Read is given; "": none
}

// SumFact adds up a column, or counts rows.
type SumFact struct {
	*Records
	SumConfig
	query *Statement
}

// ErrIncomparable says that a value equals none that a column can have: 1.5 and
// an integer.
var ErrIncomparable = errors.New("cannot be compared with its column exactly")

// mostSummed is how many rows a sum may have.
const mostSummed = 10_000

// SumFact prepares a sum or a count.
func (r *Records) SumFact(ctx context.Context, c SumConfig) (*SumFact, error) {
	f := &SumFact{Records: r, SumConfig: c}
	err := f.fits("sum", c.Column, "decimal", "integer", "minor")
	if err == nil {
		err = f.fits("within", c.Since, "date")
	}
	for _, name := range c.Where {
		if err == nil {
			err = f.fits("where", name, "text", "integer", "date", "boolean", "minor")
		}
	}
	if err != nil {
		return nil, err
	}
	f.query, err = r.db.prepareForSums(ctx, f.sql())
	return f, err
}

// fits says why a column cannot be of use; none needs not.
func (f *SumFact) fits(key, column string, types ...string) error {
	switch t, ok := f.types[column]; {
	case column == "":
		return nil
	case !ok:
		return fmt.Errorf("%s: column %q is not in the columns of %s", key, column, f.c.Name)
	case !slices.Contains(types, t.Name):
		return fmt.Errorf("%s: column %q is %s; it must be one of %s", key, column, t, strings.Join(types, ", "))
	}
	return nil
}

// sql selects the columns that decide, and what is summed. "+": no declared
// type, so that a date stays its text. What is in a date column and is no day
// is selected too: nobody knows whether the window has it, so that it must not
// be left out of a sum. NULL is no day that was ever meant, and is.
func (f *SumFact) sql() string {
	var selected, where []string
	for i, name := range slices.Concat(f.c.Scope, f.Where) {
		selected = append(selected, "+"+quote(name))
		where = append(where, equals(name, fmt.Sprintf("?%d", i+1)))
	}
	if f.Since != "" {
		selected = append(selected, f.value(f.Since)) // of a date column it may be a text of any length
		where = append(where, fmt.Sprintf("(%[1]s >= ?%[2]d COLLATE BINARY OR date(%[1]s) IS NOT %[1]s COLLATE BINARY)", quote(f.Since), len(where)+1))
	}
	if f.Column != "" {
		selected = append(selected, f.value(f.Column))
	} else {
		selected = append(selected, "1")
	}
	query := "SELECT " + strings.Join(selected, ", ") + " FROM " + quote(f.c.Table)
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	return query + fmt.Sprintf(" LIMIT %d", mostSummed+1)
}

// Read gives the sum or count. The values are of the Where columns, in their
// order; one that cannot be compared with its column is ErrIncomparable. since
// is a day, for Since.
func (f *SumFact) Read(ctx context.Context, want []string, values []strictjson.Value, since string) (decimal.Number, error) {
	var sum decimal.Number
	if len(want) != len(f.c.Scope) || len(values) != len(f.Where) {
		return sum, fmt.Errorf("%d values for %d scope columns, %d for %d conditions", len(want), len(f.c.Scope), len(values), len(f.Where))
	}
	var bound []any
	for i, name := range f.c.Scope {
		bound = append(bound, f.keyValue(name, want[i]))
	}
	for i, name := range f.Where {
		value, err := f.filterValue(name, values[i])
		if err != nil {
			return sum, fmt.Errorf("%w: %w", ErrIncomparable, err)
		}
		bound = append(bound, value)
	}
	if f.Since != "" {
		bound = append(bound, since)
	}
	return f.add(ctx, bound)
}

func (f *SumFact) add(ctx context.Context, bound []any) (sum decimal.Number, err error) {
	rows, err := f.query.rows(ctx, bound)
	if err != nil {
		return sum, fmt.Errorf("table %q cannot be read: %w", f.c.Table, err)
	}
	defer rows.Close()
	values, into := make([]any, len(bound)+1), make([]any, len(bound)+1)
	for i := range values {
		into[i] = &values[i]
	}
	for n := 0; rows.Next(); n++ {
		if n == mostSummed {
			return sum, fmt.Errorf("table %q: more than %d rows", f.c.Table, mostSummed)
		}
		if err := rows.Scan(into...); err != nil {
			return sum, fmt.Errorf("table %q cannot be read: %w", f.c.Table, err)
		}
		if err := f.mine(values, bound); err != nil {
			return sum, fmt.Errorf("table %q: %w", f.c.Table, err)
		}
		if sum, err = f.plus(sum, values[len(bound)]); err != nil {
			return sum, fmt.Errorf("table %q: a value of column %q %w", f.c.Table, f.Column, err)
		}
	}
	if err := rows.Err(); err != nil {
		return sum, fmt.Errorf("table %q cannot be read: %w", f.c.Table, err)
	}
	return sum, nil
}

func (f *SumFact) plus(sum decimal.Number, stored any) (decimal.Number, error) {
	if f.Column == "" {
		return sum.Add(decimal.Int(1))
	}
	if stored == nil {
		return sum, fmt.Errorf("is NULL, and a sum has no place for it")
	}
	text, err := f.types[f.Column].appendJSON(nil, stored)
	if err != nil {
		return sum, err
	}
	n, err := decimal.Parse(string(text))
	if err != nil {
		return sum, err
	}
	return sum.Add(n)
}

// mine holds a row against what was asked for. One that the query gave and that
// is not it is an error: to leave it out could make a sum too small.
func (f *SumFact) mine(stored, bound []any) error {
	if f.Since != "" {
		last := len(bound) - 1
		if _, err := f.types[f.Since].appendJSON(nil, stored[last]); err != nil {
			return fmt.Errorf("a value of column %q is no date", f.Since)
		}
		if day, ok := stored[last].(string); !ok || day < bound[last].(string) {
			return errNotAsked
		}
		bound = bound[:last]
	}
	for i := range bound {
		if bound[i] == nil || stored[i] != bound[i] {
			if text, ok := bound[i].(string); !ok || !same(stored[i], text) {
				return errNotAsked
			}
		}
	}
	return nil
}

var errNotAsked = errors.New("a row came back that was not asked for, or whose scope or where columns cannot be compared exactly")
