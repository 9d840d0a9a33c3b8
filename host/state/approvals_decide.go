package state

import (
	"database/sql"
	"errors"
	"time"
)

// Decide is a person's word on what waits: Approved or Denied, of what has this
// digest. Approved, it is held by the token until the given time.
func (a *Approvals) Decide(id, digest string, to ApprovalState, approver, token string, hold time.Duration) error {
	err := a.do(func(tx *sql.Tx) error {
		now := a.now()
		if err := expire(tx, now); err != nil {
			return err
		}
		found, err := scanApproval(tx.QueryRow("SELECT "+approvalColumns+" FROM approval WHERE id = ? AND recorded = 1", id))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNoApproval
		case err != nil:
			return err
		case found.State != Waiting || to != Approved && to != Denied:
			return ErrNotSo
		case found.Digest != digest:
			return ErrOtherDigest
		}
		ended := int64(0)
		if to == Denied {
			ended = now
		}
		_, err = tx.Exec("UPDATE approval SET state = ?, decided = ?, approver = ?, ended = ?, token = ?, until = ? WHERE id = ?",
			to, now, approver, ended, token, now+hold.Microseconds(), id)
		return err
	})
	if err != nil {
		return a.wrap(err)
	}
	return nil
}

// Begin says that the plugin is started now, by the call that runs it, whose row
// is to be written at that place.
func (a *Approvals) Begin(id, token, run, place string, hold time.Duration) error {
	now := a.now()
	return a.change("UPDATE approval SET state = ?, run = ?, place = ?, until = ? WHERE id = ? AND state = ? AND token = ? AND until > ?",
		Running, run, place, now+hold.Microseconds(), id, Approved, token, now)
}

// Holds tells whether the approval still runs under the token.
func (a *Approvals) Holds(id, token string) (bool, error) {
	var count int
	err := a.db.QueryRow("SELECT count(*) FROM approval WHERE id = ? AND state = ? AND token = ?", id, Running, token).Scan(&count)
	if err != nil {
		return false, a.wrap(err)
	}
	return count == 1, nil
}

// Ended is how an approval that ran, or was to run, came out.
type Ended struct {
	State    ApprovalState
	Code     string
	Result   []byte
	Delivery DeliveryState
}

// End keeps the end of an approval that is held under the token.
func (a *Approvals) End(id, token string, e Ended) error {
	now := a.now()
	return a.change("UPDATE approval SET state = ?, ended = ?, code = ?, result = ?, delivery = ?, next = ?, token = '', until = 0 WHERE id = ? AND state IN (?, ?) AND token = ?",
		e.State, now, e.Code, e.Result, e.Delivery, now, id, Approved, Running, token)
}

// Back puts what is held under the token back to waiting: what was shown has
// changed, and the yes was to something else.
func (a *Approvals) Back(id, token, digest string, content []byte, loose string) error {
	return a.change("UPDATE approval SET state = ?, digest = ?, content = ?, loose = ?, decided = 0, approver = '', run = '', place = '', token = '', until = 0 WHERE id = ? AND state IN (?, ?) AND token = ?",
		Waiting, digest, content, loose, id, Approved, Running, token)
}

// Show keeps what a waiting approval shows now.
func (a *Approvals) Show(id, before, digest string, content []byte, loose string) error {
	return a.change("UPDATE approval SET digest = ?, content = ?, loose = ? WHERE id = ? AND state = ? AND digest = ?", digest, content, loose, id, Waiting, before)
}

// Void ends an approval that waits and can never be approved any more.
func (a *Approvals) Void(id, digest, code string) error {
	return a.change("UPDATE approval SET state = ?, ended = ?, code = ? WHERE id = ? AND state = ? AND digest = ?", Failed, a.now(), code, id, Waiting, digest)
}

// longest is more than anything is held, or waits to be sent: what is further away
// was written by a clock that was ahead.
const longest = 25 * time.Hour

// Left gives those that somebody held, who is gone or late, or was held up: for Settle.
func (a *Approvals) Left() (list []Approval, err error) {
	err = a.do(func(tx *sql.Tx) error {
		list, err = a.find(tx, "state IN (?, ?) AND (until <= ? OR until > ?) ORDER BY asked, id", Approved, Running, a.now(), a.now()+longest.Microseconds())
		return err
	})
	if err != nil {
		return nil, a.wrap(err)
	}
	return list, nil
}

// Settle ends an approval whose holder is gone, unless somebody did it first or
// the holder has it again.
func (a *Approvals) Settle(id string, e Ended) error {
	now := a.now()
	return a.change("UPDATE approval SET state = ?, ended = ?, code = ?, delivery = ?, next = ?, token = '', until = 0, told = 0 WHERE id = ? AND state IN (?, ?) AND (until <= ? OR until > ?)",
		e.State, now, e.Code, e.Delivery, now, id, Approved, Running, now, now+longest.Microseconds())
}

// Untold gives those whose settling whoever did it has not recorded for a while.
func (a *Approvals) Untold() (list []Approval, err error) {
	err = a.do(func(tx *sql.Tx) error {
		list, err = a.find(tx, "told = 0 AND ended <= ? ORDER BY asked, id", a.now()-time.Minute.Microseconds())
		return err
	})
	if err != nil {
		return nil, a.wrap(err)
	}
	return list, nil
}

// Told says that the settling is in the audit log.
func (a *Approvals) Told(id string) error {
	return a.change("UPDATE approval SET told = 1 WHERE id = ?", id)
}
