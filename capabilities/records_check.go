package capabilities

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// The one check of the kind "records", with its two callers: the caller gate
// (Check) and the host functions (records_functions.go).

// Verdict is what the check found about one key. The zero Verdict denies.
type Verdict struct {
	Found  bool // a row has exactly this key
	Failed int  // index of the first scope clause that does not hold; -1: all hold

	row *lookupRow
}

// Clause is what the row has in the column of a scope clause, for an operator
// (it may be another's), and whether the clause holds.
func (v Verdict) Clause(i int, want string) (stored string, holds bool) {
	if !v.Found || v.row == nil || i >= len(v.row.scope) {
		return "nothing", false
	}
	switch s := v.row.scope[i].(type) {
	case string:
		stored = strconv.Quote(s)
	case nil:
		stored = "NULL"
	default:
		stored = fmt.Sprint(s)
	}
	return stored, v.row.clauseHolds(i, want)
}

// Within tells whether the row is there and every clause holds.
func (v Verdict) Within() bool { return v.Found && v.Failed == -1 }

// Check looks one key up for the gate. Whatever the answer, it is one query
// that gives one row, so that "not there" and "not yours" cost the same.
func (r *Records) Check(ctx context.Context, key string, want []string) (Verdict, error) {
	if len(want) != len(r.c.Scope) {
		return Verdict{}, fmt.Errorf("%d values for %d scope columns", len(want), len(r.c.Scope))
	}
	row := r.newRow(nil)
	if err := r.gate.Row(ctx, r.lookupArgs(key, want), row.into()); err != nil {
		return Verdict{}, fmt.Errorf("table %q cannot be read: %w", r.c.Table, err)
	}
	return row.verdict(key, want), nil
}

// lookupSQL asks for one key: whether a row has it, the key and scope columns
// as they are stored, whether each clause holds, and the wanted columns.
//
// The inner query gives the row with the key or, where there is none, the next
// one (or the first): a row is found and read whatever was asked for, so that
// a missing key takes the steps that another's row takes. As an aggregate the
// outer query gives one row even of an empty table; over one row, max(x) is x.
func (r *Records) lookupSQL(columns []string) string {
	inner := []string{quote(r.c.Key) + " AS k"}
	outer := []string{"coalesce(sum(k = ?1 COLLATE BINARY), 0)", "max(k)"}
	for i, name := range r.c.Scope {
		inner = append(inner, fmt.Sprintf("%s AS s%d", quote(name), i))
		outer = append(outer, fmt.Sprintf("max(s%d)", i), fmt.Sprintf("coalesce(max(s%d = ?%d COLLATE BINARY), 0)", i, i+2))
	}
	for i, name := range columns {
		inner = append(inner, fmt.Sprintf("%s AS v%d", r.value(name), i))
		outer = append(outer, fmt.Sprintf("max(v%d)", i))
	}
	row := "SELECT " + strings.Join(inner, ", ") + " FROM " + quote(r.c.Table)
	order := " ORDER BY " + quote(r.c.Key) + " COLLATE BINARY LIMIT 1"
	return "SELECT " + strings.Join(outer, ", ") + " FROM (" +
		"SELECT * FROM (" + row + " WHERE " + quote(r.c.Key) + " >= ?1 COLLATE BINARY" + order + ")" +
		" UNION ALL SELECT * FROM (" + row + order + ") LIMIT 1)"
}

func (r *Records) lookupArgs(key string, want []string) []any {
	args := make([]any, 1, 1+len(want))
	args[0] = r.keyValue(r.c.Key, key)
	for i, w := range want {
		args = append(args, r.keyValue(r.c.Scope[i], w))
	}
	return args
}

// equals compares a column with a parameter byte for byte, whatever collation
// the column has: what SQL lets through counts against a LIMIT, even where mine
// drops it. The first comparison is the one that an index of another collation
// can serve.
func equals(column, parameter string) string {
	return fmt.Sprintf("%[1]s = %[2]s AND %[1]s = %[2]s COLLATE BINARY", quote(column), parameter)
}

// keyValue is a text as it is compared with a column. SQLite would compare
// '07' with an INTEGER 7 as numbers; a text that is no integer's own equals
// none of them, and neither does NULL.
func (r *Records) keyValue(column, text string) any {
	if r.integers[column] {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || strconv.FormatInt(n, 10) != text {
			return nil
		}
	}
	return text
}

// A lookupRow is the one row that lookupSQL gives. Its values are another
// row's where count is 0.
type lookupRow struct {
	count  int64
	key    any
	scope  []any
	holds  []int64
	values []any
}

func (r *Records) newRow(columns []string) *lookupRow {
	n := len(r.c.Scope)
	return &lookupRow{scope: make([]any, n), holds: make([]int64, n), values: make([]any, len(columns))}
}

func (l *lookupRow) into() []any {
	into := make([]any, 0, 2+2*len(l.scope)+len(l.values))
	into = append(into, &l.count, &l.key)
	for i := range l.scope {
		into = append(into, &l.scope[i], &l.holds[i])
	}
	for i := range l.values {
		into = append(into, &l.values[i])
	}
	return into
}

// verdict compares again what came back: a collation or an affinity in the
// database may call two keys equal that are not, and a cancelled scan has
// given another query's row before.
func (l *lookupRow) verdict(key string, want []string) Verdict {
	v := Verdict{Found: l.count == 1 && same(l.key, key), Failed: -1, row: l}
	for i := len(l.scope) - 1; i >= 0; i-- {
		if i >= len(want) || !l.clauseHolds(i, want[i]) {
			v.Failed = i
		}
	}
	return v
}

func (l *lookupRow) clauseHolds(i int, want string) bool {
	return l.holds[i] == 1 && same(l.scope[i], want)
}

// same compares a stored value with a text, byte for byte. NULL, the empty
// text, floats and blobs equal nothing.
func same(stored any, want string) bool {
	switch s := stored.(type) {
	case string:
		return want != "" && s == want
	case int64:
		return strconv.FormatInt(s, 10) == want
	default:
		return false
	}
}
