// Package state keeps what a host must know again after it was closed: the
// bounds of sessions (see Bounds), approvals (see Approvals), and the last
// checkpoint of its audit log. It is one SQLite file.
//
// The file is in WAL mode, so that counting a call costs no fsync: what is
// written over the connection of Bounds is safe from a crash of the process,
// and its last part may be lost when the power fails. A checkpoint of the audit
// log is on disk when KeepCheckpoint returns.
//
// This package opens a file that may be a database through SQLite alone: to
// close any other descriptor of it drops the process's locks on it, those of its
// open connections too (POSIX; sqlite.org/howtocorrupt.html, 2.2).
package state

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite" // the driver "sqlite", without cgo

	"github.com/toolhost/toolhost/host/sqlitefile"
)

// State is an open state database. Several processes may have it open.
type State struct {
	path   string
	db     *sql.DB // nil: opened to read
	bounds *Bounds // nil: nobody has asked
	kept   []byte  // where db is nil: the checkpoint
}

const schema = `
CREATE TABLE IF NOT EXISTS audit_checkpoint (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	entries INTEGER NOT NULL,
	note    BLOB NOT NULL
) STRICT;` + boundsSchema + approvalsSchema

const (
	patience = 5 * time.Second // that a checkpoint or an approval has with a lock; counting a call has less
	idle     = 4               // connections that wait for the next reader
)

// Open opens the state database and makes it, with its folder, where there is none.
func Open(path string) (*State, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("state database: %w", err)
	}
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("state database: %w", err)
		}
	} else if !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("state database: %w", err)
	}
	db, err := openDB(path, "rw", "synchronous(FULL)", busy(patience))
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(idle)
	if err := prepare(db); err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, fmt.Errorf("state database %s: %w", path, err)
	}
	return &State{path: path, db: db}, nil
}

// prepare puts a database into WAL mode and makes its tables. To change the
// mode SQLite needs the file for itself, and does not wait for it.
func prepare(db *sql.DB) error {
	if err := insist(patience, func() error {
		_, err := db.Exec("PRAGMA journal_mode(WAL)")
		return err
	}); err != nil {
		return err
	}
	_, err := db.Exec(schema)
	return err
}

// insist tries again while another process has the lock.
func insist(most time.Duration, try func() error) error {
	wait, until := 100*time.Microsecond, time.Now().Add(most)
	for {
		err := try()
		var e *sqlite.Error
		if !errors.As(err, &e) || e.Code()&0xff != sqliteBusy || time.Now().After(until) {
			return err
		}
		time.Sleep(wait)
		wait = min(2*wait, 2*time.Millisecond)
	}
}

const sqliteBusy = 5 // SQLITE_BUSY; the next byte of a code says why

func busy(d time.Duration) string { return fmt.Sprintf("busy_timeout(%d)", d.Milliseconds()) }

func openDB(path, mode string, pragmas ...string) (*sql.DB, error) {
	options := url.Values{
		"mode": {mode}, "_dqs": {"0"}, "_txlock": {"immediate"},
		"_pragma": append([]string{"trusted_schema(0)"}, pragmas...),
	}
	if mode == immutable {
		options.Set("mode", "ro")
		options.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", sqlitefile.Name(path, options))
	if err != nil {
		return nil, fmt.Errorf("state database %s: %w", path, err)
	}
	return db, nil
}

// Checkpoint gives the last checkpoint that was kept, a signed note; nil where
// none was.
func (s *State) Checkpoint() ([]byte, error) {
	if s.db == nil {
		return s.kept, nil
	}
	text, err := checkpoint(s.db)
	if err != nil {
		return nil, fmt.Errorf("state database: %w", err)
	}
	return text, nil
}

func checkpoint(db *sql.DB) (text []byte, err error) {
	err = db.QueryRow("SELECT note FROM audit_checkpoint WHERE one = 1").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return text, err
}

// KeepCheckpoint keeps a checkpoint of so many entries, unless a later one is kept.
func (s *State) KeepCheckpoint(entries int64, text []byte) error {
	if s.db == nil {
		return errors.New("state database: it was opened to read")
	}
	_, err := s.db.Exec(`INSERT INTO audit_checkpoint VALUES (1, ?, ?)
		ON CONFLICT (one) DO UPDATE SET entries = excluded.entries, note = excluded.note WHERE excluded.entries > entries`, entries, text)
	if err != nil {
		return fmt.Errorf("state database: %w", err)
	}
	return nil
}

// Close closes the database, and its bounds with it.
func (s *State) Close() error {
	if s.db == nil {
		return nil
	}
	var err error
	if s.bounds != nil {
		err = s.bounds.close()
	}
	return errors.Join(err, s.db.Close())
}
