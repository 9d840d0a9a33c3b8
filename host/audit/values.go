package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/toolhost/toolhost/host/regularfile"
)

// values/ has one file for each day, in UTC, in which sealed texts lie one after
// the other. An entry says where its own are; what no entry names is the rest
// of a crash, and sealed.

const valuesFolder = "values"

var dayForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// A valueFile is the file of one day, open to append.
type valueFile struct {
	datasync func(*os.File) error
	day      string
	file     *os.File
	info     os.FileInfo // of file
	dirty    bool        // written to, and not synced
	failed   error       // of sync: it is told once, and asked again the disk says that all is well
}

// of opens the file of a day, and closes yesterday's, or one that was deleted.
func (v *valueFile) of(folder, day string) error {
	dir := filepath.Join(folder, valuesFolder)
	path := filepath.Join(dir, day)
	if v.day == day && v.file != nil && isAt(v.info, path) {
		return nil
	}
	if err := v.sync(); err != nil {
		return err
	}
	v.close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := regularfile.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err = errors.Join(err, syncFolder(dir), syncFolder(folder)); err != nil {
		_ = f.Close() // the first error is the one to tell
		return err
	}
	v.day, v.file, v.info = day, f, info
	return nil
}

// isAt tells whether an open file is still the one of that name.
func isAt(held os.FileInfo, path string) bool {
	named, err := os.Stat(path)
	return err == nil && os.SameFile(named, held)
}

// append puts texts at the end of the file and gives where it began. What
// could not be written whole is cut off again.
func (v *valueFile) append(data []byte) (at int64, err error) {
	at, err = v.file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	if _, err := v.file.WriteAt(data, at); err != nil {
		return 0, errors.Join(err, v.file.Truncate(at))
	}
	v.dirty = true
	return at, nil
}

// sync waits until what was written is on disk.
func (v *valueFile) sync() error {
	if !v.dirty {
		return nil
	}
	if v.failed == nil {
		v.failed = v.datasync(v.file)
	}
	if v.failed != nil {
		return fmt.Errorf("%s: %w", valuesFolder, v.failed)
	}
	v.dirty = false
	return nil
}

func (v *valueFile) close() {
	if v.file != nil {
		_ = v.file.Close() // every write was synced
	}
	v.day, v.file, v.info, v.dirty, v.failed = "", nil, nil, false, nil
}

var errShort = errors.New("is too short")

// readValue reads sealed bytes. The error tells os.ErrNotExist where the day's
// file is gone.
func readValue(folder string, at SealedRef) ([]byte, error) {
	if !dayForm.MatchString(at.File) || at.At < 0 || at.Bytes <= 0 || at.Bytes > maxSealed {
		return nil, fmt.Errorf("no sealed values can lie at %q, %d", at.File, at.At)
	}
	f, err := regularfile.Open(filepath.Join(folder, valuesFolder, at.File), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if at.At > info.Size()-int64(at.Bytes) { // before so much memory is taken
		return nil, fmt.Errorf("values/%s: %w: it has %d bytes, expected %d from %d on", at.File, errShort, info.Size(), at.Bytes, at.At)
	}
	blob := make([]byte, at.Bytes)
	if _, err := f.ReadAt(blob, at.At); err != nil {
		return nil, fmt.Errorf("values/%s: %w", at.File, err)
	}
	return blob, nil
}

// maxSealed bounds what is sealed of one event.
const maxSealed = 64 << 20

// expiredFiles gives the files of days before the given one.
func expiredFiles(folder, before string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(folder, valuesFolder))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if dayForm.MatchString(e.Name()) && e.Name() < before {
			out = append(out, filepath.Join(folder, valuesFolder, e.Name()))
		}
	}
	return out, err
}
