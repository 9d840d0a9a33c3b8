package capabilities

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite" // the driver "sqlite", without cgo

	"github.com/toolhost/toolhost/host/sqlitefile"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Kind "outbox": a table to which the host adds one row for each approval.
//
// The guest asks for the row and chooses nothing of it: its request is noted
// while it runs, and the host writes the row that the approver was shown, once
// the guest has ended well. Tools have no other way to write.

// OutboxConfig is what the config says of one outbox.
type OutboxConfig struct {
	Name    string
	Table   string
	Key     string   // the column of the approval's id: unique and not null, checked by OpenOutbox
	Columns []string // of the row, in its order
	Types   map[string]ColumnType
}

// Outbox is one outbox, checked against its table.
type Outbox struct {
	c       OutboxConfig
	db      *Database
	types   map[string]ColumnType
	table   map[string]tableColumn
	stored  *Statement // how many rows have an approval's id
	lookup  *Statement // the row of an approval
	insert  string
	mu      sync.Mutex
	writing *sql.DB // nil: nothing was written yet
}

// OpenOutbox checks the table. It opens nothing to write. It gives every fault.
func OpenOutbox(ctx context.Context, db *Database, c OutboxConfig) (*Outbox, []Fault) {
	table, err := db.columns(ctx, c.Table)
	if err != nil {
		return nil, []Fault{{"table", fmt.Sprintf("%q cannot be read: %v", c.Table, err)}}
	}
	if len(table) == 0 {
		return nil, []Fault{{"table", fmt.Sprintf("database %q has no table %q", db.Name, c.Table)}}
	}
	o := &Outbox{c: c, db: db, types: map[string]ColumnType{}}
	r := &Records{c: RecordsConfig{Name: c.Name, Table: c.Table, Columns: c.Columns, Types: c.Types}, db: db, types: o.types}
	faults := r.checkColumns(table)
	for i := range faults {
		faults[i].Key = "row"
	}
	for _, name := range c.Columns {
		faults = append(faults, heldExactly(name, table[name], o.types[name])...)
	}
	faults = append(faults, notFilled(table, c.Columns)...)
	o.table = table
	if key, ok := table[c.Key]; ok {
		switch unique, err := db.unique(ctx, c.Table, c.Key, key); {
		case err != nil:
			faults = append(faults, Fault{"row", err.Error()})
		case !unique || affinity(key.declared) != "TEXT":
			faults = append(faults, Fault{"row", fmt.Sprintf("column %q holds the approval's id and must be declared TEXT, unique byte for byte and NOT NULL, or one approval could write two rows", c.Key)})
		}
	}
	if len(faults) == 0 {
		o.insert = o.insertSQL()
		if o.stored, err = db.Prepare(ctx, fmt.Sprintf("SELECT count(*) FROM %s WHERE %s", quote(c.Table), equals(c.Key, "?1"))); err == nil {
			o.lookup, err = db.Prepare(ctx, o.lookupSQL())
		}
		if err != nil {
			faults = append(faults, Fault{"table", fmt.Sprintf("%q cannot be read: %v", c.Table, err)})
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return o, nil
}

// notFilled tells of columns without which the table takes no row.
func notFilled(table map[string]tableColumn, columns []string) (faults []Fault) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		c := table[name]
		rowid := c.pk > 0 && c.declared == "INTEGER" // SQLite counts it
		if c.notNull && !rowid && !c.fallback && !c.generated && !slices.Contains(columns, name) {
			faults = append(faults, Fault{"row", fmt.Sprintf("column %q is NOT NULL and has no default, so that the table takes no row without it; fill it, or give it a default", name)})
		}
	}
	return faults
}

// heldExactly tells of a column that would not keep what is written into it.
func heldExactly(name string, column tableColumn, t ColumnType) []Fault {
	switch {
	case column.generated:
		return []Fault{{"row", fmt.Sprintf("column %q is generated: the table makes what stands in it", name)}}
	case t.Name == "decimal" && affinity(column.declared) != "TEXT":
		return []Fault{{"row", fmt.Sprintf("column %q has type decimal and is declared %q, which makes a float of 5.05; declare it TEXT, or give it the type minor(2)", name, column.declared)}}
	}
	return nil
}

// NotNull tells whether a column takes no NULL.
func (o *Outbox) NotNull(column string) bool { return o.table[column].notNull }

// Types gives the types of the row's columns.
func (o *Outbox) Types() map[string]ColumnType { return o.types }

// Close closes what was opened to write.
func (o *Outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing == nil {
		return nil
	}
	return o.writing.Close()
}

// Stored gives a value as the column stores it; the error says why it cannot,
// and does not quote it. No value is NULL.
func (o *Outbox) Stored(column string, v strictjson.Value) (any, error) {
	t, ok := o.types[column]
	text, scalar := v.Text()
	switch {
	case !ok:
		return nil, errors.New("is no column of the row")
	case v.Kind() == strictjson.Nothing || v.Kind() == strictjson.Null:
		return nil, nil //nolint:nilnil // NULL
	case t.Name == "json":
		return string(v.AppendJSON(nil)), nil
	case t.Name == "boolean" && v.Kind() == strictjson.True:
		return int64(1), nil
	case t.Name == "boolean" && v.Kind() == strictjson.False:
		return int64(0), nil
	case !scalar:
		return nil, fmt.Errorf("is %s, which is no %s", v.Kind(), t)
	case t.Name == "text":
		return text, nil
	}
	return t.parse(text)
}

// parse is the way back of appendJSON: exact, or not at all.
func (t ColumnType) parse(text string) (any, error) {
	switch t.Name {
	case "date":
		if _, err := t.appendText(nil, text); err == nil {
			return text, nil
		}
	case "decimal":
		if isDecimal(text) {
			return text, nil
		}
	case "integer":
		if n, ok := minorUnits(text, 0); ok {
			return n, nil
		}
	case "minor":
		if n, ok := minorUnits(text, t.Places); ok {
			return n, nil
		}
	}
	return nil, fmt.Errorf("is no %s", t)
}

// Reach bounds the outbox for one call.
func (o *Outbox) Reach() *OutboxReach { return &OutboxReach{Outbox: o} }

// OutboxReach notes what the guest of one call asks for.
type OutboxReach struct {
	*Outbox
	asked atomic.Bool
}

// Asked tells whether the guest has asked for the row.
func (r *OutboxReach) Asked() bool { return r.asked.Load() }

// Call answers one request of a guest. A second row is refused: what was
// approved is one.
func (r *OutboxReach) Call(_ context.Context, function string, request strictjson.Value) (Answer, error) {
	switch {
	case function != "append":
		return Refuse(Invalid, "no such function", "unknown_function"), nil
	case !onlyMembers(request, "to"):
		return Refuse(Invalid, `append takes {"to":"NAME"} and nothing else: the host makes the row`, "invalid_request"), nil
	case r.asked.Swap(true):
		return Refuse(Denied, r.c.Name+": the one row of this approval was asked for already", "second_row"), nil
	}
	return Answer{Status: OK, Body: []byte(`{}`)}, nil
}

// connect gives the one connection that writes, when it is free.
func (o *Outbox) connect(ctx context.Context) (*sql.Conn, error) {
	db, err := o.opened()
	if err != nil {
		return nil, err
	}
	return db.Conn(ctx)
}

// opened gives what writes, and opens it when that is first needed: to
// write a row, or to settle what was left.
func (o *Outbox) opened() (*sql.DB, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing != nil {
		return o.writing, nil
	}
	db, err := sql.Open("sqlite", sqlitefile.Name(o.db.file, url.Values{
		"mode": {"rw"}, "_dqs": {"0"},
		"_pragma": {"trusted_schema(0)", "cell_size_check(1)", "foreign_keys(1)", "synchronous(FULL)", "busy_timeout(5000)"},
	}))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	o.writing = db
	return db, nil
}

// isBusy tells whether another connection has held a lock for too long.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 5 // SQLITE_BUSY
}
