package capabilities

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/nearest"
)

// Kind "records": rows of one table, read-only, within the session's scope and
// the columns that may leave.

// RecordsConfig is what the config says of one records capability.
type RecordsConfig struct {
	Name     string
	Table    string
	Key      string   // unique and not null: checked by OpenRecords
	Columns  []string // all that may leave, be searched, filtered or sorted by
	Types    map[string]ColumnType
	Scope    []string // columns that must equal the wanted values, in the order of the config; empty for everyone
	MaxRows  int      // rows in one answer
	MaxBytes int64    // bytes of one value, and of one answer
}

// Records is one records capability, checked against its table.
type Records struct {
	c        RecordsConfig
	db       *Database
	types    map[string]ColumnType
	integers map[string]bool // key and scope columns of INTEGER affinity
	gate     *Statement      // lookup without columns
	lookup   *Statement      // lookup with every granted column
}

// Fault is one thing that is wrong between a config and a table.
type Fault struct {
	Key  string // of the capability's section: "table", "key", "columns", "scope"
	Text string
}

// OpenRecords checks the table and prepares the lookup. It gives every fault.
func OpenRecords(ctx context.Context, db *Database, c RecordsConfig) (*Records, []Fault) {
	table, err := db.columns(ctx, c.Table)
	if err != nil {
		return nil, []Fault{{"table", fmt.Sprintf("%q cannot be read: %v", c.Table, err)}}
	}
	if len(table) == 0 {
		return nil, []Fault{{"table", fmt.Sprintf("database %q has no table %q", db.Name, c.Table)}}
	}
	r := &Records{c: c, db: db, types: map[string]ColumnType{}, integers: map[string]bool{}}
	for _, name := range append([]string{c.Key}, c.Scope...) {
		r.integers[name] = affinity(table[name].declared) == "INTEGER"
	}
	faults := slices.Concat(r.checkKey(ctx, table), r.checkScope(table), r.checkColumns(table))
	if len(faults) > 0 {
		return nil, faults
	}
	if r.gate, err = db.Prepare(ctx, r.lookupSQL(nil)); err == nil {
		r.lookup, err = db.prepareForGuests(ctx, r.lookupSQL(c.Columns))
	}
	if err != nil {
		return nil, []Fault{{"table", fmt.Sprintf("%q cannot be read: %v", c.Table, err)}}
	}
	return r, nil
}

func (r *Records) noColumn(key, name string, table map[string]tableColumn) Fault {
	hint := nearest.DidYouMean(name, slices.Sorted(maps.Keys(table)))
	return Fault{key, fmt.Sprintf("table %q has no column %q%s", r.c.Table, name, hint)}
}

func (r *Records) checkKey(ctx context.Context, table map[string]tableColumn) []Fault {
	key, ok := table[r.c.Key]
	if !ok {
		return []Fault{r.noColumn("key", r.c.Key, table)}
	}
	unique, err := r.db.unique(ctx, r.c.Table, r.c.Key, key)
	switch {
	case err != nil:
		return []Fault{{"key", err.Error()}}
	case !unique:
		return []Fault{{"key", fmt.Sprintf("column %q must be unique, byte for byte, and NOT NULL, or a key could name two rows (in SQLite a TEXT PRIMARY KEY may be NULL, and one with COLLATE NOCASE folds case)", r.c.Key)}}
	}
	return nil
}

func (r *Records) checkScope(table map[string]tableColumn) (faults []Fault) {
	for _, name := range r.c.Scope {
		column, ok := table[name]
		if !ok {
			faults = append(faults, r.noColumn("scope", name, table))
		} else if a := affinity(column.declared); a == "REAL" || a == "BLOB" {
			faults = append(faults, Fault{"scope", fmt.Sprintf("column %q is declared %q, which cannot be compared exactly", name, column.declared)})
		}
	}
	return faults
}

func (r *Records) checkColumns(table map[string]tableColumn) (faults []Fault) {
	for _, name := range r.c.Columns {
		column, ok := table[name]
		if !ok {
			faults = append(faults, r.noColumn("columns", name, table))
			continue
		}
		t, err := typeFor(r.c.Types[name], column.declared)
		if err != nil {
			faults = append(faults, Fault{"columns", fmt.Sprintf("%q %v", name, err)})
		}
		r.types[name] = t
	}
	return faults
}

// Reach bounds the capability for one call: want are the values of the scope
// columns, only the one key that the grant names (nil: all within scope).
func (r *Records) Reach(want []string, only *string) Reach {
	return &recordsReach{Records: r, want: want, only: only}
}

type recordsReach struct {
	*Records
	want []string
	only *string
}

// quote writes an identifier; the config has already held it to plain letters.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// value selects one column so that what is longer than allowed never leaves
// SQLite, and so that the driver makes no time.Time of it.
func (r *Records) value(name string) string {
	return fmt.Sprintf("CASE WHEN octet_length(%[1]s) > %[2]d THEN x'' ELSE %[1]s END", quote(name), r.c.MaxBytes)
}

func (r *Records) granted(name string) bool { return slices.Contains(r.c.Columns, name) }
