package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// What a log does beside the calls: checkpoints by time, the warning before the
// disk is full, the end of old values, the index.

// newLock is the lock of a folder. It is entries.jsonl itself that is locked: a
// file for the lock alone could be deleted, and then two would hold it.
func newLock(folder string, create int) *flock.Flock {
	name := entriesFile
	if runtime.GOOS == "windows" {
		name = "lock" // there, a locked file cannot be written but by who locked it
	}
	return flock.New(filepath.Join(folder, name), flock.SetPermissions(0o600), flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK|create))
}

// takeLock takes the lock of a folder that another process may hold.
func takeLock(l *flock.Flock, most time.Duration) error {
	if ok, err := l.TryLock(); ok || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	_, err := l.TryLockContext(ctx, time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("another process has held its lock for %s", most)
	}
	return err
}

// tend runs until Close.
func (l *Log) tend() {
	period := min(max(l.o.CheckpointTime/4, 50*time.Millisecond), 15*time.Second)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	var warned time.Time
	expired, indexed := "", int64(0)
	var indexing sync.WaitGroup
	defer indexing.Wait()
	for {
		warned = l.warnOfDisk(warned)
		if today := dayOf(l.o.Clock()); l.o.KeepDays > 0 && today != expired {
			if err := l.Expire(); err != nil {
				l.o.Log.Error("old values of the audit log cannot be deleted", "error", err)
			} else {
				expired = today
			}
		}
		select {
		case <-l.stop:
			return
		case <-ticker.C:
		}
		l.mu.Lock()
		if l.open != nil && l.open.sinceCheckpoint() > 0 && l.checkpointDue() {
			l.checkpointNow()
		}
		entries := int64(0)
		if l.open != nil {
			entries = l.open.entries
		}
		l.mu.Unlock()
		if entries-indexed >= indexEvery {
			indexed = entries
			indexing.Go(l.indexAhead)
		}
	}
}

// checkpointDue tells whether it is time; a clock that was put back does not
// keep a checkpoint away.
func (l *Log) checkpointDue() bool {
	since := l.o.Clock().Sub(l.open.last.Time)
	return since < 0 || since >= l.o.CheckpointTime
}

// indexEvery is how many entries a reader may have to take into the index.
const indexEvery = 5000

// indexAhead takes new entries into the index, so that no reader waits long.
func (l *Log) indexAhead() {
	x, err := openIndex(l.o.Folder)
	if err == nil {
		x.stopped = func() bool {
			select {
			case <-l.stop:
				return true
			default:
				return false
			}
		}
		err = errors.Join(x.catchUp(), x.close())
	}
	if err != nil {
		l.o.Log.Warn("the audit log's index is behind; a reader will make it", "error", err)
	}
}

func (l *Log) checkpointNow() {
	err := l.withLog(func() error {
		l.tryCheckpoint()
		return nil
	})
	if err != nil {
		l.o.Log.Error("audit log", "error", err)
	}
}

func (l *Log) tryCheckpoint() {
	if err := l.checkpoint(); err != nil {
		l.o.Log.Error("the audit log has no new checkpoint", "error", err)
	}
}

// Checkpoint signs what the log holds now, if that was not done yet, and gives
// the signed note.
func (l *Log) Checkpoint() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var note []byte
	err := l.withLog(func() error {
		if l.open.sinceCheckpoint() > 0 {
			if err := l.checkpoint(); err != nil {
				return err
			}
		}
		info, err := l.open.checkpoints.Stat()
		if err == nil {
			note, _, err = lastNote(l.open.checkpoints, info.Size())
		}
		return err
	})
	return note, err
}

// checkpoint signs what the log holds now. It is called with mu and the lock held.
func (l *Log) checkpoint() error {
	root, err := l.open.edge.root(l.open.entries)
	if err != nil {
		return err
	}
	c := Checkpoint{Origin: l.key.origin(), Entries: l.open.entries, Root: root, Bytes: l.open.bytes, Time: l.o.Clock()}
	signed, err := c.sign(l.key.signer)
	if err != nil {
		return err
	}
	if err := l.open.keepCheckpoint(c, signed); err != nil {
		return fmt.Errorf("%s: %w", checkpointsFile, err)
	}
	l.sender.send(c.Entries, signed)
	return nil
}

func (f *openLog) keepCheckpoint(c Checkpoint, signed []byte) error {
	info, err := f.checkpoints.Stat()
	if err != nil {
		return err
	}
	_, torn, err := lastNote(f.checkpoints, info.Size())
	if err == nil {
		err = f.cutCheckpoint(torn) // of another process that was killed
	}
	if err == nil {
		err = f.tree.Sync() // before there is a checkpoint of it
	}
	if err != nil {
		return err
	}
	size := info.Size() - torn
	if _, err = f.checkpoints.WriteAt(signed, size); err == nil {
		err = f.checkpoints.Sync()
	}
	if err != nil {
		return errors.Join(err, f.checkpoints.Truncate(size))
	}
	f.last = c
	return nil
}

// diskWarning is how often the warning comes again.
const diskWarning = 10 * time.Minute

func (l *Log) warnOfDisk(last time.Time) time.Time {
	now := l.o.Clock()
	if l.o.WarnFree <= 0 || now.Sub(last) < diskWarning {
		return last
	}
	free, err := freeBytes(l.o.Folder)
	if err != nil || free >= l.o.WarnFree {
		return last
	}
	l.o.Log.Warn("the audit log's disk is nearly full; when it is, every call is refused", "folder", l.o.Folder, "free_bytes", free, "warn_free", l.o.WarnFree)
	return now
}

// Expire deletes the values of days that are over, and the pseudonyms of who
// was not seen since. The log itself stays, and says so.
func (l *Log) Expire() error {
	if l.o.KeepDays <= 0 {
		return nil
	}
	before := dayOf(l.o.Clock().AddDate(0, 0, -l.o.KeepDays))
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.withLog(func() error {
		if err := l.people.Load().writeAnew(); err != nil { // that did not end well
			return err
		}
		files, err := expiredFiles(l.o.Folder, before)
		if err != nil {
			return err
		}
		gone, err := l.people.Load().unseen(before)
		if err != nil || len(files)+gone == 0 {
			return err
		}
		if err := l.own(Entry{Kind: Expired, Expiry: &Expiry{Before: before, Files: len(files), People: gone}}); err != nil {
			l.drop()
			return err
		}
		for _, file := range files {
			err = errors.Join(err, os.Remove(file))
		}
		return errors.Join(err, syncFolder(filepath.Join(l.o.Folder, valuesFolder)), l.people.Load().removeUnseen(before))
	})
}
