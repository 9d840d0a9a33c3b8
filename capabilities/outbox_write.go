package capabilities

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/strictjson"
)

// ErrUnknownEnd says that nobody knows whether a row was written.
var ErrUnknownEnd = errors.New("whether the row was written is not known")

// ErrRowThere says that the approval's row is there already.
var ErrRowThere = errors.New("the row of this approval is there already")

// writeTime bounds a transaction, whatever its caller does.
const writeTime = 10 * time.Second

// Write adds the row of an approval, in one IMMEDIATE transaction. allow is
// called within it and may refuse: whatever it asks of this database, through
// the context that it gets, is read in the transaction. The error is allow's
// own, ErrRowThere, ErrUnknownEnd, or why nothing was written.
//
// No caller that goes away cuts it in the middle.
func (o *Outbox) Write(ctx context.Context, id string, row []any, allow func(ctx context.Context) error) error {
	return o.locked(ctx, func(ctx context.Context, conn *sql.Conn) error {
		there, err := o.Has(ctx, id)
		switch {
		case err != nil:
			return err
		case there:
			return ErrRowThere
		}
		if err := allow(ctx); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, o.insert, row...); err != nil {
			return fmt.Errorf("the row cannot be written: %w", err)
		}
		return o.asWritten(ctx, id, row)
	})
}

// asWritten reads the row again in the transaction that has added it: a trigger,
// or the affinity of a column, can have made something else of it, or nothing.
func (o *Outbox) asWritten(ctx context.Context, id string, row []any) error {
	values, into := o.values()
	err := o.lookup.Row(ctx, []any{id}, into)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("table %q does not keep the row", o.c.Table)
	case err != nil:
		return fmt.Errorf("table %q cannot be read: %w", o.c.Table, err)
	}
	for i, name := range o.c.Columns {
		if values[i] != row[i] {
			return fmt.Errorf("table %q keeps something else in column %q than what was approved", o.c.Table, name)
		}
	}
	return nil
}

// values is room for a row as it is stored.
func (o *Outbox) values() (values, into []any) {
	values, into = make([]any, len(o.c.Columns)), make([]any, len(o.c.Columns))
	for i := range values {
		into[i] = &values[i]
	}
	return values, into
}

// Settle says whether the row of an approval is there, while nobody can write
// one: what decide then keeps elsewhere cannot be overtaken by a writer that
// was held up.
func (o *Outbox) Settle(ctx context.Context, id string, decide func(there bool) error) error {
	return o.locked(ctx, func(ctx context.Context, _ *sql.Conn) error {
		there, err := o.Has(ctx, id)
		if err != nil {
			return err
		}
		return decide(there)
	})
}

// locked runs one IMMEDIATE transaction. An error that is not ErrUnknownEnd
// means that nothing of it stands.
func (o *Outbox) locked(ctx context.Context, do func(ctx context.Context, conn *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	conn, err := o.connect(ctx)
	if err != nil {
		return fmt.Errorf("database %q cannot be opened to write: %w", o.db.Name, err)
	}
	defer func() { _ = conn.Close() }() // the transaction has ended, one way or the other
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("database %q cannot be written: %w", o.db.Name, err)
	}
	returned := false
	defer func() {
		if !returned { // it has panicked, and must not leave the database locked
			_ = rollback(conn)
		}
	}()
	err = do(within(ctx, o.db, conn), conn)
	returned = true
	if err != nil {
		return errors.Join(err, rollback(conn))
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	switch {
	case err == nil:
		return nil
	case isBusy(err) && rollback(conn) == nil: // readers would not let go; the transaction was still open
		return fmt.Errorf("database %q cannot be written: %w", o.db.Name, err)
	}
	_ = rollback(conn) // it may have ended already
	return fmt.Errorf("%w: commit: %w", ErrUnknownEnd, err)
}

// rollback ends a transaction, or the connection that it would stay open on.
func rollback(conn *sql.Conn) error {
	_, err := conn.ExecContext(context.Background(), "ROLLBACK")
	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool throws it away
	}
	return err
}

// Has tells whether the row of an approval is there.
func (o *Outbox) Has(ctx context.Context, id string) (bool, error) {
	var count int
	if err := o.stored.Row(ctx, []any{id}, []any{&count}); err != nil {
		return false, fmt.Errorf("table %q cannot be read: %w", o.c.Table, err)
	}
	return count > 0, nil
}

// MaxRow bounds a row as JSON, in bytes.
const MaxRow = 1 << 20

// Read gives the row of an approval as a JSON object; no value where there is none.
func (o *Outbox) Read(ctx context.Context, id string) (strictjson.Value, error) {
	values, into := o.values()
	err := o.lookup.Row(ctx, []any{id}, into)
	if errors.Is(err, sql.ErrNoRows) {
		return strictjson.Value{}, nil
	}
	if err != nil {
		return strictjson.Value{}, fmt.Errorf("table %q cannot be read: %w", o.c.Table, err)
	}
	r := recordsReach{Records: &Records{c: RecordsConfig{Table: o.c.Table, MaxBytes: 2 * MaxRow}, types: o.types}}
	text, err := r.appendRow(nil, o.c.Columns, values)
	if err == nil && len(text) > 2*MaxRow {
		err = fmt.Errorf("table %q: the row of the approval is longer than %d bytes", o.c.Table, 2*MaxRow)
	}
	if err != nil {
		return strictjson.Value{}, err
	}
	return strictjson.Read(text, strictjson.Default(len(text)))
}

// insertSQL adds a row. OR ABORT: a table's own ON CONFLICT could leave it out, or
// another row.
func (o *Outbox) insertSQL() string {
	names, places := make([]string, len(o.c.Columns)), make([]string, len(o.c.Columns))
	for i, name := range o.c.Columns {
		names[i], places[i] = quote(name), fmt.Sprintf("?%d", i+1)
	}
	return fmt.Sprintf("INSERT OR ABORT INTO %s (%s) VALUES (%s)", quote(o.c.Table), strings.Join(names, ", "), strings.Join(places, ", "))
}

// lookupSQL gives the stored values. "+": no declared type, so that a date
// stays its text.
func (o *Outbox) lookupSQL() string {
	columns := make([]string, len(o.c.Columns))
	for i, name := range o.c.Columns {
		columns[i] = "+" + quote(name)
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(columns, ", "), quote(o.c.Table), equals(o.c.Key, "?1"))
}
