package capabilities

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	c      RecordsConfig
	db     *Database
	types  map[string]ColumnType
	gate   *Statement // lookup without columns
	lookup *Statement // lookup with every granted column
}

// OpenRecords checks the table and prepares the lookup. It gives every fault.
func OpenRecords(ctx context.Context, db *Database, c RecordsConfig) (*Records, []error) {
	table, ok, err := db.columns(ctx, c.Table)
	if err != nil {
		return nil, []error{fmt.Errorf("table %q cannot be read: %w", c.Table, err)}
	}
	if !ok {
		return nil, []error{fmt.Errorf("database %q has no table %q", db.Name, c.Table)}
	}
	r := &Records{c: c, db: db, types: map[string]ColumnType{}}
	faults := r.checkKey(ctx, table)
	for _, name := range c.Scope {
		if _, ok := table[name]; !ok {
			faults = append(faults, fmt.Errorf("scope: table %q has no column %q", c.Table, name))
		} else if a := affinity(table[name].declared); a == "REAL" || a == "BLOB" {
			faults = append(faults, fmt.Errorf("scope: column %q is declared %q, which cannot be compared exactly", name, table[name].declared))
		}
	}
	for _, name := range c.Columns {
		column, ok := table[name]
		if !ok {
			faults = append(faults, fmt.Errorf("columns: table %q has no column %q", c.Table, name))
			continue
		}
		t, err := typeFor(c.Types[name], column.declared)
		if err != nil {
			faults = append(faults, fmt.Errorf("columns: %q %w", name, err))
		}
		r.types[name] = t
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if r.gate, err = db.Prepare(ctx, r.lookupSQL(nil)); err == nil {
		r.lookup, err = db.Prepare(ctx, r.lookupSQL(c.Columns))
	}
	if err != nil {
		return nil, []error{fmt.Errorf("table %q cannot be read: %w", c.Table, err)}
	}
	return r, nil
}

func (r *Records) checkKey(ctx context.Context, table map[string]tableColumn) []error {
	key, ok := table[r.c.Key]
	if !ok {
		return []error{fmt.Errorf("key: table %q has no column %q", r.c.Table, r.c.Key)}
	}
	unique, err := r.db.unique(ctx, r.c.Table, r.c.Key, key)
	switch {
	case err != nil:
		return []error{fmt.Errorf("key: %w", err)}
	case !unique:
		return []error{fmt.Errorf("key: column %q must be unique and NOT NULL, or a key could name two rows", r.c.Key)}
	}
	return nil
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
