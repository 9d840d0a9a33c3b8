package state

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// The bounds of sessions: how many calls, for how long, how often the same one;
// and how many refusals for whom, whatever the session. The rules:
//
//   - What decides and what counts is one IMMEDIATE transaction, so that hosts
//     on one database agree exactly, however many calls they make side by side.
//   - A session's rows are found by its id together with who asks: a session id
//     is no identity, and who guesses another's must not use up its calls.
//   - A refusal is counted for who was refused, and a lock is looked at before
//     everything else: neither a lawful call in between nor a new session id
//     brings it down.
//   - Names, ids and arguments stand here as keyed hashes only. The key is in the
//     same file: who can read the file can try names against it.
//   - No clock gives back what was used up. A session has the latest time that
//     any host has seen for it; a refusal in the future counts as one of now.
//   - The zero Limits and the zero Verdict deny.

const boundsSchema = `
CREATE TABLE IF NOT EXISTS bounds_key (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	key BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS session (
	tag   BLOB PRIMARY KEY,  -- of id and who
	began INTEGER NOT NULL,  -- times are microseconds since 1970
	seen  INTEGER NOT NULL,  -- the latest time of any host that has counted a call
	calls INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS session_call (
	session BLOB NOT NULL,
	tag     BLOB NOT NULL,   -- of tool and argument text
	times   INTEGER NOT NULL,
	PRIMARY KEY (session, tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refusal (
	who  BLOB NOT NULL,
	at   INTEGER NOT NULL,
	salt INTEGER NOT NULL,   -- tells two of one time apart
	PRIMARY KEY (who, at, salt)
) STRICT, WITHOUT ROWID;`

// Limits are the bounds to be kept. Hosts that share a database have the same.
type Limits struct {
	Steps    int           // calls of one session
	Time     time.Duration // from a session's first call on
	Repeats  int           // of one tool with the same argument text in one session
	Refusals int           // for one Who
	Within   time.Duration // the window in which they are counted
}

// Who is for whom refusals are counted: tenant and subject; where there is no
// subject, tenant and customer; where there is neither, all of the tenant.
type Who struct{ Tenant, Subject, Customer string }

// Call is one call of a session. One without a session is a loop of its own:
// only the lock holds for it.
type Call struct {
	Session   string // id; "": none
	Who       Who
	Tool      string
	Arguments []byte
}

// Standing is what the bounds say of a call.
type Standing uint8

// The standings. The zero one denies (I2).
const (
	Undecided Standing = iota
	Admitted
	Locked
	Expired
	TooManyCalls
	Repeated
)

// Verdict is the answer to one call.
type Verdict struct {
	Standing Standing
	Call     int // which of its session's calls it is; 0: of none, or not counted
	Times    int // how often the session has made this very call, this one included; 0: not counted

	Until time.Time // Locked: when a refusal falls out of the window; zero: never
}

// Bounds keeps the bounds of sessions in a state database.
type Bounds struct {
	limits Limits
	clock  *clock
	key    []byte
	read   *sql.DB
	nth    *sql.Stmt // of read
	write  *writer
}

// Bounds gives the bounds that are kept in the database. The clock is read at
// each call. Bounds are closed with their State.
func (s *State) Bounds(l Limits, clock func() time.Time) (*Bounds, error) {
	if s.db == nil {
		return nil, errors.New("state database: it was opened to read")
	}
	if s.bounds != nil {
		return nil, errors.New("state database: its bounds are kept already")
	}
	b := &Bounds{limits: l, clock: newClock(clock), read: s.db}
	var err error
	if b.key, err = boundsKey(s.db); err == nil {
		b.nth, err = s.db.Prepare(sqlNth)
	}
	if err == nil {
		b.write, err = openWriter(s.path)
	}
	if err != nil {
		if b.nth != nil {
			_ = b.nth.Close() // the first error is the one to tell
		}
		return nil, fmt.Errorf("state database %s: %w", s.path, err)
	}
	s.bounds = b
	return b, nil
}

func (b *Bounds) close() error { return errors.Join(b.nth.Close(), b.write.close()) }

// boundsKey gives the key of the database. Of two hosts that make one at the
// same time both get the first.
func boundsKey(db *sql.DB) (key []byte, err error) {
	const kept = "SELECT key FROM bounds_key WHERE one = 1"
	if err = db.QueryRow(kept).Scan(&key); errors.Is(err, sql.ErrNoRows) {
		fresh := make([]byte, sha256.Size)
		_, _ = rand.Read(fresh) // never fails
		if _, err := db.Exec("INSERT INTO bounds_key VALUES (1, ?) ON CONFLICT DO NOTHING", fresh); err != nil {
			return nil, err
		}
		err = db.QueryRow(kept).Scan(&key)
	}
	if err == nil && len(key) != sha256.Size {
		err = fmt.Errorf("the key of the bounds has %d bytes, not %d", len(key), sha256.Size)
	}
	return key, err
}

// tagBytes of an HMAC are kept: who has no key can make no two that are equal.
const tagBytes = 16

// tag is the keyed hash of parts, each with its length, so that no two lists of
// parts are the same bytes.
func (b *Bounds) tag(kind string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, b.key)
	for _, part := range append([][]byte{[]byte(kind)}, parts...) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	return h.Sum(nil)[:tagBytes]
}

func (b *Bounds) tagOf(w Who) []byte {
	switch {
	case w.Subject != "":
		return b.tag("subject", []byte(w.Tenant), []byte(w.Subject))
	case w.Customer != "":
		return b.tag("customer", []byte(w.Tenant), []byte(w.Customer))
	}
	return b.tag("tenant", []byte(w.Tenant))
}

// tags are what a call is found by.
type tags struct{ who, session, call []byte } // session nil: a loop of its own

func (b *Bounds) tagsOf(c Call) tags {
	t := tags{who: b.tagOf(c.Who)}
	if c.Session != "" {
		t.session = b.tag("session", []byte(c.Session), t.who)
		t.call = b.tag("call", t.session, []byte(c.Tool), c.Arguments)
	}
	return t
}
