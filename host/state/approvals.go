package state

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Approvals: the writes that wait for a person, and what became of them. The rules:
//
//   - Every change of a state is one IMMEDIATE transaction that names the state
//     it starts from, and, where a person decided, the digest of what they saw.
//     Of many who decide at once one does, in whatever process.
//   - What is not recorded in the audit log cannot be approved: a proposal is
//     kept first, recorded then, and waits only after that.
//   - Who runs an approval holds it by a token and for a time. What became of it
//     if they are gone is decided by who finds it, never by running it again.
//   - A proposal expires by the wall clock, and stays expired.
//   - Every change is on disk when it returns (synchronous FULL).
const approvalsSchema = `
CREATE TABLE IF NOT EXISTS approval (
	id        TEXT PRIMARY KEY NOT NULL,
	state     TEXT NOT NULL,
	recorded  INTEGER NOT NULL CHECK (recorded IN (0, 1)), -- 1: the proposal is in the audit log
	tool      TEXT NOT NULL,
	same      BLOB NOT NULL,        -- keyed hash of who asks what of which policy
	who       BLOB NOT NULL,        -- keyed hash of for whom it is counted
	digest    TEXT NOT NULL,        -- of content
	loose     TEXT NOT NULL DEFAULT '',  -- digest of content but for the loop's id
	content   BLOB,                 -- JSON: all that was shown; NULL: forgotten
	call      TEXT NOT NULL,        -- the proposal's, in the audit log
	asked     INTEGER NOT NULL,     -- times are microseconds since 1970
	expires   INTEGER NOT NULL,
	decided   INTEGER NOT NULL DEFAULT 0,
	approver  TEXT NOT NULL DEFAULT '',
	ended     INTEGER NOT NULL DEFAULT 0,
	run       TEXT NOT NULL DEFAULT '',  -- the call that ran it
	place     TEXT NOT NULL DEFAULT '',  -- where that call was to write
	code      TEXT NOT NULL DEFAULT '',
	result    BLOB,                 -- JSON: the plugin's
	token     TEXT NOT NULL DEFAULT '',  -- who holds it
	until     INTEGER NOT NULL DEFAULT 0,
	delivery  TEXT NOT NULL DEFAULT '',
	tries     INTEGER NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND 1000000),
	next      INTEGER NOT NULL DEFAULT 0,
	status    TEXT NOT NULL DEFAULT '',  -- what the other side said
	again     INTEGER NOT NULL DEFAULT 0 CHECK (again IN (0, 1)), -- 1: a person wants it to go where the config says now
	told      INTEGER NOT NULL DEFAULT 1 CHECK (told IN (0, 1))   -- 0: that it was settled is not in the audit log yet
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS approval_by_state ON approval (state, asked);
CREATE INDEX IF NOT EXISTS approval_by_asked ON approval (asked, id);
CREATE INDEX IF NOT EXISTS approval_by_expiry ON approval (state, expires);
CREATE INDEX IF NOT EXISTS approval_by_same ON approval (same, state);
CREATE INDEX IF NOT EXISTS approval_by_who ON approval (who, state);
CREATE INDEX IF NOT EXISTS approval_untold ON approval (told) WHERE told = 0;
CREATE INDEX IF NOT EXISTS approval_by_delivery ON approval (delivery, next);
`

// ApprovalState is where an approval stands.
type ApprovalState string

// The states. The last five are final.
const (
	Waiting  ApprovalState = "waiting"
	Approved ApprovalState = "approved" // a person said yes; nothing runs yet
	Running  ApprovalState = "running"
	Denied   ApprovalState = "denied"
	Expiry   ApprovalState = "expired"
	Done     ApprovalState = "done"
	Failed   ApprovalState = "failed"
	Unknown  ApprovalState = "unknown" // it may have happened: a person must look
)

// DeliveryState is where the delivery of a row stands; "": there is none.
type DeliveryState string

// The states of a delivery.
const (
	Due       DeliveryState = "due"
	Sending   DeliveryState = "sending"
	Delivered DeliveryState = "delivered"
	Refused   DeliveryState = "refused" // the other side said no for good
	Dead      DeliveryState = "dead"    // tried as often as may be; a person can send it again
	Doubtful  DeliveryState = "unknown" // it may have arrived, and once more could be twice
)

// Ended tells whether a delivery has ended without arriving.
func (d DeliveryState) Ended() bool { return d == Dead || d == Refused || d == Doubtful }

// Approval is one of them.
type Approval struct {
	ID       string
	State    ApprovalState
	Tool     string
	Digest   string
	Content  []byte
	Call     string
	Asked    time.Time
	Expires  time.Time
	Decided  time.Time
	Approver string
	Ended    time.Time
	Run      string
	Place    string // where Run was to write
	Code     string
	Result   []byte
	Delivery DeliveryState
	Tries    int
	Next     time.Time
	Status   string
	Again    bool // a person has sent it again
	Told     bool // false: that it was settled is not in the audit log yet
	recorded bool
	loose    string
}

// Loose is the digest of its content but for the loop's id.
func (a Approval) Loose() string { return a.loose }

// Proposed is a write that passed the gates before the approval gate.
type Proposed struct {
	ID      string
	Tool    string
	Session []byte // who asks, canonical
	What    []byte // what of which policy, canonical
	Who     Who
	Digest  string
	Content []byte
	Loose   string // digest of Content but for the loop's id
	Call    string
	Expires time.Duration
	Most    int // of one Who that may wait at once
}

// What keeps a change from being made.
var (
	ErrNoApproval  = errors.New("there is no such approval")
	ErrTooMany     = errors.New("too many proposals wait already")
	ErrNotSo       = errors.New("the approval is in another state by now")
	ErrOtherDigest = errors.New("what was to be approved has changed")
)

// Approvals keeps approvals in a state database.
type Approvals struct {
	db    *sql.DB
	b     *Bounds // for its keyed hashes; nil: nothing can be proposed
	clock func() time.Time
}

// Approvals gives the approvals that are kept in the database. To propose, its
// bounds must be open.
func (s *State) Approvals(clock func() time.Time) (*Approvals, error) {
	if s.db == nil {
		return nil, errors.New("state database: it was opened to read")
	}
	return &Approvals{db: s.db, b: s.bounds, clock: clock}, nil
}

func (a *Approvals) now() int64 { return a.clock().UnixMicro() }

// do runs one transaction. Nothing of it stands when it gives an error.
func (a *Approvals) do(run func(tx *sql.Tx) error) error {
	return insist(patience, func() error {
		tx, err := a.db.Begin() // IMMEDIATE
		if err != nil {
			return err
		}
		if err := run(tx); err != nil {
			return errors.Join(err, ignoreDone(tx.Rollback()))
		}
		return tx.Commit()
	})
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

const approvalColumns = "id, state, tool, digest, content, call, asked, expires, decided, approver, ended, run, place, code, result, delivery, tries, next, status, again, told, recorded, loose"

type scanner interface{ Scan(into ...any) error }

func scanApproval(row scanner) (Approval, error) {
	var a Approval
	var asked, expires, decided, ended, next int64
	err := row.Scan(&a.ID, &a.State, &a.Tool, &a.Digest, &a.Content, &a.Call, &asked, &expires, &decided, &a.Approver, &ended, &a.Run, &a.Place, &a.Code, &a.Result,
		&a.Delivery, &a.Tries, &next, &a.Status, &a.Again, &a.Told, &a.recorded, &a.loose)
	a.Asked, a.Expires, a.Decided, a.Ended, a.Next = timeOf(asked), timeOf(expires), timeOf(decided), timeOf(ended), timeOf(next)
	return a, err
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

// expire ends what has waited too long. Who is counted for whom is not changed.
func expire(tx *sql.Tx, now int64) error {
	_, err := tx.Exec("UPDATE approval SET state = ?, ended = ?2 WHERE state = ?3 AND expires <= ?2", Expiry, now, Waiting)
	return err
}

// Propose keeps a proposal, which waits once Recorded is called. An identical
// one that waits already is given instead; where what was shown has changed
// since, but for the loop's id, it shows the new. One that somebody else has not
// recorded yet is the same too, and to be recorded by both.
func (a *Approvals) Propose(p Proposed) (kept Approval, again bool, err error) {
	if a.b == nil {
		return kept, false, errors.New("state database: its bounds are not kept")
	}
	same, who := a.b.tag("approval", p.Session, p.What), a.b.tagOf(p.Who)
	err = a.do(func(tx *sql.Tx) error {
		now := a.now()
		if err := expire(tx, now); err != nil {
			return err
		}
		kept, err = scanApproval(tx.QueryRow("SELECT "+approvalColumns+" FROM approval WHERE same = ? AND state = ? ORDER BY recorded DESC LIMIT 1", same, Waiting))
		switch {
		case err == nil:
			again = kept.recorded
			if kept.Digest != p.Digest && (p.Loose == "" || kept.loose != p.Loose) {
				kept.Digest, kept.Content, kept.loose = p.Digest, p.Content, p.Loose
			}
			if !again { // of somebody who is about to record it, or is gone
				kept.Call, kept.Asked, kept.Expires = p.Call, time.UnixMicro(now), time.UnixMicro(now+p.Expires.Microseconds())
			}
			_, err = tx.Exec("UPDATE approval SET digest = ?, content = ?, loose = ?, call = ?, asked = ?, expires = ? WHERE id = ?",
				kept.Digest, kept.Content, kept.loose, kept.Call, kept.Asked.UnixMicro(), kept.Expires.UnixMicro(), kept.ID)
			return err
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		again = false
		var waiting int
		if err := tx.QueryRow("SELECT count(*) FROM approval WHERE who = ? AND state = ?", who, Waiting).Scan(&waiting); err != nil {
			return err
		}
		if waiting >= p.Most {
			return ErrTooMany
		}
		kept = Approval{
			ID: p.ID, State: Waiting, Tool: p.Tool, Digest: p.Digest, Content: p.Content, Call: p.Call,
			Asked: time.UnixMicro(now), Expires: time.UnixMicro(now + p.Expires.Microseconds()),
		}
		_, err = tx.Exec("INSERT INTO approval (id, state, recorded, tool, same, who, digest, content, loose, call, asked, expires) VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			p.ID, Waiting, p.Tool, same, who, p.Digest, p.Content, p.Loose, p.Call, now, now+p.Expires.Microseconds())
		return err
	})
	if err != nil {
		return Approval{}, false, a.wrap(err)
	}
	return kept, again, nil
}

func (a *Approvals) wrap(err error) error {
	for _, plain := range []error{ErrNoApproval, ErrTooMany, ErrNotSo, ErrOtherDigest} {
		if errors.Is(err, plain) {
			return err
		}
	}
	return fmt.Errorf("state database: %w", err)
}

// Recorded says that the proposal is in the audit log: it waits from now on.
func (a *Approvals) Recorded(id string) error {
	return a.change("UPDATE approval SET recorded = 1 WHERE id = ? AND state = ?", id, Waiting)
}

// change runs one statement that must change one row.
func (a *Approvals) change(statement string, args ...any) error {
	err := a.do(func(tx *sql.Tx) error {
		done, err := tx.Exec(statement, args...)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, ErrNotSo)
		}
		return nil
	})
	if err != nil {
		return a.wrap(err)
	}
	return nil
}

// Get gives one approval by its id.
func (a *Approvals) Get(id string) (found Approval, err error) {
	err = a.do(func(tx *sql.Tx) error {
		if err := expire(tx, a.now()); err != nil {
			return err
		}
		found, err = scanApproval(tx.QueryRow("SELECT "+approvalColumns+" FROM approval WHERE id = ? AND recorded = 1", id))
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNoApproval
		}
		return err
	})
	if err != nil {
		return Approval{}, a.wrap(err)
	}
	return found, nil
}

// List is what Each gives, at once.
func (a *Approvals) List(states ...ApprovalState) (list []Approval, err error) {
	err = a.Each(func(one Approval) error {
		list = append(list, one)
		return nil
	}, states...)
	return list, err
}

// Each gives those in the given states, all of them where none is given, oldest
// first.
func (a *Approvals) Each(yield func(Approval) error, states ...ApprovalState) error {
	if err := a.do(func(tx *sql.Tx) error { return expire(tx, a.now()) }); err != nil {
		return a.wrap(err)
	}
	where, args := "recorded = 1", []any(nil)
	for _, s := range states {
		args = append(args, s)
	}
	if len(args) > 0 {
		where += " AND state IN (?" + strings.Repeat(", ?", len(args)-1) + ")"
	}
	return a.pages(yield, where, args...)
}

// page is how many approvals are in memory at once.
const page = 100

// pages reads approvals a page at a time, and holds no lock between them.
func (a *Approvals) pages(yield func(Approval) error, where string, args ...any) error {
	asked, id := int64(math.MinInt64), ""
	for {
		list, err := a.find(a.db, where+" AND (asked, id) > (?, ?) ORDER BY asked, id LIMIT ?", append(slices.Clone(args), asked, id, page)...)
		if err != nil {
			return a.wrap(err)
		}
		for _, one := range list {
			if err := yield(one); err != nil {
				return err
			}
			asked, id = one.Asked.UnixMicro(), one.ID
		}
		if len(list) < page {
			return nil
		}
	}
}

// Beginning gives those whose id begins so, two at most: more than one is no name.
func (a *Approvals) Beginning(id string) (list []Approval, err error) {
	err = a.do(func(tx *sql.Tx) error {
		if err := expire(tx, a.now()); err != nil {
			return err
		}
		list, err = a.find(tx, "recorded = 1 AND id >= ?1 AND substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 2", id)
		return err
	})
	if err != nil {
		return nil, a.wrap(err)
	}
	return list, nil
}

func (a *Approvals) find(in interface {
	Query(query string, args ...any) (*sql.Rows, error)
}, where string, args ...any,
) (list []Approval, err error) {
	rows, err := in.Query("SELECT "+approvalColumns+" FROM approval WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scanApproval(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}
