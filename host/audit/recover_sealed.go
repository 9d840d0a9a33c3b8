package audit

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/regularfile"
)

// A line and what is sealed for it are put on disk at once, in no order, so that
// a crash of the machine can leave a line without its sealed text. Such a line is
// cut off with all that follows it: no answer of it has left, for the tree is
// written after both are on disk and has nothing of it, and what came later
// would have put this one on disk too. Where a checkpoint has the line, or the
// file of its day or the key of its person is gone, it was no such crash. (The
// checkpoints that are not reached yet are in ahead, the last of the folder too.)

// lostSealed tells whether a line is one of these. It is asked of lines that the
// tree has no hash of, which are few.
func (f *openLog) lostSealed(line []byte, place int64) (bool, error) {
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
	p, err := f.peopleToLook()
	if p == nil || err != nil {
		return false, err
	}
	defer func() { _ = p.close() }() // only read
	for _, ref := range e.Sealed {
		if lost, err := f.partLost(p, e, ref); lost || err != nil {
			return lost, err
		}
	}
	return false, nil
}

// partLost tells whether one sealed text of a line is not what was sealed.
func (f *openLog) partLost(p *people, e *Entry, ref SealedRef) (bool, error) {
	by, err := p.byPseudonym(ref.Person)
	if by == nil || err != nil {
		return false, err
	}
	blob, err := readValue(f.folder, ref)
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
