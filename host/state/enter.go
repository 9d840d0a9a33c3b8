package state

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Enter counts a call and says whether it may go on. The lock is looked at
// first, then time, calls and repeats. A call that is locked is not counted; one
// that any other bound refuses is.
func (b *Bounds) Enter(c Call) (v Verdict, err error) {
	t := b.tagsOf(c)
	if t.session == nil {
		return b.look(t)
	}
	err = b.write.do(func() error {
		now := b.clock.now()
		if err := b.write.tend(now, b.limits); err != nil {
			return err
		}
		switch w, until, err := b.window(b.write.nth, t.who, now); {
		case err != nil:
			return err
		case w == closed:
			v = Verdict{Standing: Locked, Until: until}
			return nil
		}
		v, err = b.count(t, now)
		return err
	})
	if err != nil {
		return Verdict{}, fmt.Errorf("state database: %w", err)
	}
	return v, nil
}

// count counts a call that is not locked. What a session that is at its end
// still calls is not told apart, so that its rows are bounded.
func (b *Bounds) count(t tags, now int64) (Verdict, error) {
	var s session
	if err := b.write.step.QueryRow(t.session, now).Scan(&s.began, &s.seen, &s.calls); err != nil {
		return Verdict{}, err
	}
	return b.limits.verdict(now, s, func() (times int64, err error) {
		err = b.write.repeat.QueryRow(t.session, t.call).Scan(&times)
		return times, err
	})
}

// Peek says what Enter would, and counts nothing.
func (b *Bounds) Peek(c Call) (Verdict, error) { return b.look(b.tagsOf(c)) }

func (b *Bounds) look(t tags) (Verdict, error) {
	v, err := b.peek(t, b.clock.now())
	if err != nil {
		return Verdict{}, fmt.Errorf("state database: %w", err)
	}
	return v, nil
}

func (b *Bounds) peek(t tags, now int64) (Verdict, error) {
	switch w, until, err := b.window(b.nth, t.who, now); {
	case err != nil:
		return Verdict{}, err
	case w == closed:
		return Verdict{Standing: Locked, Until: until}, nil
	case t.session == nil:
		return Verdict{Standing: Admitted}, nil
	}
	s := session{began: now, seen: now}
	err := b.read.QueryRow("SELECT began, seen, calls FROM session WHERE tag = ?", t.session).Scan(&s.began, &s.seen, &s.calls)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Verdict{}, err
	}
	s.calls++
	return b.limits.verdict(now, s, func() (times int64, err error) {
		err = b.read.QueryRow("SELECT times FROM session_call WHERE session = ? AND tag = ?", t.session, t.call).Scan(&times)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return times + 1, err
	})
}

// A session's row, with the call that is looked at.
type session struct{ began, seen, calls int64 }

// verdict says whether a session may make a call, by its row, and how often it
// has made it, which is asked only where the row does not refuse.
func (l Limits) verdict(now int64, s session, repeats func() (int64, error)) (Verdict, error) {
	v := Verdict{Call: int(s.calls)}
	most := l.Time.Microseconds()
	switch {
	case s.began-now > most, max(now, s.seen)-s.began >= most: // begun so far ahead, nobody can say how old it is
		v.Standing = Expired
		return v, nil
	case s.calls > int64(l.Steps):
		v.Standing = TooManyCalls
		return v, nil
	}
	times, err := repeats()
	if err != nil {
		return Verdict{}, err
	}
	v.Standing, v.Times = Admitted, int(times)
	if times > int64(l.Repeats) {
		v.Standing = Repeated
	}
	return v, nil
}

// Refused counts a refusal, unless there were as many as may be in the window
// already: then it is Locked, and the refusal must leave as a locked call does. So
// of calls that run side by side no more are refused in words of their own than
// one after another.
func (b *Bounds) Refused(who Who) (v Verdict, err error) {
	tag := b.tagOf(who)
	err = b.write.do(func() error {
		now := b.clock.now()
		if err := b.write.tend(now, b.limits); err != nil {
			return err
		}
		w, until, err := b.window(b.write.nth, tag, now)
		if err != nil {
			return err
		}
		if v = (Verdict{Standing: Admitted}); w == closed {
			v = Verdict{Standing: Locked, Until: until}
			return nil
		}
		if err := execute(b.write.refuse, tag, now, rand.Int64()); err != nil || w == open {
			return err
		}
		return execute(b.write.trim, tag, b.limits.Refusals-1)
	})
	if err != nil {
		return Verdict{}, fmt.Errorf("state database: %w", err)
	}
	return v, nil
}

// A window is what is known of who was refused. The zero one is closed (I2).
type window uint8

const (
	closed window = iota // as many refusals are in it as may be
	passed               // there were as many, and some of them are out of it
	open                 // there were never as many
)

// window looks at the refusal that so many newer ones follow. One that lies
// ahead of this clock is in the window.
func (b *Bounds) window(nth *sql.Stmt, who []byte, now int64) (w window, until time.Time, err error) {
	if b.limits.Refusals < 1 {
		return closed, until, nil
	}
	var at int64
	switch err := nth.QueryRow(who, b.limits.Refusals-1).Scan(&at); {
	case errors.Is(err, sql.ErrNoRows):
		return open, until, nil
	case err != nil:
		return closed, until, err
	case now-at < b.limits.Within.Microseconds():
		return closed, time.UnixMicro(at).Add(b.limits.Within), nil
	}
	return passed, until, nil
}
