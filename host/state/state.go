// Package state keeps what a host must know again after it was closed: for now
// the last checkpoint of its audit log. It is one SQLite file.
package state

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo

	"github.com/toolhost/toolhost/host/sqlitefile"
)

// State is an open state database. Several processes may have it open.
type State struct{ db *sql.DB } // nil: opened to read, and there is none

const schema = `
CREATE TABLE IF NOT EXISTS audit_checkpoint (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	entries INTEGER NOT NULL,
	note    BLOB NOT NULL
) STRICT`

// Open opens the state database and makes it, with its folder, where there is none.
func Open(path string) (*State, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("state database: %w", err)
	}
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("state database: %w", err)
	} else if err := f.Close(); err != nil {
		return nil, fmt.Errorf("state database: %w", err)
	}
	return open(path, "rw", schema)
}

// OpenToRead opens a state database, and changes nothing. Where there is none,
// or none in which anything was kept, there is no checkpoint in what it gives.
func OpenToRead(path string) (*State, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return &State{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("state database: %w", err)
	}
	const made = "SELECT count(*) FROM sqlite_schema WHERE name = 'audit_checkpoint'"
	s, err := open(path, "rw", made, "query_only(1)") // a crash may have left a journal, which only a writer can roll back
	if err != nil {
		s, err = open(path, "ro", made)
	}
	if err != nil {
		return nil, err
	}
	var tables int
	if err := s.db.QueryRow(made).Scan(&tables); err != nil {
		_ = s.db.Close() // the first error is the one to tell
		return nil, fmt.Errorf("state database %s: %w", path, err)
	}
	if tables == 0 {
		return &State{}, s.db.Close()
	}
	return s, nil
}

func open(path, mode, first string, pragmas ...string) (*State, error) {
	options := url.Values{
		"mode": {mode}, "_dqs": {"0"}, "_txlock": {"immediate"},
		"_pragma": append(pragmas, "busy_timeout(5000)", "trusted_schema(0)", "synchronous(FULL)"),
	}
	dsn := sqlitefile.Name(path, options)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("state database %s: %w", path, err)
	}
	if _, err := db.Exec(first); err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, fmt.Errorf("state database %s: %w", path, err)
	}
	return &State{db: db}, nil
}

// Checkpoint gives the last checkpoint that was kept, a signed note; nil where
// none was.
func (s *State) Checkpoint() ([]byte, error) {
	if s.db == nil {
		return nil, nil
	}
	var text []byte
	err := s.db.QueryRow("SELECT note FROM audit_checkpoint WHERE one = 1").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state database: %w", err)
	}
	return text, nil
}

// KeepCheckpoint keeps a checkpoint of so many entries, unless a later one is kept.
func (s *State) KeepCheckpoint(entries int64, text []byte) error {
	if s.db == nil {
		return errors.New("state database: there is none")
	}
	_, err := s.db.Exec(`INSERT INTO audit_checkpoint VALUES (1, ?, ?)
		ON CONFLICT (one) DO UPDATE SET entries = excluded.entries, note = excluded.note WHERE excluded.entries > entries`, entries, text)
	if err != nil {
		return fmt.Errorf("state database: %w", err)
	}
	return nil
}

// Close closes the database.
func (s *State) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}
