package audit

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// indexName is the index's DSN. It is made anew where a crash damages it, so
// that nothing waits for the disk.
func indexName(path string) string {
	options := url.Values{"_dqs": {"0"}, "_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(TRUNCATE)", "synchronous(OFF)"}}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}).String()
}

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
	lines, err := os.Open(filepath.Join(folder, entriesFile))
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	r := &Reader{folder: folder, lines: lines}
	if keyFile != "" {
		k, err := readKey(keyFile)
		if err == nil {
			r.people, err = readPeople(filepath.Join(folder, peopleFile), k)
		}
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	if r.index, err = openIndex(folder); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
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

// Filter says which entries to find: those that fit all that is set. Names of
// people are as the session had them, or pseudonyms.
type Filter struct {
	Since, Until            time.Time // from Since on, before Until
	Session, Ticket, Tenant string
	Customer, Subject       string
	Tool, Outcome, Code     string
	Call                    string
	Kinds                   []Kind
	After                   int64 // only entries with a greater number; -1: all
	Last                    int   // only so many, the last ones; 0: all
	Unfinished              bool  // calls that have started and not ended
	Calls                   bool  // of each call one entry: its end, or its start where there is no end
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

// Find gives the entries that fit, in the order of the log.
func (r *Reader) Find(f Filter, yield func(Record) error) error {
	query, args, err := r.query(f)
	if err != nil {
		return err
	}
	var places []entryPlace
	err = r.index.ask(func(db *sql.DB) error {
		places, err = placesOf(db, query, args)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range places {
		record, err := r.at(p.pos, p.size)
		if err != nil {
			return err
		}
		if !f.fits(record.Entry) {
			continue
		}
		if err := yield(record); err != nil {
			return err
		}
	}
	return nil
}

// query asks the index for the places of the entries that fit.
func (r *Reader) query(f Filter) (query string, args []any, err error) {
	where, args, err := r.where(f)
	if err != nil {
		return "", nil, err
	}
	query = "SELECT pos, len FROM entry e WHERE " + where + " ORDER BY seq"
	if f.Last > 0 {
		query = "SELECT pos, len FROM (SELECT seq, pos, len FROM entry e WHERE " + where + " ORDER BY seq DESC LIMIT ?) ORDER BY seq"
		args = append(args, f.Last)
	}
	return query, args, nil
}

type entryPlace struct {
	pos  int64
	size int
}

// placesOf reads them whole before any entry is read: who gets one may ask for
// others.
func placesOf(db *sql.DB, query string, args []any) (out []entryPlace, err error) {
	rows, err := db.Query(query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	defer rows.Close()
	for rows.Next() {
		var p entryPlace
		if err := rows.Scan(&p.pos, &p.size); err != nil {
			return nil, fmt.Errorf("%s: %w", indexFile, err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// fits holds exactly what the index held by a short hash.
func (f Filter) fits(e *Entry) bool {
	return f.Call == "" || e.Call != nil && e.Call.ID == f.Call
}

// where makes the condition of a filter.
func (r *Reader) where(f Filter) (string, []any, error) {
	conditions, args := []string{"e.seq > ?"}, []any{f.After}
	is := func(column string, values ...any) {
		conditions = append(conditions, column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")")
		args = append(args, values...)
	}
	for column, value := range map[string]string{"e.tool": f.Tool, "e.outcome": f.Outcome, "e.code": f.Code} {
		if value != "" {
			is(column, value)
		}
	}
	for _, n := range []struct{ column, kind, value string }{
		{"e.session", kindSession, f.Session},
		{"e.ticket", kindTicket, f.Ticket},
		{"e.tenant", kindTenant, f.Tenant},
		{"e.person", kindCustomer, f.Customer},
		{"e.subject", kindSubject, f.Subject},
	} {
		if n.value == "" {
			continue
		}
		values, err := r.stands(n.kind, n.value)
		if err != nil {
			return "", nil, err
		}
		is(n.column, values...)
	}
	if f.Call != "" {
		is("e.call", short(f.Call))
	}
	if len(f.Kinds) > 0 {
		var kinds []any
		for _, k := range f.Kinds {
			kinds = append(kinds, string(k))
		}
		is("e.kind", kinds...)
	}
	if !f.Since.IsZero() {
		conditions, args = append(conditions, "e.at >= ?"), append(args, f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		conditions, args = append(conditions, "e.at < ?"), append(args, f.Until.UnixMicro())
	}
	const unfinished = "(e.kind = 'started' AND NOT EXISTS (SELECT 1 FROM entry o WHERE o.call = e.call AND o.kind = 'ended'))"
	if f.Unfinished {
		conditions = append(conditions, unfinished)
	} else if f.Calls {
		conditions = append(conditions, "(e.kind <> 'started' OR "+unfinished+")")
	}
	return strings.Join(conditions, " AND "), args, nil
}

// stands gives the short hashes of the pseudonyms that stand for a name, and of
// the name itself, which may be one.
func (r *Reader) stands(kind, value string) ([]any, error) {
	out := []any{short(value)}
	if r.people == nil {
		return out, nil
	}
	found, err := r.people.pseudonyms(kind, value)
	for _, p := range found {
		out = append(out, short(p))
	}
	return out, err
}

// at reads the entry at a place of entries.jsonl.
func (r *Reader) at(pos int64, size int) (Record, error) {
	if size <= 0 || size > maxLine {
		return Record{}, fmt.Errorf("%s: no line of %d bytes; delete it, it is made anew", indexFile, size)
	}
	line := make([]byte, size)
	if _, err := r.lines.ReadAt(line, pos); err != nil {
		return Record{}, fmt.Errorf("%s: %w", entriesFile, err)
	}
	e, err := ReadEntry(line)
	if err != nil {
		return Record{}, fmt.Errorf("%s, byte %d: %w; see: toolhost audit verify", entriesFile, pos, err)
	}
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

// Counts gives the calls by day, outcome and code, explanations left out.
func (r *Reader) Counts(f Filter) ([]Count, error) {
	f.Kinds, f.After = []Kind{Ended}, -1
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
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Count
		if err := rows.Scan(&c.Day, &c.Outcome, &c.Code, &c.Calls); err != nil {
			return nil, fmt.Errorf("%s: %w", indexFile, err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}
