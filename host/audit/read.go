package audit

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/regularfile"
)

// A Reader finds entries of a log, and opens what is sealed where it has the
// key. It changes nothing but the index.
type Reader struct {
	folder string
	lines  *os.File
	index  *index
	people *people // nil: without the key nothing is opened
}

// OpenReader opens a log to read. Where keyFile is "" nothing that is sealed is
// opened, and only pseudonyms can be asked for.
func OpenReader(folder, keyFile string) (*Reader, error) {
	lines, err := regularfile.Open(filepath.Join(folder, entriesFile), os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	r := &Reader{folder: folder, lines: lines}
	if keyFile != "" {
		if r.people, err = peopleOf(folder, keyFile); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	if r.index, err = openIndex(folder); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func peopleOf(folder, keyFile string) (*people, error) {
	k, err := readKey(keyFile)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, peopleFile)
	if err := regularDB(path); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return readPeople(path, k)
}

// Close closes what OpenReader opened.
func (r *Reader) Close() error {
	err := r.lines.Close()
	if r.people != nil {
		err = errors.Join(err, r.people.close())
	}
	if r.index != nil {
		err = errors.Join(err, r.index.close())
	}
	return err
}

// Record is an entry with what is sealed of it.
type Record struct {
	Entry  *Entry
	Line   []byte
	Values []Value
	Gone   Gone // why there are no values, or not all
}

// Gone says why a value cannot be shown.
type Gone string

// Why values cannot be shown. The zero Gone: they can.
const (
	GoneErased  Gone = "erased"  // the key of the person is deleted
	GoneExpired Gone = "expired" // the day's file is deleted
	GoneLocked  Gone = "sealed"  // the reader has no key
	GoneDamaged Gone = "damaged"
)

// Find gives the entries that fit, in the order of the log. The index finds
// them, the entries themselves decide: where one is not what the index says, the
// index is made anew, once. What an edited index leaves out is not seen.
func (r *Reader) Find(f Filter, yield func(Record) error) error {
	names, err := r.names(f)
	if err != nil {
		return err
	}
	wrong, err := r.find(&f, names, true, yield)
	if !wrong {
		return err
	}
	if err := r.index.anew(); err != nil {
		return err
	}
	_, err = r.find(&f, names, false, yield)
	return err
}

// find moves the filter on as it gives what fits, so that another search can go
// on from there. It ends, and wrong is true, where the index is not to be
// trusted; an index that was just made is, but for two ids with one short hash.
func (r *Reader) find(f *Filter, names []wanted, check bool, yield func(Record) error) (wrong bool, err error) {
	query, args, err := r.query(*f)
	if err != nil {
		return false, err
	}
	var places []entryPlace
	err = r.index.ask(func(db *sql.DB) error {
		places, err = placesOf(db, query, args)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, p := range places {
		e, line, err := r.at(p)
		if err != nil {
			return true, err
		}
		if !f.fits(e, names) {
			if check {
				return true, nil
			}
			continue
		}
		record, err := r.opened(e, line)
		if err != nil {
			return false, err
		}
		f.After = p.seq
		if err := yield(record); err != nil {
			return false, err
		}
		if f.Last > 0 {
			if f.Last--; f.Last == 0 {
				break
			}
		}
	}
	return false, nil
}

// at reads the entry at a place. Where it is another one than the index says,
// the fault is the index's, or the line's where the index was just made.
func (r *Reader) at(p entryPlace) (*Entry, []byte, error) {
	e, line, err := r.readAt(p)
	if err != nil {
		return nil, nil, fmt.Errorf("%s, line %d (at byte %d, says %s, which may be deleted): %w; see: toolhost audit verify",
			entriesFile, p.seq+1, p.pos, indexFile, err)
	}
	return e, line, nil
}

func (r *Reader) readAt(p entryPlace) (*Entry, []byte, error) {
	if p.pos < 0 || p.size <= 0 || p.size > maxLine {
		return nil, nil, fmt.Errorf("no entry of %d bytes can stand there", p.size)
	}
	line := make([]byte, p.size)
	if _, err := r.lines.ReadAt(line, p.pos); err != nil {
		return nil, nil, err
	}
	e, err := ReadEntry(line)
	if err == nil && e.Seq != p.seq {
		err = fmt.Errorf("holds entry %d, expected %d", e.Seq, p.seq)
	}
	return e, line, err
}

// Stamped tells whether a host that has the log's key wrote the entry. Without
// the key nobody knows: false.
func (r *Reader) Stamped(found Record) bool {
	return r.people != nil && r.people.key.stamped(found.Line, found.Entry)
}

// opened is an entry with what is sealed of it.
func (r *Reader) opened(e *Entry, line []byte) (Record, error) {
	record := Record{Entry: e, Line: line}
	for _, ref := range e.Sealed {
		values, gone, err := r.unseal(e, ref)
		if err != nil {
			return record, err
		}
		record.Values = append(record.Values, values...)
		if record.Gone == "" {
			record.Gone = gone
		}
	}
	return record, nil
}

// unseal opens one part of an entry's values, or says why it cannot.
func (r *Reader) unseal(e *Entry, ref SealedRef) ([]Value, Gone, error) {
	if r.people == nil {
		return nil, GoneLocked, nil
	}
	by, err := r.people.byPseudonym(ref.Person)
	if err != nil {
		return nil, "", err
	}
	blob, err := readValue(r.folder, ref)
	switch {
	case errors.Is(err, os.ErrNotExist): // and who was not seen since is forgotten, too
		return nil, GoneExpired, nil
	case by == nil:
		return nil, GoneErased, nil
	case errors.Is(err, regularfile.ErrNotRegular): // nobody wrote values there
		return nil, "", err
	case err != nil:
		return nil, GoneDamaged, nil //nolint:nilerr // verify says more
	}
	values, err := openSealed(by, e, blob)
	if err != nil {
		return nil, GoneDamaged, nil //nolint:nilerr // verify says more
	}
	return values, "", nil
}

// Count is how many calls ended in one way on one day, in UTC.
type Count struct {
	Day     string
	Outcome string
	Code    string // "" where the outcome is ok
	Calls   int64
}

// Counts gives the calls, and the checks of final answers, by day, outcome and code, explanations left out. It
// reads the index alone: who edits index.db edits the counts, and deleting it
// gives the true ones.
func (r *Reader) Counts(f Filter) ([]Count, error) {
	f.Kinds, f.After = []Kind{Ended, Replied}, -1
	where, args, err := r.where(f)
	if err != nil {
		return nil, err
	}
	var out []Count
	err = r.index.ask(func(db *sql.DB) error {
		out, err = countsOf(db, where, args)
		return err
	})
	return out, err
}

func countsOf(db *sql.DB, where string, args []any) (out []Count, err error) {
	rows, err := db.Query("SELECT date(at / 1000000, 'unixepoch'), outcome, code, count(*) FROM entry e WHERE e.explained = 0 AND "+where+
		" GROUP BY 1, 2, 3 ORDER BY 1, 2, 3", args...)
	if err != nil {
		return nil, ofIndex(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Count
		if err := rows.Scan(&c.Day, &c.Outcome, &c.Code, &c.Calls); err != nil {
			return nil, ofIndex(err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}
