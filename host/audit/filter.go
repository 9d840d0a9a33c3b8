package audit

import (
	"database/sql"
	"slices"
	"strings"
	"time"
)

// Filter says which entries to find: those that fit all that is set. Names of
// people are as the session had them, or pseudonyms.
type Filter struct {
	Since, Until            time.Time // from Since on, before Until
	Session, Ticket, Tenant string
	Customer, Subject       string
	Tool, Outcome, Code     string
	Call, Approval          string
	Kinds                   []Kind
	After                   int64 // only entries with a greater number; -1: all
	Last                    int   // only so many, the last ones; 0: all
	Unfinished              bool  // calls that have started and not ended
	Calls                   bool  // of each call one entry: its end, or its start where there is no end
}

// A wanted name is one that a filter asks for.
type wanted struct {
	column string // of the index
	of     func(Pseudonyms) string
	stands []string // pseudonyms that stand for it, and itself, which may be one
}

// names are the names that a filter asks for.
func (r *Reader) names(f Filter) (out []wanted, err error) {
	for _, n := range []struct {
		column, kind, value string
		of                  func(Pseudonyms) string
	}{
		{"e.session", kindSession, f.Session, func(p Pseudonyms) string { return p.Session }},
		{"e.ticket", kindTicket, f.Ticket, func(p Pseudonyms) string { return p.Ticket }},
		{"e.tenant", kindTenant, f.Tenant, func(p Pseudonyms) string { return p.Tenant }},
		{"e.person", kindCustomer, f.Customer, func(p Pseudonyms) string { return p.Person }},
		{"e.subject", kindSubject, f.Subject, func(p Pseudonyms) string { return p.Subject }},
	} {
		if n.value == "" {
			continue
		}
		stands := []string{n.value}
		if r.people != nil {
			found, err := r.people.pseudonyms(n.kind, n.value)
			if err != nil {
				return nil, err
			}
			stands = append(stands, found...)
		}
		out = append(out, wanted{n.column, n.of, stands})
	}
	return out, nil
}

// fits holds an entry against all of the filter that an entry by itself tells:
// not whether a call that started has an end.
func (f Filter) fits(e *Entry, names []wanted) bool {
	c := e.Call
	if c == nil {
		c = &Call{}
	}
	for _, n := range names {
		if !slices.Contains(n.stands, n.of(c.Who)) {
			return false
		}
	}
	is := func(want, got string) bool { return want == "" || want == got }
	at := e.At.UnixMicro() // as the index has it
	return e.Seq > f.After &&
		is(f.Tool, c.Tool) && is(f.Outcome, c.Outcome) && is(f.Code, c.Code) && is(f.Call, c.ID) && is(f.Approval, c.approval()) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) &&
		(!f.Unfinished || e.Kind == Started) &&
		(f.Since.IsZero() || at >= f.Since.UnixMicro()) &&
		(f.Until.IsZero() || at < f.Until.UnixMicro())
}

// query asks the index for the places of the entries that fit.
func (r *Reader) query(f Filter) (query string, args []any, err error) {
	where, args, err := r.where(f)
	if err != nil {
		return "", nil, err
	}
	query = "SELECT seq, pos, len FROM entry e WHERE " + where + " ORDER BY seq"
	if f.Last > 0 {
		query = "SELECT seq, pos, len FROM (SELECT seq, pos, len FROM entry e WHERE " + where + " ORDER BY seq DESC LIMIT ?) ORDER BY seq"
		args = append(args, f.Last)
	}
	return query, args, nil
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
	names, err := r.names(f)
	if err != nil {
		return "", nil, err
	}
	for _, n := range names {
		var hashes []any
		for _, one := range n.stands {
			hashes = append(hashes, short(one))
		}
		is(n.column, hashes...)
	}
	if f.Call != "" {
		is("e.call", short(f.Call))
	}
	if f.Approval != "" {
		is("e.approval", short(f.Approval))
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

// An entryPlace is where an entry stands, as the index says.
type entryPlace struct {
	seq, pos int64
	size     int // of the line, without its end
}

// placesOf reads them whole before any entry is read: who gets one may ask for
// others.
func placesOf(db *sql.DB, query string, args []any) (out []entryPlace, err error) {
	rows, err := db.Query(query, args...)
	if err != nil {
		return nil, ofIndex(err)
	}
	defer rows.Close()
	for rows.Next() {
		var p entryPlace
		if err := rows.Scan(&p.seq, &p.pos, &p.size); err != nil {
			return nil, ofIndex(err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}
