package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// hurry is how long a call waits for its turn in this process, and then for the
// other processes. What cannot be counted in time is refused.
const hurry = 2 * time.Second

var errHurry = errors.New("the call could not be counted in time")

// A writer is the one connection of a process that counts. It commits without
// an fsync (synchronous NORMAL in a WAL).
type writer struct {
	turn  chan struct{} // holds one token
	db    *sql.DB
	conn  *sql.Conn
	swept int64 // when rows were last forgotten; 0: never

	begin, commit, rollback         *sql.Stmt
	nth, step, repeat, refuse, trim *sql.Stmt
	forget                          [3]*sql.Stmt
	all                             []*sql.Stmt
}

// sqlNth gives the time of the refusal that so many newer ones follow. It alone
// decides a lock, so that no older one needs to be kept.
const sqlNth = "SELECT at FROM refusal WHERE who = ? ORDER BY at DESC LIMIT 1 OFFSET ?"

func openWriter(path string) (*writer, error) {
	db, err := openDB(path, "rw", "synchronous(NORMAL)", busy(0))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	w := &writer{turn: make(chan struct{}, 1), db: db}
	w.turn <- struct{}{}
	if w.conn, err = db.Conn(context.Background()); err == nil {
		err = insist(hurry, w.prepare)
	}
	if err != nil {
		for _, s := range w.all {
			_ = s.Close() // the first error is the one to tell
		}
		if w.conn != nil {
			_ = w.conn.Close()
		}
		_ = db.Close()
		return nil, err
	}
	return w, nil
}

func (w *writer) prepare() (err error) {
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.nth, sqlNth},
		{&w.step, `INSERT INTO session VALUES (?1, ?2, ?2, 1)
			ON CONFLICT DO UPDATE SET seen = max(seen, excluded.seen), calls = calls + 1 RETURNING began, seen, calls`},
		{&w.repeat, `INSERT INTO session_call VALUES (?, ?, 1)
			ON CONFLICT DO UPDATE SET times = times + 1 RETURNING times`},
		{&w.refuse, "INSERT INTO refusal VALUES (?, ?, ?)"},
		{&w.trim, "DELETE FROM refusal WHERE who = ?1 AND at < (SELECT at FROM refusal WHERE who = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)"},
		{&w.forget[0], "DELETE FROM session_call WHERE session IN (SELECT tag FROM session WHERE seen < ?)"},
		{&w.forget[1], "DELETE FROM session WHERE seen < ?"},
		{&w.forget[2], "DELETE FROM refusal WHERE who IN (SELECT who FROM refusal GROUP BY who HAVING max(at) < ?)"},
	} {
		if *s.to != nil {
			continue
		}
		if *s.to, err = w.conn.PrepareContext(context.Background(), s.text); err != nil {
			return err
		}
		w.all = append(w.all, *s.to)
	}
	return nil
}

// do runs one transaction. Nothing of it stands when it gives an error.
func (w *writer) do(run func() error) error {
	late := time.NewTimer(hurry)
	defer late.Stop()
	select {
	case <-w.turn:
	case <-late.C:
		return errHurry
	}
	defer func() { w.turn <- struct{}{} }()
	if err := insist(hurry, func() error { return execute(w.begin) }); err != nil {
		return err
	}
	err := run()
	if err == nil {
		err = execute(w.commit)
	}
	if err != nil {
		_ = execute(w.rollback) // where SQLite has rolled back itself there is nothing to roll back
	}
	return err
}

func execute(s *sql.Stmt, args ...any) error {
	_, err := s.Exec(args...)
	return err
}

// What is over is forgotten a day after it could last count, so that a clock
// which is set forward and back again by less gives nothing back.
const (
	spare       = 24 * time.Hour
	forgetEvery = time.Hour
)

// tend forgets what is over, now and then.
func (w *writer) tend(now int64, l Limits) error {
	if w.swept != 0 && now-w.swept < forgetEvery.Microseconds() {
		return nil
	}
	sessions, refusals := now-(l.Time+spare).Microseconds(), now-(l.Within+spare).Microseconds()
	for i, before := range [...]int64{sessions, sessions, refusals} {
		if err := execute(w.forget[i], before); err != nil {
			return err
		}
	}
	w.swept = now
	return nil
}

// close waits for the call that is being counted. Statements are closed first:
// with one open SQLite would leave its files beside the database.
func (w *writer) close() error {
	<-w.turn
	var errs []error
	for _, s := range w.all {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
}
