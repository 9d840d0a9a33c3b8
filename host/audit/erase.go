package audit

import (
	"crypto/hmac"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// Person says whose values to erase: exactly one of Customer, Subject and
// Nobody, which is who asked without being named. Where Tenant is nil the
// person must be of one tenant only.
type Person struct {
	Customer, Subject string
	Nobody            bool
	Tenant            *string
}

func (p Person) kind() (kind, value string) {
	switch {
	case p.Customer != "":
		return kindCustomer, p.Customer
	case p.Subject != "":
		return kindSubject, p.Subject
	}
	return kindNobody, ""
}

// Errors of Erase.
var (
	ErrNoSuchPerson   = errors.New("the log knows nobody of that name (any more)")
	ErrSeveralTenants = errors.New("several tenants have somebody of that name; say which tenant")
)

// Erase deletes a person's key and pseudonyms: nobody can read what was sealed,
// nor tell whose it was. It gives the pseudonym that stays in the log. The
// entry is written first; a crash between the two is made good by who opens
// the log next.
func (l *Log) Erase(who Person) (pseudonym string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.withLog(func() error {
		if pseudonym, err = l.people.Load().markErasing(who); err != nil {
			return err
		}
		return l.finishErasures()
	})
	return pseudonym, err
}

// Knows tells whether the log has somebody of that name, in any tenant.
func (l *Log) Knows(who Person) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.people.Load()
	if p == nil {
		return false, fmt.Errorf("%w: is not open", errPeople)
	}
	found, err := p.pseudonyms(who.kind())
	return len(found) > 0, err
}

// finishErasures writes the entry of each erasure that has begun, and deletes.
// Where nothing has changed since it last looked there is none.
func (l *Log) finishErasures() error {
	p := l.people.Load()
	if p.looked() {
		return nil
	}
	marked, err := p.erasing()
	if err != nil {
		return err
	}
	for _, pseudonym := range marked {
		if err := l.own(Entry{Kind: Erased, Erasure: &Erasure{Person: pseudonym, UID: os.Getuid()}}); err != nil {
			l.drop()
			return err
		}
	}
	if len(marked) > 0 {
		err = p.removeErasing()
	}
	if err == nil {
		p.look()
	}
	return err
}

// looked tells whether no row was marked for erasure since look.
func (p *people) looked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unmarked
}

func (p *people) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unmarked = true
}

// markErasing begins an erasure: from here on the row is nobody's.
func (p *people) markErasing(who Person) (pseudonym string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kind, value := who.kind()
	rows, err := p.db.Query("SELECT id, pseudonym, tenant FROM person WHERE kind = ? AND tag = ?", kind, p.key.tag(kind, value))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errPeople, err)
	}
	var found []person
	for rows.Next() {
		var one person
		if err := rows.Scan(&one.id, &one.pseudonym, &one.tenant); err != nil {
			_ = rows.Close() // the first error is the one to tell
			return "", fmt.Errorf("%w: %w", errPeople, err)
		}
		if who.Tenant == nil || p.inTenant(&one, *who.Tenant) {
			found = append(found, one)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return "", fmt.Errorf("%w: %w", errPeople, err)
	}
	switch len(found) {
	case 0:
		return "", ErrNoSuchPerson
	case 1:
	default:
		return "", ErrSeveralTenants
	}
	p.forget()
	if _, err := p.db.Exec("UPDATE person SET erasing = ? WHERE id = ?", p.key.erasing(found[0].pseudonym), found[0].id); err != nil {
		return "", fmt.Errorf("%w: %w", errPeople, err)
	}
	return found[0].pseudonym, nil
}

// erasing marks a row whose erasure has begun.
func (k *key) erasing(pseudonym string) []byte { return k.mark("erase", pseudonym) }

// erases tells whether a mark was made with the log's key: nobody else may have
// the host delete a key, and sign that it was an operator.
func (k *key) erases(pseudonym string, mark []byte) bool {
	return hmac.Equal(mark, k.erasing(pseudonym))
}

// erasing gives the pseudonyms of erasures that have begun.
func (p *people) erasing() ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows, err := p.db.Query("SELECT pseudonym, erasing FROM person WHERE erasing IS NOT NULL")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPeople, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var one string
		var mark []byte
		if err := rows.Scan(&one, &mark); err != nil {
			return nil, fmt.Errorf("%w: %w", errPeople, err)
		}
		if !p.key.erases(one, mark) {
			return nil, fmt.Errorf("%w: %s is marked to be erased by somebody without this log's key; see: toolhost audit verify", errPeople, one)
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

func (p *people) removeErasing() error {
	return p.remove(nil, "DELETE FROM person WHERE erasing IS NOT NULL")
}

// unseen counts the people who were not seen since a day.
func (p *people) unseen(before string) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err = p.db.QueryRow("SELECT (SELECT count(*) FROM person WHERE seen < ?) + (SELECT count(*) FROM name WHERE seen < ?)", before, before).Scan(&n)
	return n, err
}

func (p *people) removeUnseen(before string) error {
	return p.remove([]any{before}, "DELETE FROM person WHERE seen < ?", "DELETE FROM name WHERE seen < ?")
}

// remove deletes rows, so that no byte of a key stays in the file.
func (p *people) remove(args []any, deletions ...string) error {
	p.mu.Lock()
	p.forget()
	err := p.transaction(func(tx *sql.Tx) error {
		for _, d := range append(deletions, "PRAGMA user_version = 1") {
			if _, err := tx.Exec(d, args...); err != nil {
				return err
			}
		}
		return nil
	})
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", errPeople, err)
	}
	return p.writeAnew()
}

// writeAnew leaves in the file only what its rows say, where rows were deleted
// since it was last written anew: user_version is 1 from the one to the other,
// so that a crash or a full disk does not end it.
func (p *people) writeAnew() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var due int
	err := p.db.QueryRow("PRAGMA user_version").Scan(&due)
	if err != nil || due == 0 {
		return err
	}
	for _, statement := range []string{"VACUUM", "PRAGMA user_version = 0"} {
		if _, err := p.db.Exec(statement); err != nil {
			return fmt.Errorf("%w: what was deleted may still be in the file; it is written anew when the log is opened next: %w", errPeople, err)
		}
	}
	return nil
}
