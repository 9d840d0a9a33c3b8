package audit

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
	"modernc.org/sqlite" // the driver "sqlite", without cgo
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/toolhost/toolhost/host/regularfile"

	"github.com/toolhost/toolhost/host/sqlitefile"
)

// index.db is made from entries.jsonl and says at which byte of it an entry
// stands. It may be deleted, and is made anew where it is damaged or of another
// log. It holds short hashes of ids and pseudonyms, and anybody who can write to
// the folder can edit it, so that what it finds is held against the entry itself.

const indexFile = "index.db"

// indexVersion is the schema's; an index of another one is made anew.
const indexVersion = 2

const indexSchema = `
CREATE TABLE IF NOT EXISTS upto (
	one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL,
	entries INTEGER NOT NULL, bytes INTEGER NOT NULL, last_at INTEGER NOT NULL, last BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS entry (
	seq INTEGER PRIMARY KEY, pos INTEGER NOT NULL, len INTEGER NOT NULL,
	at INTEGER NOT NULL,                -- microseconds since 1970
	kind TEXT NOT NULL, tool TEXT NOT NULL, outcome TEXT NOT NULL, code TEXT NOT NULL, explained INTEGER NOT NULL,
	call INTEGER, person INTEGER, subject INTEGER, tenant INTEGER, session INTEGER, ticket INTEGER, approval INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS entry_at ON entry (at);
CREATE INDEX IF NOT EXISTS entry_call ON entry (call) WHERE call IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_person ON entry (person) WHERE person IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_subject ON entry (subject) WHERE subject IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_session ON entry (session) WHERE session IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_ticket ON entry (ticket) WHERE ticket IS NOT NULL;
CREATE INDEX IF NOT EXISTS entry_approval ON entry (approval) WHERE approval IS NOT NULL;`

// indexName is the index's DSN. It is made anew where a crash damages it, so
// that nothing waits for the disk.
func indexName(path string) string {
	options := url.Values{"_dqs": {"0"}, "_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "trusted_schema(0)", "journal_mode(TRUNCATE)", "synchronous(OFF)"}}
	return sqlitefile.Name(path, options)
}

// short is what the index holds of an id; nil of none.
func short(id string) any {
	if id == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(id))
	return int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // any 64 bits will do
}

// An index is open index.db.
type index struct {
	folder  string
	db      *sql.DB
	stopped func() bool // whether to leave the rest to somebody else; nil: never
}

// errWrongIndex says that the index is not what it was made.
var errWrongIndex = errors.New(indexFile + " is damaged; it may be deleted")

// openIndex opens the index and makes it anew where it cannot be used. In a
// folder that cannot be written it is made in memory.
func openIndex(folder string) (*index, error) {
	path := filepath.Join(folder, indexFile)
	if err := regularDB(path); errors.Is(err, regularfile.ErrNotRegular) {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	db, err := openIndexFile(path)
	switch {
	case isBusy(err): // another process is making it: never take it away from that one
		db, err = openIndexFile(inMemory)
	case err != nil:
		db, err = newIndexFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	return &index{folder: folder, db: db}, nil
}

// newIndexFile makes an index in the place of one that cannot be used.
func newIndexFile(path string) (*sql.DB, error) {
	_ = os.Remove(path + "-journal") // of the one that cannot be used
	if err := os.Remove(path); err == nil || errors.Is(err, os.ErrNotExist) {
		if db, err := openIndexFile(path); err == nil {
			return db, nil
		}
	}
	return openIndexFile(inMemory)
}

const inMemory = ":memory:"

func openIndexFile(path string) (*sql.DB, error) {
	if path != inMemory {
		if f, err := regularfile.Open(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return nil, err
		} else if err := f.Close(); err != nil {
			return nil, err
		}
	}
	db, err := sql.Open("sqlite", indexName(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	version := 0
	err = errors.Join(execute(db, indexSchema), hasIndexSchema(db))
	if err == nil {
		err = db.QueryRow("SELECT coalesce(max(version), ?) FROM upto", indexVersion).Scan(&version)
	}
	if err == nil && version != indexVersion {
		err = fmt.Errorf("is of version %d", version)
	}
	if err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, err
	}
	return db, nil
}

// hasIndexSchema refuses a schema that is not ours: a view in the place of a
// table may never end.
func hasIndexSchema(db *sql.DB) error {
	want, err := ourSchema()
	if err != nil {
		return err
	}
	if got, err := schemaOf(db); err != nil || got != want {
		return errors.Join(errWrongIndex, err)
	}
	return nil
}

// ourSchema is what SQLite makes of indexSchema.
var ourSchema = sync.OnceValues(func() (string, error) {
	db, err := sql.Open("sqlite", indexName(inMemory))
	if err != nil {
		return "", err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := execute(db, indexSchema); err != nil {
		return "", err
	}
	return schemaOf(db)
})

func schemaOf(db *sql.DB) (text string, err error) {
	err = db.QueryRow(`SELECT coalesce(group_concat(type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, ''), ';'), '')
		FROM (SELECT * FROM sqlite_schema ORDER BY type, name)`).Scan(&text)
	return text, err
}

func execute(db *sql.DB, statement string, args ...any) error {
	_, err := db.Exec(statement, args...)
	return err
}

func (x *index) close() error { return x.db.Close() }

// ask brings the index up to date and asks it. One that turns out to be damaged
// is made anew, once.
func (x *index) ask(question func(*sql.DB) error) error {
	once := func() error {
		err := x.catchUp()
		if err == nil {
			err = question(x.db)
		}
		return err
	}
	err := once()
	if !isDamage(err) {
		return err
	}
	if err := x.anew(); err != nil {
		return err
	}
	return once()
}

// ofIndex is an error of reading or writing the index. What is none of
// SQLite's own is a value that never was in it.
func ofIndex(err error) error {
	if of := (*sqlite.Error)(nil); errors.As(err, &of) {
		return fmt.Errorf("%s: %w", indexFile, err)
	}
	return fmt.Errorf("%w: %w", errWrongIndex, err)
}

// isBusy tells that another process has the file.
func isBusy(err error) bool {
	var of *sqlite.Error
	if !errors.As(err, &of) {
		return false
	}
	code := of.Code() & 0xff
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

func isDamage(err error) bool {
	var of *sqlite.Error
	if errors.As(err, &of) {
		code := of.Code() & 0xff
		return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
	}
	return errors.Is(err, errWrongIndex)
}

// anew puts an empty index in the place of this one.
func (x *index) anew() error {
	_ = x.close() // it is of no use
	db, err := newIndexFile(filepath.Join(x.folder, indexFile))
	if err != nil {
		return fmt.Errorf("%s: %w", indexFile, err)
	}
	x.db = db
	return nil
}

// catchUp takes in the lines that the index does not have yet.
func (x *index) catchUp() error {
	lines, err := regularfile.Open(filepath.Join(x.folder, entriesFile), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer lines.Close()
	info, err := lines.Stat()
	if err != nil {
		return err
	}
	for more := true; more; {
		tx, err := x.db.BeginTx(context.Background(), nil)
		if err != nil {
			return fmt.Errorf("%s: %w", indexFile, err)
		}
		if more, err = takeIn(tx, lines, info.Size()); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("%s: %w", indexFile, err)
		}
		if more && x.stopped != nil && x.stopped() {
			return nil
		}
	}
	return nil
}

// batch is how many lines are taken in at once: others may then ask.
const batch = 20_000

// takeIn reads from where the index ends to where the lines do, and tells
// whether there are more than a batch.
func takeIn(tx *sql.Tx, lines *os.File, size int64) (more bool, err error) {
	var seq, at, lastAt int64
	var last []byte
	err = tx.QueryRow("SELECT entries, bytes, last_at, last FROM upto").Scan(&seq, &at, &lastAt, &last)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return false, ofIndex(err)
	case err == nil && !endsWith(lines, lastAt, at, last): // another log, or one that was put right
		seq, at = 0, 0
		if _, err := tx.Exec("DELETE FROM entry"); err != nil {
			return false, fmt.Errorf("%s: %w", indexFile, err)
		}
	case at == size:
		return false, nil
	}
	insert, err := tx.Prepare("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return false, fmt.Errorf("%s: %w", indexFile, err)
	}
	in := newLineReader(lines, at, size)
	for n := 0; ; n++ {
		if more = n == batch; more {
			break
		}
		text, taken, err := in.next()
		if errors.Is(err, io.EOF) {
			break // what is left is not whole
		}
		var e *Entry
		if err == nil {
			e, err = ReadEntry(text)
		}
		if err != nil {
			return false, fmt.Errorf("%s, line %d: %w; see: toolhost audit verify", entriesFile, seq+1, err)
		}
		if err := indexEntry(insert, entryPlace{seq, at, len(text)}, e); err != nil {
			return false, ofIndex(err)
		}
		hash := tlog.RecordHash(text)
		last, lastAt = hash[:], at
		seq, at = seq+1, at+taken
	}
	if seq == 0 {
		return false, nil
	}
	_, err = tx.Exec(`INSERT OR REPLACE INTO upto VALUES (1, ?, ?, ?, ?, ?)`, indexVersion, seq, at, lastAt, last)
	return more, err
}

// endsWith tells whether the line from start to end is the last that the index took in.
func endsWith(lines *os.File, start, end int64, last []byte) bool {
	if start < 0 || end <= start || end-start > maxLine+1 {
		return false
	}
	line := make([]byte, end-start)
	if _, err := lines.ReadAt(line, start); err != nil {
		return false
	}
	hash := tlog.RecordHash(line[:len(line)-1])
	return string(hash[:]) == string(last)
}

func indexEntry(insert *sql.Stmt, at entryPlace, e *Entry) error {
	c := e.Call
	if c == nil {
		c = &Call{}
	}
	_, err := insert.Exec(at.seq, at.pos, at.size, e.At.UnixMicro(), string(e.Kind), c.Tool, c.Outcome, c.Code, c.Explained,
		short(c.ID), short(c.Who.Person), short(c.Who.Subject), short(c.Who.Tenant), short(c.Who.Session), short(c.Who.Ticket), short(c.approval()))
	return err
}
