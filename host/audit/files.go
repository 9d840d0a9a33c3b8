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
	values      valueFile

	entries  int64 // how many lines
	bytes    int64 // of entries.jsonl
	edge     frontier
	last     Checkpoint // the last one, zero where there is none
	repaired *Recovery  // not told yet; the Log's, which outlives this
	ahead    []held     // not reached yet by who reads on
}

// openFiles opens the files of a log and holds their end against the last
// checkpoint in the folder, the one that the state database keeps, and what
// this process has seen of the log (A6).
func openFiles(o Options, k *key, seen Checkpoint, repaired *Recovery) (*openLog, error) {
	f := &openLog{folder: o.Folder, key: k, repaired: repaired}
	for name, into := range map[string]**os.File{entriesFile: &f.lines, treeFile: &f.tree, checkpointsFile: &f.checkpoints} {
		opened, err := regularfile.Open(filepath.Join(o.Folder, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			f.close()
			return nil, err
		}
		*into = opened
	}
	if err := errors.Join(syncFolder(o.Folder), f.recover(o.State, seen)); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// append writes a group of entries: what is sealed, the lines, their hashes.
// On an error the lines are as they were, or the caller opens the log again.
func (f *openLog) append(group []*prepared, day string, sync bool) error {
	refs, err := f.appendSealed(group, day, sync)
	if err != nil {
		return fmt.Errorf("%s: %w", valuesFolder, err)
	}
	var lines, hashes []byte
	edge := f.edge.clone()
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
	_, err = f.lines.WriteAt(lines, f.bytes)
	if err == nil && sync {
		err = f.lines.Sync()
	}
	if err != nil {
		return errors.Join(err, f.lines.Truncate(f.bytes))
	}
	place := tlog.StoredHashCount(f.entries) * tlog.HashSize
	if _, err := f.tree.WriteAt(hashes, place); err != nil {
		return errors.Join(err, f.tree.Truncate(place), f.lines.Truncate(f.bytes), f.lines.Sync()) // or a power cut brings them back
	}
	f.edge, f.entries, f.bytes = edge, f.entries+int64(len(group)), f.bytes+int64(len(lines))
	return nil
}

// appendSealed writes what a group has sealed, and says where.
func (f *openLog) appendSealed(group []*prepared, day string, sync bool) ([][]SealedRef, error) {
	var blobs []byte
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
	if err := f.values.of(f.folder, day); err != nil {
		return nil, err
	}
	at, err := f.values.append(blobs, sync)
	for i := range refs {
		for j := range refs[i] {
			refs[i][j].At += at
		}
	}
	return refs, err
}

func (f *openLog) sinceCheckpoint() int64 { return f.entries - f.last.Entries }

// gone tells whether the folder is another one by now, or nowhere.
func (f *openLog) gone(folder string) bool {
	for name, file := range map[string]*os.File{entriesFile: f.lines, treeFile: f.tree, checkpointsFile: f.checkpoints} {
		if !isAt(file, filepath.Join(folder, name)) {
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
