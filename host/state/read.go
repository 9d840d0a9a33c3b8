package state

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// immutable is the mode for a file that nobody writes: it takes no lock, makes
// no file beside it and does not look at a WAL.
const immutable = "immutable"

// OpenToRead reads a state database, and changes nothing in it: what it gives is
// what was kept at that time. Where there is none, or none in which anything was
// kept, there is no checkpoint in what it gives.
//
// A host that was closed leaves the file alone. A -wal beside it is that of a
// host that runs or has crashed, and holds what was written last; a -journal is
// that of an older version, which only a writer can roll back.
func OpenToRead(path string) (*State, error) {
	const tries = 5
	for range tries {
		before, err := lookBeside(path)
		if errors.Is(err, os.ErrNotExist) {
			return &State{path: path}, nil
		} else if err != nil {
			return nil, fmt.Errorf("state database: %w", err)
		}
		s := &State{path: path}
		s.kept, err = readKept(path, before)
		if before.journal || before.wal {
			return s, err
		}
		if after, again := lookBeside(path); again == nil && after == before {
			return s, err
		} // a host has begun or ended meanwhile
	}
	return nil, fmt.Errorf("state database %s: it is opened and closed all the time; try again", path)
}

// beside is what can be seen of a database without opening it.
type beside struct {
	size, changed int64
	wal, journal  bool
}

func lookBeside(path string) (b beside, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return b, err
	}
	b.size, b.changed = info.Size(), info.ModTime().UnixNano()
	for suffix, there := range map[string]*bool{"-wal": &b.wal, "-journal": &b.journal} {
		_, err := os.Stat(path + suffix)
		*there = err == nil
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return b, err
		}
	}
	return b, nil
}

func readKept(path string, b beside) ([]byte, error) {
	if b.journal {
		if text, err := readIn(path, "rw", "query_only(1)"); err == nil {
			return text, nil
		}
	}
	if b.journal || b.wal {
		return readIn(path, "ro")
	}
	return readIn(path, immutable)
}

func readIn(path, mode string, pragmas ...string) (text []byte, err error) {
	db, err := openDB(path, mode, append(pragmas, busy(patience))...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // only read
	if text, err = readTable(db); err != nil {
		return nil, fmt.Errorf("state database %s: %w", path, err)
	}
	return text, nil
}

func readTable(db *sql.DB) ([]byte, error) {
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'audit_checkpoint'").Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	return checkpoint(db)
}
