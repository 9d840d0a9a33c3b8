package audit

import (
	"errors"
	"fmt"
	"time"
)

// The start of a call from which nothing leaves before its end (Event.Soon) is
// written at once, so that what cannot be written does not run, and is on disk
// with the next entry that is waited for: at the latest the end of that call.
// Until then the folder's lock is kept, so that no host builds on lines which a
// crash of the machine could still take (a Reader, which takes no lock, may see
// them), and the tree has no hash of them.

// settleTime is how long the lock is kept for a start alone.
const settleTime = 5 * time.Millisecond

// A began is a call that has started.
type began struct {
	who  identified
	lost bool // its start was written, and could not be put on disk
}

var errStartLost = errors.New("the call's start could not be put on disk")

// locked runs what needs the lock of the folder. It is called with mu held.
func (l *Log) locked(do func() error) error {
	if l.held && l.gone() { // the lock is that of a file which is not the log's any more
		l.drop()
		if err := l.unlock(); err != nil {
			return err
		}
	}
	if !l.held {
		if err := takeLock(l.lock, lockTime); err != nil {
			return fmt.Errorf("audit log %s: %w", l.o.Folder, err)
		}
	}
	err := do()
	if l.open != nil && l.open.pending() {
		if !l.held {
			l.settler.Reset(l.settleIn)
		}
		l.held = true
		return err
	}
	return errors.Join(err, l.unlock())
}

func (l *Log) unlock() error {
	if l.held {
		l.settler.Stop()
		l.held = false
	}
	if err := l.lock.Unlock(); err != nil {
		return fmt.Errorf("audit log %s: unlock: %w", l.o.Folder, err)
	}
	return nil
}

// settle waits until all that was written is on disk. Where that fails the
// starts that nobody has waited for are lost, and so are the ends of those calls.
func (l *Log) settle() error {
	err := l.open.settle(!l.unsynced)
	if err != nil {
		for _, id := range l.soon {
			l.running.Store(id, began{lost: true})
		}
	}
	l.soon = l.soon[:0]
	return err
}

// settleLate ends a wait for the next entry.
func (l *Log) settleLate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return
	}
	if err := l.withLog(func() error { return nil }); err != nil {
		l.o.Log.Error("audit log", "error", err)
	}
}

// lostStart tells whether an entry is the end of a call whose start is lost.
func (l *Log) lostStart(e Event) bool {
	if e.Kind != Ended || e.Call == nil || !e.GoesOn {
		return false
	}
	started, ok := l.running.Load(e.Call.ID)
	return ok && started.(began).lost
}
