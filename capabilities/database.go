package capabilities

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo

	"github.com/toolhost/toolhost/host/sqlitefile"
)

// Database is a SQLite file that can only be read. Guests have connections of
// their own, and so have the sums of rules, which may read many rows: whatever
// they ask for, the gates' short queries do not wait.
type Database struct {
	Name   string // as the config names it
	file   string
	db     *sql.DB
	guests *sql.DB
	sums   *sql.DB
	reads  atomic.Uint64
}

// OpenSQLite opens a SQLite file read-only. The file must be there: opening
// must never make an empty database that then denies in a confusing way.
func OpenSQLite(name, file string) (*Database, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("is not there")
	case err != nil:
		return nil, errors.New("cannot be opened")
	case !info.Mode().IsRegular():
		return nil, errors.New("is no regular file")
	}
	options := url.Values{
		"mode": {"ro"},
		// A misspelt column in double quotes must not become a string.
		"_dqs": {"0"},
		"_pragma": {
			"query_only(1)",
			"trusted_schema(0)", // no side effects from what a schema holds
			"cell_size_check(1)",
			"busy_timeout(1000)", // milliseconds that a writer may hold us up
		},
	}
	dsn := sqlitefile.Name(file, options)
	d := &Database{Name: name, file: file}
	for _, pool := range []**sql.DB{&d.db, &d.guests, &d.sums} {
		if *pool, err = sql.Open("sqlite", dsn); err != nil {
			return nil, fmt.Errorf("cannot be opened: %w", err)
		}
		(*pool).SetMaxOpenConns(connections)
		(*pool).SetMaxIdleConns(connections)
	}
	if _, err := d.db.Exec("SELECT count(*) FROM sqlite_schema"); err != nil {
		_ = d.Close() // the first error is the one to tell
		return nil, errors.New("is no SQLite database, or cannot be read")
	}
	return d, nil
}

const connections = 8 // for the gates, as many for guests, and as many for sums

// Reads counts the queries made since the database was opened, those that
// check a table at load left out. A test reads it to show that a refused call
// asked nothing.
func (d *Database) Reads() uint64 { return d.reads.Load() }

// Close closes every connection.
func (d *Database) Close() error { return errors.Join(d.db.Close(), d.guests.Close(), d.sums.Close()) }

// Statement is one prepared query on a Database.
type Statement struct {
	d     *Database
	s     *sql.Stmt
	query string
}

// A transaction is one on a Database's file, over a connection that may write.
type transaction struct {
	of   *Database
	conn *sql.Conn
}

type transactionKey struct{}

// within gives a context under which every question to the database is asked
// in the transaction: what a gate finds there holds until it commits.
func within(ctx context.Context, of *Database, conn *sql.Conn) context.Context {
	return context.WithValue(ctx, transactionKey{}, transaction{of, conn})
}

// run asks the query, where there is one in its database's open transaction.
func (s *Statement) run(ctx context.Context, args []any) (*sql.Rows, error) {
	s.d.reads.Add(1)
	if t, ok := ctx.Value(transactionKey{}).(transaction); ok && t.of == s.d {
		return t.conn.QueryContext(ctx, s.query, args...)
	}
	return s.s.QueryContext(ctx, args...)
}

// Prepare prepares a gate's query. It is ours; guests and models bring values, never SQL.
func (d *Database) Prepare(ctx context.Context, query string) (*Statement, error) {
	return d.prepare(ctx, d.db, query)
}

func (d *Database) prepareForGuests(ctx context.Context, query string) (*Statement, error) {
	return d.prepare(ctx, d.guests, query)
}

func (d *Database) prepareForSums(ctx context.Context, query string) (*Statement, error) {
	return d.prepare(ctx, d.sums, query)
}

func (d *Database) prepare(ctx context.Context, pool *sql.DB, query string) (*Statement, error) {
	s, err := pool.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &Statement{d: d, s: s, query: query}, nil
}

// Row runs the query and reads its one row.
func (s *Statement) Row(ctx context.Context, args, into []any) error {
	rows, err := s.run(ctx, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return cmp.Or(rows.Err(), sql.ErrNoRows)
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	return rows.Close()
}

func (s *Statement) rows(ctx context.Context, args []any) (*sql.Rows, error) {
	return s.run(ctx, args)
}

// guestRows runs a query that was built for one request of a guest.
func (d *Database) guestRows(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	d.reads.Add(1)
	return d.guests.QueryContext(ctx, query, args...)
}

// A tableColumn is what the schema says of a column.
type tableColumn struct {
	declared  string // upper case, as SQLite's affinity rules read it
	notNull   bool
	pk        int
	generated bool // by the table itself
	fallback  bool // it has a default
}

// columns reads a table's columns; there are none where there is no such table.
func (d *Database) columns(ctx context.Context, table string) (map[string]tableColumn, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT name, type, "notnull", pk, hidden > 1, dflt_value IS NOT NULL FROM pragma_table_xinfo(?)`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns := map[string]tableColumn{}
	for rows.Next() {
		var name string
		var c tableColumn
		if err := rows.Scan(&name, &c.declared, &c.notNull, &c.pk, &c.generated, &c.fallback); err != nil {
			return nil, err
		}
		c.declared = strings.ToUpper(c.declared)
		columns[name] = c
	}
	return columns, rows.Err()
}

// Columns gives the names of a table's columns; none where there is no such table.
func (d *Database) Columns(ctx context.Context, table string) (map[string]bool, error) {
	columns, err := d.columns(ctx, table)
	names := map[string]bool{}
	for name := range columns {
		names[name] = true
	}
	return names, err
}

// unique tells whether a column alone can name one row, byte for byte: the
// rowid, or a unique index that covers every row and compares as BINARY does.
func (d *Database) unique(ctx context.Context, table, column string, c tableColumn) (bool, error) {
	var rowid, index bool
	// An INTEGER PRIMARY KEY is the rowid only if nothing indexes it (DESC makes
	// an index, and lets NULL in).
	err := d.db.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM pragma_table_xinfo(?1) WHERE pk > 0) = 1 AND NOT EXISTS
			(SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk'),
		EXISTS (SELECT 1 FROM pragma_index_list(?1) AS l WHERE l."unique" = 1 AND l.partial = 0
			AND (SELECT count(*) FROM pragma_index_info(l.name)) = 1
			AND EXISTS (SELECT 1 FROM pragma_index_xinfo(l.name) WHERE "key" = 1 AND name = ?2 AND coll = 'BINARY'))`,
		table, column).Scan(&rowid, &index)
	isRowid := rowid && c.pk == 1 && c.declared == "INTEGER"
	return isRowid || index && c.notNull, err
}
