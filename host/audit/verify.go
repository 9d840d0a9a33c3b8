package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/toolhost/toolhost/host/regularfile"
)

// Verify reads a whole log and says what is wrong with it. It writes nothing.
// An error means that the log could not be looked at; what is wrong with it are
// findings.
func Verify(folder string, o VerifyOptions) (*Report, error) {
	v := newVerifier(folder, o)
	if o.KeyFile != "" {
		k, err := readKey(o.KeyFile)
		if err != nil {
			return nil, err
		}
		v.key = k
		if o.Public == nil {
			v.o.Public = k.verify
		}
	}
	if v.o.Public == nil {
		return nil, errors.New("give the public key of the log")
	}
	v.report.Origin = v.o.Public.Name()
	defer v.close()
	if err := v.snapshot(); errors.Is(err, os.ErrNotExist) {
		v.report.found(FaultMissing, folder, 0, "there is no log here")
		return v.report, nil
	} else if errors.Is(err, regularfile.ErrNotRegular) {
		v.report.found(FaultMissing, entriesFile, 0, "%v", regularfile.ErrNotRegular)
		return v.report, nil
	} else if err != nil {
		return nil, fmt.Errorf("audit log %s: %w", folder, err)
	}
	err := v.readFolderNotes()
	if err == nil {
		err = v.run()
	}
	if err != nil {
		return nil, fmt.Errorf("audit log %s: %w", folder, err)
	}
	return v.report, nil
}

func newVerifier(folder string, o VerifyOptions) *verifier {
	v := &verifier{folder: folder, o: o, report: &Report{Findings: []Finding{}}, bySize: map[int64][]*signedNote{}, long: map[int64]bool{}}
	if o.Public != nil {
		v.report.Origin = o.Public.Name()
	}
	return v
}

type verifier struct {
	folder      string
	o           VerifyOptions
	key         *key
	report      *Report
	lines, tree io.ReaderAt // tree is nil where there is none
	opened      []*os.File
	size        int64       // of entries.jsonl
	hashes      int64       // whole ones in tree
	noteFile    io.ReaderAt // checkpoints
	noteSize    int64
	noNotes     error          // why there are none to read
	noteFaults  int            // told of the checkpoints file
	long        map[int64]bool // lines, from 1, that were told to be too long
	otherKey    bool           // was told of the line that says so
	differences int            // that diagnose has seen
	notes       []*signedNote
	bySize      map[int64][]*signedNote
	lostPage    bool        // the tree lacks hashes, which was told
	unstamped   []int64     // lines, from 1
	values      *valueCheck // nil: not looked at
}

// snapshot opens the files and notes where they end, between two groups of a
// host that may be writing. In a folder that cannot be locked nobody writes.
func (v *verifier) snapshot() error {
	if err := regularfile.Check(filepath.Join(v.folder, entriesFile)); err != nil {
		return err
	}
	lock := newLock(v.folder, 0)
	if err := takeLock(lock, lockTime); err == nil {
		defer func() { _ = lock.Unlock() }()
	} else if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
		return err
	}
	var err error
	if v.lines, v.size, err = v.open(entriesFile); err != nil {
		return err
	}
	tree, size, err := v.open(treeFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		v.report.found(FaultTree, treeFile, 0, "is not there; opening the log makes it again")
	case errors.Is(err, regularfile.ErrNotRegular):
		v.report.found(FaultTree, treeFile, 0, "%v; delete it, opening the log makes it again", regularfile.ErrNotRegular)
	case err != nil:
		return err
	default:
		v.readTree(tree, size)
	}
	v.noteFile, v.noteSize, err = v.open(checkpointsFile)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, regularfile.ErrNotRegular) {
		v.noNotes = err
		return nil
	}
	return err
}

// open opens a file and gives how long it is now; it is closed with v.
func (v *verifier) open(name string) (io.ReaderAt, int64, error) {
	f, err := regularfile.Open(filepath.Join(v.folder, name), os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err // no interface of a nil file
	}
	v.opened = append(v.opened, f)
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (v *verifier) close() {
	for _, f := range v.opened {
		_ = f.Close() // only read
	}
}

func (v *verifier) readTree(tree io.ReaderAt, size int64) {
	v.tree, v.hashes = tree, size/tlog.HashSize
	if more := size % tlog.HashSize; more > 0 {
		v.report.found(FaultTree, treeFile, 0, "ends with %d bytes that are no hash; opening the log puts it right", more)
	}
}

// run reads the lines once. Only where they do not go with the tree or with
// their own numbers are they read again, to say how.
func (v *verifier) run() error {
	if v.key != nil {
		v.values = newValueCheck(v.folder, v.key, v.report)
		defer v.values.close()
	}
	var edge frontier
	var n int64
	sound := true
	torn, err := v.eachLine(func(line []byte, leaf tlog.Hash) error {
		if v.leafInTree(n) != leaf {
			sound = false
		}
		if _, err := edge.grow(n, leaf); err != nil {
			return err
		}
		if line == nil {
			v.tooLong(n)
		}
		e, err := ReadEntry(line)
		if err != nil || e.Seq != n {
			sound = false
		}
		switch {
		case e == nil:
		case v.key != nil && !v.key.stamped(line, e):
			v.unstamped = append(v.unstamped, n+1)
		default:
			v.note(n, e)
		}
		n++
		return v.holdAgainst(edge, n)
	})
	if err != nil {
		return err
	}
	root, err := edge.root(n)
	if err != nil {
		return err
	}
	v.report.Entries, v.report.Root = n, root.String()
	if torn > 0 {
		v.report.found(FaultTorn, entriesFile, n+1, "the last line is not whole (%d bytes without an end); opening the log cuts it off", torn)
	}
	if !sound || v.hashes != tlog.StoredHashCount(n) {
		if err := v.diagnose(n); err != nil {
			return err
		}
	} else if err := v.wholeTree(n); err != nil {
		return err
	}
	v.holdNotes(n)
	v.tellUnstamped()
	if v.values != nil {
		v.values.back()
		v.whileVerifying()
		v.values.end()
		return v.values.failed
	}
	return nil
}

// whileVerifying takes in what a host has written since verify began: an entry
// there may say why a value is gone by now.
func (v *verifier) whileVerifying() {
	file, err := regularfile.Open(filepath.Join(v.folder, entriesFile), os.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return
	}
	in := newLineReader(file, v.size, info.Size())
	for {
		line, _, err := in.next()
		if err != nil {
			return
		}
		if e, err := ReadEntry(line); err == nil && v.key.stamped(line, e) {
			v.values.says(e)
		}
	}
}

// tellUnstamped tells of lines that the log's key did not make, where nothing
// else has told what happened to them.
func (v *verifier) tellUnstamped() {
	told := map[int64]bool{}
	for _, f := range v.report.Findings {
		told[f.Line] = told[f.Line] || f.File == entriesFile
	}
	for i, line := range v.unstamped {
		if i > maxFindings {
			v.report.found(FaultForged, entriesFile, line, "and more from here on")
			return
		}
		if !told[line] {
			v.report.found(FaultForged, entriesFile, line, "the line does not carry the stamp of this log's key: no host of this log wrote it")
		}
	}
}

// tooLong tells of a line that is no entry by its length alone.
func (v *verifier) tooLong(n int64) {
	v.long[n+1] = true
	switch told := len(v.long); {
	case told <= maxFindings:
		v.report.found(FaultEdited, entriesFile, n+1, "%v", errLongLine)
	case told == maxFindings+1:
		v.report.found(FaultEdited, entriesFile, n+1, "%v, and more are from here on", errLongLine)
	}
}

// note takes what the report tells of an entry.
func (v *verifier) note(n int64, e *Entry) {
	if v.report.First.IsZero() {
		v.report.First = e.At
	}
	v.report.Last = e.At
	if e.Begin != nil && e.Begin.Origin != v.report.Origin && !v.otherKey {
		v.otherKey = true
		v.report.found(FaultKey, entriesFile, n+1, "the log began as %q, this is not the key of that", e.Begin.Origin)
	}
	if e.Kind == Recovered {
		v.report.Recoveries++
	}
	if v.values != nil {
		v.values.look(e)
	}
}

// leafInTree is the hash that the tree file has of a line; zero where it has none.
func (v *verifier) leafInTree(n int64) (h tlog.Hash) {
	at := tlog.StoredHashIndex(0, n)
	if v.tree == nil || at >= v.hashes {
		return tlog.Hash{}
	}
	if _, err := v.tree.ReadAt(h[:], at*tlog.HashSize); err != nil {
		return tlog.Hash{}
	}
	return h
}

// wholeTree holds the inner hashes of the tree file against its leaves, which
// are known to be the lines'.
func (v *verifier) wholeTree(n int64) error {
	in := bufio.NewReaderSize(io.NewSectionReader(v.tree, 0, v.hashes*tlog.HashSize), int(min(v.hashes*tlog.HashSize, 1<<20)))
	var edge frontier
	var got tlog.Hash
	for i := range n {
		if _, err := io.ReadFull(in, got[:]); err != nil {
			return err
		}
		want, err := edge.grow(i, got)
		if err != nil {
			return err
		}
		for _, h := range want[1:] {
			if _, err := io.ReadFull(in, got[:]); err != nil {
				return err
			}
			if got != h {
				v.report.found(FaultTree, treeFile, 0, "an inner hash after entry %d is wrong; delete the file, opening the log makes it again", i)
				return nil
			}
		}
	}
	return nil
}

// eachLine gives every whole line, without its end, with its hash, and the
// length of a torn one. A line that is too long for an entry is nil.
func (v *verifier) eachLine(do func(line []byte, leaf tlog.Hash) error) (torn int64, err error) {
	in := newLineReader(v.lines, 0, v.size).withHashes()
	for {
		line, size, err := in.next()
		switch {
		case err == nil:
			err = do(line, tlog.RecordHash(line))
		case errors.Is(err, errLongLine):
			err = do(nil, in.longLeaf())
		case errors.Is(err, io.EOF):
			return size, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// holdAgainst marks the checkpoints of n entries.
func (v *verifier) holdAgainst(edge frontier, n int64) error {
	for _, c := range v.bySize[n] {
		root, err := edge.root(n)
		if err != nil {
			return err
		}
		c.known, c.wrong = true, root != c.Root
	}
	return nil
}
