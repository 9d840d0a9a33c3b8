package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/regularfile"
)

// Exists tells whether there is a log in a folder.
func Exists(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, entriesFile))
	return !errors.Is(err, os.ErrNotExist)
}

// Look says whether a host could write to this log, as far as that can be told
// without writing: nil where there is none yet and nothing speaks against one.
func Look(o Options) error {
	kept, err := o.State.Checkpoint()
	if err != nil {
		return err
	}
	lines, err := os.Stat(filepath.Join(o.Folder, entriesFile))
	switch {
	case errors.Is(err, os.ErrNotExist) && kept == nil:
		return nil
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("audit log %s: is not there, but the state database knows it", o.Folder)
	case err != nil:
		return fmt.Errorf("audit log: %w", err)
	}
	for _, name := range []string{entriesFile, treeFile, checkpointsFile, peopleFile} {
		if err := regularDB(filepath.Join(o.Folder, name)); errors.Is(err, regularfile.ErrNotRegular) {
			return fmt.Errorf("audit log: %w", err)
		}
	}
	k, err := readKey(o.Key)
	if errors.Is(err, os.ErrNotExist) && lines.Size() == 0 {
		return nil
	} else if err != nil {
		return err
	}
	if err := writable(o.Folder); err != nil {
		return fmt.Errorf("audit log %s: %w", o.Folder, err)
	}
	last, err := lookAtLast(o.Folder, k)
	if err != nil || kept == nil {
		return err
	}
	c, err := openCheckpoint(kept, k.verify)
	switch {
	case err != nil:
		return fmt.Errorf("audit log %s: the checkpoint that the state database keeps %w", o.Folder, err)
	case c.Entries > last.Entries:
		return fmt.Errorf("audit log %s: its last checkpoint is of %d entries, the state database knows one of %d: its end was cut off; see: toolhost audit verify",
			o.Folder, last.Entries, c.Entries)
	}
	return nil
}

// lookAtLast opens the last checkpoint of the folder.
func lookAtLast(folder string, k *key) (c Checkpoint, err error) {
	f, err := regularfile.Open(filepath.Join(folder, checkpointsFile), os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return c, fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, fmt.Errorf("audit log: %w", err)
	}
	last, _, err := lastNote(f, info.Size())
	if err == nil && last != nil {
		c, err = openCheckpoint(last, k.verify)
	}
	if err != nil {
		return c, fmt.Errorf("audit log %s: %s: the last one %w", folder, checkpointsFile, err)
	}
	return c, nil
}
