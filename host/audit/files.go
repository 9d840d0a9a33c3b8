package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"
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
	repaired Recovery   // not told yet
}

// openFiles opens the files of a log and holds their end against the last
// checkpoint in the folder and the one that the state database keeps (A6).
func openFiles(o Options, k *key) (*openLog, error) {
	f := &openLog{folder: o.Folder, key: k}
	for name, into := range map[string]**os.File{entriesFile: &f.lines, treeFile: &f.tree, checkpointsFile: &f.checkpoints} {
		opened, err := os.OpenFile(filepath.Join(o.Folder, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			f.close()
			return nil, err
		}
		*into = opened
	}
	if err := errors.Join(syncFolder(o.Folder), f.recover(o.State)); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// recover finds the end of the log from its last checkpoint on.
func (f *openLog) recover(state Keeper) error {
	if err := f.lastCheckpoint(); err != nil {
		return err
	}
	if err := f.standAtCheckpoint(); err != nil {
		return err
	}
	if err := f.follow(); err != nil {
		return err
	}
	if err := f.holdAgainst(f.last, "the last checkpoint"); err != nil {
		return err
	}
	kept, err := state.Checkpoint()
	if err != nil || kept == nil {
		return err
	}
	c, err := openCheckpoint(kept, f.key.verify)
	if err != nil {
		return fmt.Errorf("the checkpoint that the state database keeps %w: this is another log than the one it knows; "+
			"put that one back with its key, or move folder, key and state database away together to begin a new one", err)
	}
	return f.holdAgainst(c, "the checkpoint that the state database keeps")
}

// lastCheckpoint reads the last checkpoint and cuts a torn one.
func (f *openLog) lastCheckpoint() error {
	info, err := f.checkpoints.Stat()
	if err != nil {
		return err
	}
	last, torn, err := lastNote(f.checkpoints, info.Size())
	if err != nil {
		return fmt.Errorf("%s: its end %w", checkpointsFile, err)
	}
	if torn > 0 {
		if err := f.checkpoints.Truncate(info.Size() - torn); err != nil {
			return err
		}
		f.repaired.CheckpointBytes += torn
	}
	if last == nil {
		return nil
	}
	c, err := openCheckpoint(last, f.key.verify)
	if err != nil {
		return fmt.Errorf("%s: the last one %w", checkpointsFile, err)
	}
	f.last = c
	return nil
}

// standAtCheckpoint takes the tree as it was at the last checkpoint. Where the
// tree file has less, the whole of it is made anew from the lines.
func (f *openLog) standAtCheckpoint() error {
	info, err := f.tree.Stat()
	if err != nil {
		return err
	}
	if info.Size() < tlog.StoredHashCount(f.last.Entries)*tlog.HashSize {
		return nil // from the first line on
	}
	edge, root, err := frontierAt(f.tree, f.last.Entries)
	if err != nil {
		return err
	}
	if f.last.Entries > 0 && root != f.last.Root {
		return fmt.Errorf("%s does not give the root of the last checkpoint, of %d entries; see: toolhost audit verify", treeFile, f.last.Entries)
	}
	f.edge, f.entries, f.bytes = edge, f.last.Entries, f.last.Bytes
	return nil
}

// holdAgainst sees to it that a checkpoint is one of this log's past.
func (f *openLog) holdAgainst(c Checkpoint, which string) error {
	if c.Entries > f.entries {
		return fmt.Errorf("holds %d entries, %s knows %d: its end was cut off; see: toolhost audit verify", f.entries, which, c.Entries)
	}
	if c.Entries == 0 {
		return nil
	}
	_, root, err := frontierAt(f.tree, c.Entries)
	if err == nil && root != c.Root {
		err = fmt.Errorf("is not the log of %s, of %d entries; see: toolhost audit verify", which, c.Entries)
	}
	return err
}

// follow reads the lines that were written since, makes sure that the tree has
// their hashes, and cuts a torn last line.
func (f *openLog) follow() error {
	info, err := f.lines.Stat()
	if err != nil {
		return err
	}
	if info.Size() < f.bytes {
		return fmt.Errorf("%s has %d bytes, it had %d: its end was cut off; see: toolhost audit verify", entriesFile, info.Size(), f.bytes)
	}
	if info.Size() == f.bytes {
		return f.sameTree()
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f.lines, f.bytes, info.Size()-f.bytes), 1<<20)
	var missing []byte // hashes that the tree lacks, from the place missingAt on
	missingAt := int64(-1)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				f.repaired.EntryBytes += int64(len(line))
				if err := f.lines.Truncate(f.bytes); err != nil {
					return err
				}
			}
			break
		} else if err != nil {
			return err
		}
		place := tlog.StoredHashCount(f.entries)
		hashes, err := f.next(line)
		if err != nil {
			return err
		}
		if missingAt < 0 {
			have, err := f.has(place, hashes)
			if err != nil {
				return err
			}
			if have {
				continue
			}
			missingAt = place
		}
		missing = appendHashes(missing, hashes)
	}
	if missingAt >= 0 {
		f.repaired.Hashes += int64(len(missing) / tlog.HashSize)
		if _, err := f.tree.WriteAt(missing, missingAt*tlog.HashSize); err != nil {
			return err
		}
	}
	return f.sameTree()
}

// next takes a line into the tree's edge and gives the hashes to store.
func (f *openLog) next(line []byte) ([]tlog.Hash, error) {
	text := bytes.TrimSuffix(line, []byte("\n"))
	e, err := ReadEntry(text)
	if err != nil {
		return nil, fmt.Errorf("%s, line %d: %w; see: toolhost audit verify", entriesFile, f.entries+1, err)
	}
	if e.Seq != f.entries {
		return nil, fmt.Errorf("%s, line %d: holds entry %d, expected %d; see: toolhost audit verify", entriesFile, f.entries+1, e.Seq, f.entries)
	}
	hashes, err := f.edge.grow(f.entries, tlog.RecordHash(text))
	if err != nil {
		return nil, err
	}
	f.entries++
	f.bytes += int64(len(line))
	return hashes, nil
}

// has tells whether the tree file has the hashes of a line. Where it has none
// (it ends, or is empty where a crash of the machine lost a page), false; where
// it has others, the line is not the one that was written.
func (f *openLog) has(place int64, hashes []tlog.Hash) (bool, error) {
	want := appendHashes(nil, hashes)
	got := make([]byte, len(want))
	n, err := f.tree.ReadAt(got, place*tlog.HashSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch {
	case bytes.Equal(got, want):
		return true, nil
	case n < len(want) || bytes.Equal(got, make([]byte, len(got))):
		return false, nil
	}
	return false, fmt.Errorf("%s, line %d: is not the line that was written, by its hash in %s; see: toolhost audit verify", entriesFile, f.entries, treeFile)
}

// sameTree sees to it that the tree ends with the lines. It is written after
// them: a tree with more hashes tells of lines that are gone.
func (f *openLog) sameTree() error {
	info, err := f.tree.Stat()
	if err != nil {
		return err
	}
	want := tlog.StoredHashCount(f.entries) * tlog.HashSize
	switch more := info.Size() - want; {
	case more >= tlog.HashSize:
		return fmt.Errorf("%s has the hashes of more entries than the %d that there are: their end was cut off; see: toolhost audit verify", treeFile, f.entries)
	case more > 0:
		return f.tree.Truncate(want)
	case more < 0:
		return fmt.Errorf("%s ends before the lines do; see: toolhost audit verify", treeFile)
	}
	return nil
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
		lines = appendTail(append(lines, p.head...), seq, refs[i])
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
		return errors.Join(err, f.tree.Truncate(place), f.lines.Truncate(f.bytes))
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
		named, err := os.Stat(filepath.Join(folder, name))
		held, heldErr := file.Stat()
		if err != nil || heldErr != nil || !os.SameFile(named, held) {
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
