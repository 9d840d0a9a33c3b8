package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"
)

// Where a log ends is found from its last checkpoint on, and what others write
// is followed from there. What a crash has left is put right only where all
// that is read is as the checkpoints and the tree say (A6, A7).

// A held checkpoint is one that the log must not contradict.
type held struct {
	Checkpoint
	which string
}

// recover finds the end of the log from its last checkpoint on. Nothing is
// written before all is known to be as the checkpoints say (A6).
func (f *openLog) recover(state Keeper, seen Checkpoint) error {
	torn, err := f.lastCheckpoint()
	if err != nil {
		return err
	}
	if err := f.standAtCheckpoint(); err != nil {
		return err
	}
	hold := []held{{f.last, "the last checkpoint"}, {seen, "this process"}}
	kept, err := state.Checkpoint()
	if err != nil {
		return err
	}
	if kept != nil {
		c, err := openCheckpoint(kept, f.key.verify)
		if err != nil {
			return fmt.Errorf("the checkpoint that the state database keeps %w: this is another log than the one it knows; "+
				"put that one back with its key, or move folder, key and state database away together to begin a new one", err)
		}
		hold = append(hold, held{c, "the checkpoint that the state database keeps"})
	}
	for _, h := range hold {
		if h.Entries > f.entries {
			f.ahead = append(f.ahead, h)
			continue
		}
		_, root, err := frontierAt(f.tree, h.Entries)
		if err != nil {
			return err
		}
		if err := h.against(root); err != nil {
			return err
		}
	}
	if err := f.follow(); err != nil {
		return err
	}
	f.ahead = nil
	return f.cutCheckpoint(torn)
}

// against sees to it that a checkpoint is one of this log's past, in which the
// root was the given one.
func (h held) against(root tlog.Hash) error {
	if h.Entries > 0 && h.Root != root {
		return fmt.Errorf("is not the log of %s, of %d entries; see: toolhost audit verify", h.which, h.Entries)
	}
	return nil
}

// lastCheckpoint reads the last checkpoint, and the length of a torn one.
func (f *openLog) lastCheckpoint() (torn int64, err error) {
	info, err := f.checkpoints.Stat()
	if err != nil {
		return 0, err
	}
	last, torn, err := lastNote(f.checkpoints, info.Size())
	if err != nil {
		return 0, fmt.Errorf("%s: its end %w", checkpointsFile, err)
	}
	if last == nil {
		return torn, nil
	}
	if f.last, err = openCheckpoint(last, f.key.verify); err != nil {
		err = fmt.Errorf("%s: the last one %w", checkpointsFile, err)
	}
	return torn, err
}

// cutCheckpoint cuts off what was never a whole checkpoint.
func (f *openLog) cutCheckpoint(torn int64) error {
	if torn == 0 {
		return nil
	}
	if err := roomIn(f.folder); err != nil {
		return err
	}
	info, err := f.checkpoints.Stat()
	if err == nil {
		err = f.checkpoints.Truncate(info.Size() - torn)
	}
	if err == nil {
		f.repaired.CheckpointBytes += torn
	}
	return err
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
	f.end = end{edge, f.last.Entries, f.last.Bytes}
	return nil
}

// follow reads the lines that were written since, makes sure that the tree has
// their hashes, and cuts a torn last line. It writes once all lines are read.
func (f *openLog) follow() error {
	info, err := f.lines.Stat()
	if err != nil {
		return err
	}
	if info.Size() < f.bytes {
		return fmt.Errorf("%s has %d bytes, it had %d: its end was cut off; see: toolhost audit verify", entriesFile, info.Size(), f.bytes)
	}
	var missing []byte // hashes that the tree lacks, from the place missingAt on
	var missingAt, torn int64
	look := sealedLook{f: f}
	defer look.close()
	if info.Size() > f.bytes {
		if missing, missingAt, torn, err = f.readOn(info.Size(), &look); err != nil {
			return err
		}
	}
	for _, h := range f.ahead {
		if h.Entries > f.entries {
			return fmt.Errorf("holds %d entries, %s knows %d: its end was cut off; see: toolhost audit verify", f.entries, h.which, h.Entries)
		}
	}
	more, err := f.moreInTree()
	if err != nil {
		return err
	}
	if torn > 0 || len(missing) > 0 {
		if err := roomIn(f.folder); err != nil {
			return err // or it could not be told, which is to be an entry (A7)
		}
	}
	if torn > 0 {
		if err := f.lines.Truncate(f.bytes); err != nil {
			return err
		}
		f.repaired.EntryBytes += torn
	}
	if len(missing) > 0 {
		if err := errors.Join(look.sync(), f.lines.Sync()); err != nil { // the tree is never ahead of what is on disk
			return err
		}
		if _, err := f.tree.WriteAt(missing, missingAt*tlog.HashSize); err != nil {
			return err
		}
		f.repaired.Hashes += int64(len(missing) / tlog.HashSize)
	} else if more < 0 {
		return fmt.Errorf("%s ends before the lines do; see: toolhost audit verify", treeFile)
	} else if more > 0 {
		return f.tree.Truncate(tlog.StoredHashCount(f.entries) * tlog.HashSize) // a part of a hash
	}
	return nil
}

// readOn takes in the lines from where the log ended up to a size of the file.
// It gives the hashes that the tree lacks, with the place of the first, and the
// length of a line that is not whole.
func (f *openLog) readOn(size int64, look *sealedLook) (missing []byte, missingAt, torn int64, err error) {
	in := newLineReader(f.lines, f.bytes, size)
	for {
		line, bytes, err := in.next()
		if errors.Is(err, io.EOF) {
			return missing, missingAt, bytes, nil
		} else if err != nil {
			return nil, 0, 0, fmt.Errorf("%s, line %d: %w; see: toolhost audit verify", entriesFile, f.entries+1, err)
		}
		place := tlog.StoredHashCount(f.entries)
		if lost, err := look.lost(line, place); err != nil {
			return nil, 0, 0, err
		} else if lost {
			return missing, missingAt, size - f.bytes, nil
		}
		hashes, err := f.next(line)
		if err != nil && f.lostPage(line, place) {
			return missing, missingAt, size - f.bytes, nil
		} else if err != nil {
			return nil, 0, 0, err
		}
		if len(missing) == 0 {
			have, err := f.has(place, hashes)
			if err != nil {
				return nil, 0, 0, err
			}
			if have {
				continue
			}
			missingAt = place
		}
		missing = appendHashes(missing, hashes)
	}
}

// lostPage tells whether a line has bytes that a crash of the machine kept from
// the disk, which are zero. No answer of it, or of what follows, has left: the
// tree is written after the lines are synced, and has nothing of it.
func (f *openLog) lostPage(line []byte, place int64) bool {
	return bytes.IndexByte(line, 0) >= 0 && f.unhashed(place)
}

// unhashed tells whether the tree file has no hash at a place.
func (f *openLog) unhashed(place int64) bool {
	var have tlog.Hash
	n, err := f.tree.ReadAt(have[:], place*tlog.HashSize)
	return (err == nil || errors.Is(err, io.EOF)) && (n < len(have) || have == tlog.Hash{})
}

// next takes a line into the tree's edge and gives the hashes to store.
func (f *openLog) next(text []byte) ([]tlog.Hash, error) {
	e, err := ReadEntry(text)
	if err != nil {
		return nil, fmt.Errorf("%s, line %d: %w; see: toolhost audit verify", entriesFile, f.entries+1, err)
	}
	if e.Seq != f.entries {
		return nil, fmt.Errorf("%s, line %d: holds entry %d, expected %d; see: toolhost audit verify", entriesFile, f.entries+1, e.Seq, f.entries)
	}
	if !f.key.stamped(text, e) {
		return nil, fmt.Errorf("%s, line %d: was not written with this log's key; see: toolhost audit verify", entriesFile, f.entries+1)
	}
	if e.Begin != nil && e.Begin.Origin != f.key.origin() {
		return nil, fmt.Errorf("%s, line %d: the log began as %q, the key is of %s", entriesFile, f.entries+1, e.Begin.Origin, f.key.origin())
	}
	hashes, err := f.edge.grow(f.entries, tlog.RecordHash(text))
	if err != nil {
		return nil, err
	}
	f.entries++
	f.bytes += int64(len(text)) + 1
	for _, h := range f.ahead {
		if h.Entries != f.entries {
			continue
		}
		root, err := f.edge.root(f.entries)
		if err != nil {
			return nil, err
		}
		if err := h.against(root); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// has tells whether the tree file has the hashes of a line. Where it lacks one
// (it ends, or is empty where a crash of the machine lost a page), false; where
// it has another, the line is not the one that was written.
func (f *openLog) has(place int64, hashes []tlog.Hash) (bool, error) {
	got := make([]byte, len(hashes)*tlog.HashSize)
	n, err := f.tree.ReadAt(got, place*tlog.HashSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	all := true
	for i, want := range hashes {
		have := tlog.Hash(got[i*tlog.HashSize:])
		switch {
		case (i+1)*tlog.HashSize > n || have == tlog.Hash{}:
			all = false
		case have != want:
			return false, fmt.Errorf("%s, line %d: is not the line that was written, by its hash in %s; see: toolhost audit verify", entriesFile, f.entries, treeFile)
		}
	}
	return all, nil
}

// moreInTree tells how many bytes the tree has more than the lines need. It is
// written after them: a tree with more hashes tells of lines that are gone.
func (f *openLog) moreInTree() (int64, error) {
	info, err := f.tree.Stat()
	if err != nil {
		return 0, err
	}
	more := info.Size() - tlog.StoredHashCount(f.entries)*tlog.HashSize
	if more >= tlog.HashSize {
		return 0, fmt.Errorf("%s has the hashes of more entries than the %d that there are: their end was cut off; see: toolhost audit verify", treeFile, f.entries)
	}
	return more, nil
}
