package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/go-hclog"
)

// Keeper keeps the last checkpoint outside the log's folder.
type Keeper interface {
	Checkpoint() ([]byte, error) // nil: none was kept
	KeepCheckpoint(entries int64, note []byte) error
}

// Options say where a log lies and how it is kept. Folder, Key and State are required.
type Options struct {
	Folder string // made where there is none
	Key    string // a file, made where there is none and no log either
	State  Keeper

	CheckpointEntries int           // a checkpoint after so many entries; 0: 1000
	CheckpointTime    time.Duration // and after this time, if there are new ones; 0: a minute
	CheckpointCommand []string      // gets each checkpoint on its stdin; empty: none
	KeepDays          int           // days after which values are deleted; 0: never
	WarnFree          int64         // bytes free on the disk below which to warn

	Log   hclog.Logger     // nil: none
	Clock func() time.Time // nil: time.Now

	sendTime time.Duration        // of a checkpoint command; 0: the constant
	datasync func(*os.File) error // of lines and sealed texts; nil: syncData
}

func (o *Options) fill() error {
	if o.Folder == "" || o.Key == "" || o.State == nil {
		return errors.New("an audit log needs a folder, a key and a state database")
	}
	if o.CheckpointEntries <= 0 {
		o.CheckpointEntries = 1000
	}
	if o.CheckpointTime <= 0 {
		o.CheckpointTime = time.Minute
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.datasync == nil {
		o.datasync = syncData
	}
	return nil
}

// Who asked, in the words of the session. They are sealed; the log has
// pseudonyms of them.
type Who struct {
	Customer, Subject, Tenant, Session, Ticket string
}

// Event is what Append makes an entry of.
type Event struct {
	Kind   Kind
	At     time.Time
	Load   *LoadInfo // of Loaded
	Call   *Call     // of Started, Ended, Decided and Replied
	Who    Who       // of the same
	Values []Value   // of the same; the subject is added
	GoesOn bool      // of Ended: the start has kept who asked

	// Soon says of Started that nothing leaves before the call's end: the entry is
	// written when Append returns, and on disk when the next one is that is waited for.
	Soon bool
}

// Log is an audit log that is open to append. It is safe for use from several
// goroutines at once, and several processes may have it open.
type Log struct {
	o    Options
	lock *flock.Flock

	queue   sync.Mutex // guards waiting and leading
	waiting []*waiter
	leading bool

	mu       sync.Mutex // held while a group is written; guards what follows
	open     *openLog   // nil after an error: the next group opens it again
	key      *key
	opened   int64      // how often people.db was
	seen     Checkpoint // what was written when open was closed last
	repaired Recovery   // not told yet
	closed   bool       // nothing is written any more
	unsynced bool       // a benchmark leaves out fsync to show what it costs

	people     atomic.Pointer[people] // changed with mu held; nil as open is
	peopleFile os.FileInfo            // of people.db, as it was opened
	running    sync.Map               // calls that have started, by their ids: began
	soon       []string               // those whose start is written and not on disk
	held       bool                   // the lock is kept, as there are such
	settler    *time.Timer            // ends that
	settleIn   time.Duration          // after this time

	closing atomic.Bool
	stop    chan struct{}
	stopped sync.WaitGroup
	sender  *sender
}

// lockTime is how long another process may hold the log.
const lockTime = 3 * time.Second

// Open opens a log, and begins one where there is none and the state database
// knows of none. What a crash has left is put right. A log that is not what its
// last checkpoint says is not opened (A6).
func Open(o Options) (*Log, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	l := &Log{o: o, lock: newLock(o.Folder, os.O_CREATE), stop: make(chan struct{}), settleIn: settleTime}
	l.settler = time.AfterFunc(time.Hour, l.settleLate)
	l.settler.Stop()
	l.sender = newSender(o)
	if err := l.begin(); err != nil {
		return nil, errors.Join(err, l.sender.close())
	}
	l.stopped.Go(l.tend)
	return l, nil
}

// begin opens the log for the first time.
func (l *Log) begin() error {
	kept, err := l.o.State.Checkpoint()
	if err != nil {
		return err
	}
	if _, err := os.Stat(l.o.Folder); errors.Is(err, os.ErrNotExist) {
		if kept != nil {
			return fmt.Errorf("audit log %s: is not there, but the state database knows it; put it back, or move the state database and the key away to begin a new log", l.o.Folder)
		}
		if err := os.MkdirAll(l.o.Folder, 0o700); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked(func() error {
		if err := l.readKey(kept != nil); err != nil {
			return err
		}
		return l.ready()
	})
}

// withLog runs what needs the lock of the folder and the log open, read to its
// end and on disk. It is called with mu held.
func (l *Log) withLog(do func() error) error {
	return l.withOpen(func() error {
		if err := l.settle(); err != nil {
			l.drop()
			return fmt.Errorf("audit log %s: %w", l.o.Folder, err)
		}
		return do()
	})
}

// withOpen is withLog where lines may be pending.
func (l *Log) withOpen(do func() error) error {
	return l.locked(func() error {
		if err := l.ready(); err != nil {
			return err
		}
		return do()
	})
}

// readKey reads the key, or makes it for a log that has nothing yet.
func (l *Log) readKey(known bool) error {
	k, err := readKey(l.o.Key)
	if errors.Is(err, os.ErrNotExist) {
		if info, statErr := os.Stat(filepath.Join(l.o.Folder, entriesFile)); known || statErr == nil && info.Size() > 0 {
			return fmt.Errorf("audit key %s: is not there, but the log %s is; put it back", l.o.Key, l.o.Folder)
		}
		k, err = makeKey(l.o.Key)
	}
	if err != nil {
		return err
	}
	l.key = k
	return k.publish(l.o.Key)
}

// ready opens what is not open. It is called with mu and the lock held.
func (l *Log) ready() error {
	if l.closed {
		return errClosed
	}
	if l.held && l.open != nil && l.people.Load() != nil {
		return nil // locked has looked, and nobody else has written
	}
	if l.gone() {
		l.drop()
	}
	if l.open == nil {
		opened, err := openFiles(l.o, l.key, l.seen, &l.repaired)
		if err != nil {
			return fmt.Errorf("audit log %s: %w", l.o.Folder, err)
		}
		l.open = opened
	}
	if l.people.Load() == nil {
		p, err := l.openPeople()
		if err != nil {
			return fmt.Errorf("audit log %s: %s: %w", l.o.Folder, peopleFile, err)
		}
		l.people.Store(p)
	}
	if err := l.follow(); err != nil {
		l.drop()
		return fmt.Errorf("audit log %s: %w", l.o.Folder, err)
	}
	return nil
}

// openPeople opens people.db. Where a log without it is older than this
// process, every value in it would be lost in silence.
func (l *Log) openPeople() (*people, error) {
	path := filepath.Join(l.o.Folder, peopleFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && l.open.entries > 0 {
		return nil, errors.New("is not there, and with it the keys of all values; put it back, or put an empty file there to give the values up")
	}
	l.opened++
	p, err := openPeople(path, l.key, l.opened<<32) // what was prepared with an earlier one is of no generation of this
	if err != nil {
		return nil, err
	}
	if late := p.writeAnew(); late != nil {
		l.o.Log.Error("audit log", "folder", l.o.Folder, "error", late)
	}
	if l.peopleFile, err = os.Stat(path); err != nil {
		_ = p.close() // nothing is pending in it
		return nil, err
	}
	return p, nil
}

// gone tells whether what is open is another file by now, or nowhere.
func (l *Log) gone() bool {
	return l.open != nil && (l.open.gone(l.o.Folder) || l.peopleGone())
}

// peopleGone tells whether people.db is another file by now, or nowhere: what is
// sealed under a key that is in no file can never be opened.
func (l *Log) peopleGone() bool {
	return l.peopleFile == nil || !isAt(l.peopleFile, filepath.Join(l.o.Folder, peopleFile))
}

// follow reads what others wrote since, puts right what a crash of theirs left,
// and says so in an entry.
func (l *Log) follow() error {
	if err := l.open.follow(); err != nil {
		return err
	}
	if err := l.people.Load().refresh(); err != nil {
		return err
	}
	if err := l.finishErasures(); err != nil {
		return err
	}
	if l.open.entries == 0 {
		if err := l.own(Entry{Kind: Begun, Begin: &BeginInfo{Origin: l.key.origin()}}); err != nil {
			return err
		}
	}
	if r := l.repaired; r != (Recovery{}) {
		l.o.Log.Warn("the audit log was put right after a crash", "folder", l.o.Folder,
			"entry_bytes", r.EntryBytes, "hashes", r.Hashes, "checkpoint_bytes", r.CheckpointBytes)
		if err := l.own(Entry{Kind: Recovered, Recovery: &r}); err != nil {
			return err
		}
		l.repaired = Recovery{}
	}
	return nil
}

// own writes an entry of the log's own.
func (l *Log) own(e Entry) error {
	e.At = l.o.Clock()
	head, err := e.head()
	if err != nil {
		return err
	}
	if err := l.open.write([]*prepared{{head: head}}, dayOf(e.At)); err != nil {
		return err
	}
	return l.settle()
}

// drop closes what is open, so that the next group opens it again, from the
// last checkpoint on.
func (l *Log) drop() {
	if l.open != nil {
		if err := l.settle(); err != nil {
			l.o.Log.Error("audit log", "folder", l.o.Folder, "error", err)
		}
		if root, err := l.open.edge.root(l.open.entries); err == nil {
			l.seen = Checkpoint{Entries: l.open.entries, Root: root}
		}
		l.open.close()
		l.open = nil
	}
	if p := l.people.Swap(nil); p != nil {
		_ = p.close() // nothing is pending in it
	}
}

// Close writes the last checkpoint and closes the log. Nothing may be appended
// any more.
func (l *Log) Close() error {
	if l.closing.Swap(true) {
		return nil
	}
	close(l.stop)
	l.stopped.Wait()
	l.settler.Stop()
	return errors.Join(l.last(), l.sender.close())
}

// last writes the last checkpoint. What comes after it is refused.
func (l *Log) last() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.open != nil && l.open.sinceCheckpoint() > 0 {
		err = l.withLog(l.checkpoint)
	}
	l.drop()
	l.closed = true
	return err
}

var errClosed = errors.New("the audit log is closed")
