package state

import (
	"database/sql"
	"errors"
	"time"
)

// Claim gives the delivery that is due longest of those that were due at a time,
// held under the token; false: none is. One that somebody was sending, who is
// gone, is due again.
func (a *Approvals) Claim(token string, hold time.Duration, by time.Time) (one Approval, ok bool, err error) {
	err = a.do(func(tx *sql.Tx) error {
		ok = false
		now := a.now()
		one, err = scanApproval(tx.QueryRow("SELECT "+approvalColumns+" FROM approval WHERE delivery = ?1 AND (next <= ?2 OR next > ?3) OR delivery = ?4 AND (until <= ?5 OR until > ?3) ORDER BY next, id LIMIT 1",
			Due, min(now, by.UnixMicro()), now+longest.Microseconds(), Sending, now))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		} else if err != nil {
			return err
		}
		ok = true
		_, err = tx.Exec("UPDATE approval SET delivery = ?, tries = min(tries + 1, 1000000), token = ?, until = ? WHERE id = ?", Sending, token, now+hold.Microseconds(), one.ID)
		return err
	})
	if err != nil {
		return Approval{}, false, a.wrap(err)
	}
	return one, ok, nil
}

// Sent is what came of one try.
type Sent struct {
	Delivery DeliveryState
	Status   string
	Next     time.Time     // of Due
	State    ApprovalState // of the approval, where the delivery ends it otherwise; "": as it is
	Code     string
	NotTried bool // nothing was sent: it is not counted
}

// Sent keeps what came of a try that is held under the token.
func (a *Approvals) Sent(id, token string, s Sent) error {
	next := int64(0)
	if !s.Next.IsZero() {
		next = s.Next.UnixMicro()
	}
	return a.change(`UPDATE approval SET delivery = ?1, status = ?2, next = ?3, token = '', until = 0, tries = tries - ?9,
		state = CASE WHEN ?4 = '' THEN state ELSE ?4 END, code = CASE WHEN ?4 = '' THEN code ELSE ?5 END
		WHERE id = ?6 AND delivery = ?7 AND token = ?8`, s.Delivery, s.Status, next, s.State, s.Code, id, Sending, token, s.NotTried)
}

// Again makes a delivery due that has ended without arriving: a person wants it.
func (a *Approvals) Again(id string) error {
	return a.change("UPDATE approval SET delivery = ?, tries = 0, next = ?, state = ?, status = '', code = '', again = 1 WHERE id = ? AND delivery IN (?, ?, ?)",
		Due, a.now(), Done, id, Dead, Refused, Doubtful)
}

// Forget takes somebody out of approvals that have ended: what they asked for,
// and that they agreed to it. It gives how many still wait for their end.
func (a *Approvals) Forget(is func(one Approval) (asked, agreed bool)) (forgotten, left int, err error) {
	err = a.pages(func(one Approval) error {
		asked, agreed := is(one)
		switch {
		case !asked && !agreed:
			return nil
		case one.open():
			left++
			return nil
		}
		forgotten++ // what has ended does not begin again
		return a.change("UPDATE approval SET content = CASE WHEN ?1 THEN NULL ELSE content END, result = CASE WHEN ?1 THEN NULL ELSE result END, approver = CASE WHEN ?2 THEN '' ELSE approver END WHERE id = ?3",
			asked, agreed, one.ID)
	}, "(content IS NOT NULL OR approver <> '')")
	return forgotten, left, err
}

// ForgetBefore takes out what approvals say of people that ended before a time.
func (a *Approvals) ForgetBefore(before time.Time) error {
	err := a.do(func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE approval SET content = NULL, result = NULL, approver = '' WHERE content IS NOT NULL AND ended > 0 AND ended < ? AND delivery NOT IN (?, ?)",
			before.UnixMicro(), Due, Sending)
		return err
	})
	if err != nil {
		return a.wrap(err)
	}
	return nil
}

// open tells whether something can still become of an approval.
func (a Approval) open() bool {
	switch a.State {
	case Waiting, Approved, Running:
		return true
	default:
		return a.Delivery == Due || a.Delivery == Sending
	}
}
