package audit

import (
	"bytes"
	"crypto/hmac"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo

	"github.com/toolhost/toolhost/host/regularfile"

	"github.com/toolhost/toolhost/host/sqlitefile"
)

// A row that is deleted is to be in no byte of the file. SQLite overwrites it
// (secure_delete), but not the copies that are left behind in a page's unused
// part as rows move to other pages; so the file is written anew from the rows
// that stay (VACUUM, in memory but for the journal). The journal, which holds
// what was before, is truncated at each commit.
const peopleSchema = `
CREATE TABLE IF NOT EXISTS person (
	id        INTEGER PRIMARY KEY,
	kind      TEXT NOT NULL,            -- customer, subject, nobody; tenant
	tag       BLOB NOT NULL,
	tenant    BLOB NOT NULL,            -- tag of the person's tenant
	pseudonym TEXT NOT NULL UNIQUE,
	wrapped   BLOB NOT NULL,            -- the key
	seen      TEXT NOT NULL,            -- the last day
	erasing   BLOB,                     -- the mark of an erasure that has begun
	UNIQUE (kind, tag, tenant)
) STRICT;
CREATE TABLE IF NOT EXISTS name (
	kind      TEXT NOT NULL,            -- session, ticket
	tag       BLOB NOT NULL,
	person    INTEGER NOT NULL REFERENCES person (id) ON DELETE CASCADE,
	pseudonym TEXT NOT NULL UNIQUE,
	seen      TEXT NOT NULL,
	mark      BLOB NOT NULL,            -- HMAC of the row, the day excepted
	PRIMARY KEY (kind, tag, person)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS name_of_person ON name (person);
CREATE INDEX IF NOT EXISTS person_erasing ON person (erasing) WHERE erasing IS NOT NULL;`

func openPeople(path string, k *key, generation int64) (*people, error) {
	if f, err := regularfile.Open(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	if err := regularDB(path); err != nil {
		return nil, err
	}
	db, err := openSQLite(path, "rw", peopleSchema)
	if err != nil {
		return nil, err
	}
	p := newPeople(db, k)
	p.generation = generation
	return p, nil
}

// readPeople opens people.db for who reads. A crash may have left a journal,
// which only a writer can roll back.
func readPeople(path string, k *key) (*people, error) {
	if err := regularDB(path); err != nil {
		return nil, err
	}
	const first = "SELECT count(*) FROM person"
	db, err := openSQLite(path, "rw", first)
	if err != nil {
		db, err = openSQLite(path, "ro", first)
	}
	if err != nil {
		return nil, err
	}
	return newPeople(db, k), nil
}

func newPeople(db *sql.DB, k *key) *people {
	return &people{db: db, key: k, known: map[string]*person{}}
}

// openSQLite opens a file of the log's folder with one connection.
func openSQLite(path, mode, first string) (*sql.DB, error) {
	options := url.Values{
		"mode": {mode}, "_dqs": {"0"}, "_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(5000)", "trusted_schema(0)", "foreign_keys(1)",
			"journal_mode(TRUNCATE)", "synchronous(FULL)", "secure_delete(1)", "temp_store(MEMORY)",
		},
	}
	dsn := sqlitefile.Name(path, options)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(first); err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, err
	}
	return db, nil
}

// An owned name is one to be stored, with whose it is.
type owned struct {
	*name
	by *person
}

// keep stores who is new, and who was not seen on this day before, in one
// transaction. It is called with the log's lock held; others may ask meanwhile.
func (p *people) keep(all []identified, day string) error {
	persons, names := p.unkept(all, day)
	if len(persons)+len(names) == 0 {
		return nil
	}
	ids := map[*person]int64{}
	err := p.transaction(func(tx *sql.Tx) error {
		for _, one := range persons {
			id, err := keepPerson(tx, one, day)
			if err != nil {
				return err
			}
			ids[one] = id
		}
		for _, one := range names {
			id, ok := ids[one.by]
			if !ok {
				id = one.by.id
			}
			_, err := tx.Exec(`INSERT INTO name VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (kind, tag, person) DO UPDATE SET seen = max(seen, excluded.seen)`,
				one.kind, one.tag, id, one.pseudonym, day, one.mark(p.key, one.by.pseudonym))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errPeople, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for one, id := range ids {
		one.id, one.seen = id, day
	}
	for _, one := range names {
		one.stored, one.seen = true, day
	}
	return nil
}

// unkept is what keep has to do.
func (p *people) unkept(all []identified, day string) (persons []*person, names []owned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, who := range all {
		for _, one := range []*person{who.person, who.subject, who.tenant} {
			if one != nil && (one.id == 0 || one.seen < day) {
				persons = append(persons, one)
			}
		}
		for _, one := range []*name{who.session, who.ticket} {
			if one != nil && (!one.stored || one.seen < day) {
				names = append(names, owned{one, who.person})
			}
		}
	}
	return persons, names
}

func keepPerson(tx *sql.Tx, one *person, day string) (id int64, err error) {
	if one.id != 0 {
		_, err = tx.Exec("UPDATE person SET seen = max(seen, ?) WHERE id = ?", day, one.id)
		return one.id, err
	}
	err = tx.QueryRow(`INSERT INTO person (kind, tag, tenant, pseudonym, wrapped, seen) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (pseudonym) DO UPDATE SET seen = max(seen, excluded.seen) RETURNING id`,
		one.kind, one.tag, one.tenant, one.pseudonym, one.wrapped, day).Scan(&id)
	return id, err
}

func (p *people) transaction(do func(*sql.Tx) error) error {
	tx, err := p.db.Begin()
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (p *people) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		return p.db.Close()
	}
	return errors.Join(p.changed.Close(), p.db.Close())
}

// byPseudonym gives the person whose key sealed something; nil where the key
// is gone.
func (p *people) byPseudonym(pseudonym string) (*person, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := &person{pseudonym: pseudonym}
	err := p.db.QueryRow("SELECT id, kind, tag, tenant, wrapped FROM person WHERE pseudonym = ? AND erasing IS NULL", pseudonym).
		Scan(&found.id, &found.kind, &found.tag, &found.tenant, &found.wrapped)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // erased
	}
	if err == nil {
		err = p.unwrap(found)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPeople, err)
	}
	return found, nil
}

// pseudonyms gives all that stand for a session or a ticket, a tenant, or a
// person in any tenant.
func (p *people) pseudonyms(kind, value string) ([]string, error) {
	query := "SELECT pseudonym FROM person WHERE kind = ? AND tag = ? AND erasing IS NULL"
	if kind == kindSession || kind == kindTicket {
		query = "SELECT pseudonym FROM name WHERE kind = ? AND tag = ?"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rows, err := p.db.Query(query, kind, p.key.tag(kind, value))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPeople, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

// inTenant tells whether a person's row is of a tenant; "" is no tenant.
func (p *people) inTenant(one *person, tenant string) bool {
	return bytes.Equal(one.tenant, p.key.tag(kindTenant, tenant))
}

// check gives the pseudonyms of the rows that are damaged, or that somebody
// made or changed without the log's key.
func (p *people) check() (wrong []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows, err := p.db.Query("SELECT kind, tag, tenant, pseudonym, wrapped, erasing FROM person")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPeople, err)
	}
	for rows.Next() {
		var one person
		var erasing []byte
		if err := rows.Scan(&one.kind, &one.tag, &one.tenant, &one.pseudonym, &one.wrapped, &erasing); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		if p.unwrap(&one) != nil || erasing != nil && !p.key.erases(one.pseudonym, erasing) {
			wrong = append(wrong, one.pseudonym)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w", errPeople, err)
	}
	rows, err = p.db.Query("SELECT n.kind, n.tag, n.pseudonym, n.mark, p.pseudonym FROM name n JOIN person p ON p.id = n.person")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPeople, err)
	}
	defer rows.Close()
	for rows.Next() {
		var one name
		var mark []byte
		var of string
		if err := rows.Scan(&one.kind, &one.tag, &one.pseudonym, &mark, &of); err != nil {
			return nil, fmt.Errorf("%w: %w", errPeople, err)
		}
		if !hmac.Equal(mark, one.mark(p.key, of)) {
			wrong = append(wrong, one.pseudonym)
		}
	}
	return wrong, rows.Err()
}
