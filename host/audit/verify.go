package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"golang.org/x/mod/sumdb/tlog"
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
	} else if err != nil {
		return nil, fmt.Errorf("audit log %s: %w", folder, err)
	}
	if err := v.run(); err != nil {
		return nil, fmt.Errorf("audit log %s: %w", folder, err)
	}
	return v.report, nil
}

func newVerifier(folder string, o VerifyOptions) *verifier {
	v := &verifier{folder: folder, o: o, report: &Report{Findings: []Finding{}}, bySize: map[int64][]*signedNote{}}
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
	size        int64 // of entries.jsonl
	hashes      int64 // whole ones in tree
	notes       []*signedNote
	bySize      map[int64][]*signedNote
	values      *valueCheck // nil: not looked at
}

// signedNote is a checkpoint that verified, and where it came from.
type signedNote struct {
	Checkpoint
	kept   string // "": from the folder
	number int    // in the folder, from 1
	known  bool   // the log reached its size
	wrong  bool   // and had another root
}

// snapshot opens the files and notes where they end, between two groups of a
// host that may be writing. In a folder that cannot be locked nobody writes.
func (v *verifier) snapshot() error {
	if _, err := os.Stat(filepath.Join(v.folder, entriesFile)); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(v.folder, "lock"), flock.SetFlag(os.O_RDONLY))
	if err := takeLock(lock, lockTime); err == nil {
		defer func() { _ = lock.Unlock() }()
	} else if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
		return err
	}
	lines, size, err := v.open(entriesFile)
	if err != nil {
		return err
	}
	v.lines, v.size = lines, size
	tree, size, err := v.open(treeFile)
	if errors.Is(err, os.ErrNotExist) {
		v.report.found(FaultTree, treeFile, 0, "is not there; opening the log makes it again")
	} else if err != nil {
		return err
	} else {
		v.readTree(tree, size)
	}
	notes, err := os.ReadFile(filepath.Join(v.folder, checkpointsFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	v.readNotes(notes)
	return nil
}

// open opens a file and gives how long it is now; it is closed with v.
func (v *verifier) open(name string) (io.ReaderAt, int64, error) {
	f, size, err := openSized(filepath.Join(v.folder, name))
	if err != nil {
		return nil, 0, err // no interface of a nil file
	}
	v.opened = append(v.opened, f)
	return f, size, nil
}

func openSized(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // the first error is the one to tell
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

// readNotes opens every checkpoint, those of the folder and those from outside.
func (v *verifier) readNotes(data []byte) {
	notes, torn := splitNotes(data)
	v.report.Checkpoints = len(notes)
	last := int64(-1)
	for i, n := range notes {
		c, err := openCheckpoint(n, v.o.Public)
		if err != nil {
			v.report.found(faultOf(err), checkpointsFile, int64(i+1), "checkpoint %d %v", i+1, err)
			continue
		}
		if c.Entries < last {
			v.report.found(FaultCheckpoint, checkpointsFile, int64(i+1), "checkpoint %d, of %d entries, follows one of %d", i+1, c.Entries, last)
		}
		last = c.Entries
		v.take(&signedNote{Checkpoint: c, number: i + 1})
	}
	if len(torn) > 0 {
		v.report.found(FaultTorn, checkpointsFile, int64(len(notes)+1), "the last checkpoint is not whole (%d bytes); opening the log cuts it off", len(torn))
	}
	for _, k := range v.o.Kept {
		c, err := openCheckpoint(k.Note, v.o.Public)
		if err != nil {
			v.report.found(faultOf(err), k.Name, 0, "the checkpoint %v", err)
			continue
		}
		v.take(&signedNote{Checkpoint: c, kept: k.Name})
		if c.Entries > last && k.Name == StateName {
			v.report.found(FaultCut, checkpointsFile, 0, "ends with a checkpoint of %d entries, %s knows one of %d", max(last, 0), k.Name, c.Entries)
		}
	}
}

func (v *verifier) take(n *signedNote) {
	v.notes = append(v.notes, n)
	v.bySize[n.Entries] = append(v.bySize[n.Entries], n)
}

// StateName is the name of the checkpoint that the state database keeps.
const StateName = "the state database"

// faultOf tells a foreign signature from a damaged one.
func faultOf(err error) Fault {
	if errors.Is(err, errOtherKey) {
		return FaultKey
	}
	return FaultCheckpoint
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
	torn, err := v.eachLine(func(line []byte) error {
		leaf := tlog.RecordHash(line)
		if v.leafInTree(n) != leaf {
			sound = false
		}
		if _, err := edge.grow(n, leaf); err != nil {
			return err
		}
		e, err := ReadEntry(line)
		if err != nil || e.Seq != n {
			sound = false
		}
		if e != nil {
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
	if v.values != nil {
		v.values.end()
	}
	return nil
}

// note takes what the report tells of an entry.
func (v *verifier) note(n int64, e *Entry) {
	if v.report.First.IsZero() {
		v.report.First = e.At
	}
	v.report.Last = e.At
	if e.Begin != nil && e.Begin.Origin != v.report.Origin {
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

// eachLine gives every whole line, without its end, and the length of a torn one.
func (v *verifier) eachLine(do func([]byte) error) (torn int, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(v.lines, 0, v.size), int(min(v.size, 1<<20)))
	var line []byte
	for {
		line = line[:0]
		for {
			part, err := in.ReadSlice('\n')
			line = append(line, part...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if errors.Is(err, io.EOF) {
				return len(line), nil
			}
			if err != nil {
				return 0, err
			}
			break
		}
		if err := do(line[:len(line)-1]); err != nil {
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
