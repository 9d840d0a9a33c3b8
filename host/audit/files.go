package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/toolhost/toolhost/host/regularfile"
)

const (
	entriesFile     = "entries.jsonl"
	treeFile        = "tree"
	checkpointsFile = "checkpoints"
)

// An openLog is the files of a log, and where they end. It is used with the
// folder's lock held.
type openLog struct {
	folder      string
	key         *key
	lines       *os.File // entries.jsonl
	tree        *os.File
	checkpoints *os.File
	infos       map[string]os.FileInfo // of these, by name
	values      valueFile
	datasync    func(*os.File) error

	end            // of what was written
	durable end    // of what is on disk, while lines are pending
	hashes  []byte // of the pending lines

	lineSpace, blobSpace []byte // to write a group from

	last     Checkpoint // the last one, zero where there is none
	repaired *Recovery  // not told yet; the Log's, which outlives this
	ahead    []held     // not reached yet by who reads on
}

// An end is where a log ends.
type end struct {
	edge    frontier
	entries int64 // how many lines
	bytes   int64 // of entries.jsonl
}

// openFiles opens the files of a log and holds their end against the last
// checkpoint in the folder, the one that the state database keeps, and what
// this process has seen of the log (A6).
func openFiles(o Options, k *key, seen Checkpoint, repaired *Recovery) (*openLog, error) {
	f := &openLog{
		folder: o.Folder, key: k, repaired: repaired, infos: map[string]os.FileInfo{},
		values: valueFile{datasync: o.datasync}, datasync: o.datasync,
	}
	for name, into := range map[string]**os.File{entriesFile: &f.lines, treeFile: &f.tree, checkpointsFile: &f.checkpoints} {
		opened, err := regularfile.Open(filepath.Join(o.Folder, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			f.close()
			return nil, err
		}
		*into = opened
		if f.infos[name], err = opened.Stat(); err != nil {
			f.close()
			return nil, err
		}
	}
	if err := errors.Join(syncFolder(o.Folder), f.recover(o.State, seen)); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// write puts a group of entries at the end of the files, without waiting for the
// disk: what is sealed, then the lines. On an error the lines are as they were.
func (f *openLog) write(group []*prepared, day string) error {
	refs, err := f.writeSealed(group, day)
	if err != nil {
		return fmt.Errorf("%s: %w", valuesFolder, err)
	}
	lines, hashes, edge := f.lineSpace[:0], f.hashes, f.edge.clone()
	for i, p := range group {
		seq, start := f.entries+int64(i), len(lines)
		lines = f.key.appendTail(append(lines, p.head...), start, seq, refs[i])
		stored, err := edge.grow(seq, tlog.RecordHash(lines[start:]))
		if err != nil {
			return err
		}
		hashes = appendHashes(hashes, stored)
		lines = append(lines, '\n')
	}
	f.lineSpace = kept(lines)
	if _, err := f.lines.WriteAt(lines, f.bytes); err != nil {
		return errors.Join(err, f.lines.Truncate(f.bytes))
	}
	if !f.pending() {
		f.durable = f.end
	}
	f.hashes = hashes
	f.end = end{edge, f.entries + int64(len(group)), f.bytes + int64(len(lines))}
	return nil
}

// pending tells whether lines were written that settle has not seen to.
func (f *openLog) pending() bool { return len(f.hashes) > 0 }

// settle waits until all that was written is on disk, and then writes its hashes:
// the tree has none of a line that a crash can take. On an error what was
// written since the last time is cut off, or the caller opens the log again.
func (f *openLog) settle(sync bool) error {
	if !f.pending() {
		return nil
	}
	if sync {
		if err := f.sync(); err != nil {
			return errors.Join(err, f.cut())
		}
	}
	place := tlog.StoredHashCount(f.durable.entries) * tlog.HashSize
	if _, err := f.tree.WriteAt(f.hashes, place); err != nil {
		return errors.Join(err, f.tree.Truncate(place), f.cut(), f.lines.Sync()) // or a power cut brings them back
	}
	f.hashes = f.hashes[:0]
	return nil
}

// sync waits for the disk, for both files at once: of a line whose sealed text a
// crash has kept from it no answer has left (sealedLook.lost).
func (f *openLog) sync() error {
	sealed := make(chan error, 1)
	go func() { sealed <- f.values.sync() }()
	return errors.Join(f.datasync(f.lines), <-sealed)
}

// cut takes off what was written and is not known to be on disk.
func (f *openLog) cut() error {
	f.end, f.hashes = f.durable, nil
	return f.lines.Truncate(f.bytes)
}

// writeSealed writes what a group has sealed, and says where.
func (f *openLog) writeSealed(group []*prepared, day string) ([][]SealedRef, error) {
	blobs := f.blobSpace[:0]
	refs := make([][]SealedRef, len(group))
	for i, p := range group {
		for _, s := range p.sealed {
			refs[i] = append(refs[i], SealedRef{At: int64(len(blobs)), Bytes: len(s.blob), File: day, Person: s.by.pseudonym})
			blobs = append(blobs, s.blob...)
		}
	}
	if len(blobs) == 0 {
		return refs, nil
	}
	f.blobSpace = kept(blobs)
	if err := f.values.of(f.folder, day); err != nil {
		return nil, err
	}
	at, err := f.values.append(blobs)
	for i := range refs {
		for j := range refs[i] {
			refs[i][j].At += at
		}
	}
	return refs, err
}

// kept is the space of what one group was written from, for the next one; that of
// a large one is given back.
func kept(space []byte) []byte {
	if cap(space) > maxSpace {
		return nil
	}
	return space
}

const maxSpace = 1 << 20

func (f *openLog) sinceCheckpoint() int64 { return f.entries - f.last.Entries }

// gone tells whether the folder is another one by now, or nowhere.
func (f *openLog) gone(folder string) bool {
	for name, held := range f.infos {
		if !isAt(held, filepath.Join(folder, name)) {
			return true
		}
	}
	return false
}

func (f *openLog) close() {
	for _, file := range []*os.File{f.lines, f.tree, f.checkpoints} {
		if file != nil {
			_ = file.Close() // every write that counts was synced
		}
	}
	f.values.close()
}
