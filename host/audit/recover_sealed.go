package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/regularfile"
)

// A line and what is sealed for it are put on disk at once, in no order, so that
// a crash of the machine can leave a line without its sealed text. Such a line is
// cut off with all that follows it: no answer of it has left, for the tree is
// written after both are on disk and has nothing of it, and what came later
// would have put this one on disk too (after a kill, sealedLook.sync has). Where a
// checkpoint has the line, or the file of its day or the key of its person is
// gone, it was no such crash. (The checkpoints that are not reached yet are in
// ahead, the last of the folder too.)

// A sealedLook looks for these among the lines that the tree has no hash of.
type sealedLook struct {
	f      *openLog
	opened bool
	people *people  // once opened; nil where there are none
	days   []string // of what the lines have sealed
}

// lost tells whether a line is one of these.
func (l *sealedLook) lost(line []byte, place int64) (bool, error) {
	f := l.f
	if !f.unhashed(place) {
		return false, nil
	}
	for _, h := range f.ahead {
		if f.entries < h.Entries {
			return false, nil
		}
	}
	e, err := ReadEntry(line)
	if err != nil || e.Seq != f.entries || len(e.Sealed) == 0 || !f.key.stamped(line, e) {
		return false, nil //nolint:nilerr // next tells of it
	}
	for _, ref := range e.Sealed {
		if !slices.Contains(l.days, ref.File) {
			l.days = append(l.days, ref.File)
		}
	}
	if err := l.open(); l.people == nil || err != nil {
		return false, err
	}
	for _, ref := range e.Sealed {
		if lost, err := l.partLost(e, ref); lost || err != nil {
			return lost, err
		}
	}
	return false, nil
}

// partLost tells whether one sealed text of a line is not what was sealed. A key
// that cannot be had tells nothing of that: Verify tells of it.
func (l *sealedLook) partLost(e *Entry, ref SealedRef) (bool, error) {
	by, err := l.people.byPseudonym(ref.Person)
	if isBusy(err) {
		return false, err
	} else if by == nil || err != nil {
		return false, nil
	}
	blob, err := readValue(l.f.folder, ref)
	switch {
	case errors.Is(err, errShort):
		return true, nil
	case errors.Is(err, os.ErrNotExist), errors.Is(err, regularfile.ErrNotRegular):
		return false, nil
	case err != nil:
		return false, err
	}
	_, err = openSealed(by, e, blob)
	return err != nil, nil
}

// sync waits until what these lines have sealed is on disk. A host that was
// killed has not: and of a line that the tree has a hash of, or that others
// follow whose answers have left, no sealed text may be lost.
func (l *sealedLook) sync() error {
	for _, day := range l.days {
		file, err := regularfile.Open(filepath.Join(l.f.folder, valuesFolder, day), os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, regularfile.ErrNotRegular) {
			continue
		}
		if err == nil {
			err = errors.Join(l.f.datasync(file), file.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", valuesFolder, err)
		}
	}
	return nil
}

func (l *sealedLook) open() (err error) {
	if !l.opened {
		l.people, err = l.f.peopleToLook()
		l.opened = err == nil
	}
	return err
}

func (l *sealedLook) close() {
	if l.people != nil {
		_ = l.people.close() // only read
	}
}

// peopleToLook opens people.db, which the log may have open too; nil where it is
// not there, or empty: an operator has given the values up.
func (f *openLog) peopleToLook() (*people, error) {
	path := filepath.Join(f.folder, peopleFile)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && info.Size() == 0:
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, err
	}
	return readPeople(path, f.key)
}
