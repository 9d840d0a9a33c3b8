// Package regularfile reads files that an operator names, without being held
// up or filled by what is no regular file.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Read reads a regular file of at most the given number of bytes. The open
// itself does not block (a FIFO would), and the handle that was looked at is
// the one that is read. An error does not name the path, which the caller has
// in the form that its reader knows; errors.Is finds os.ErrNotExist.
func Read(path string, most int64) ([]byte, error) {
	data, err := read(path, most)
	var e *os.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return data, err
}

func read(path string, most int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0)
	if errors.Is(err, ErrNotRegular) {
		return nil, fmt.Errorf("must be a regular file of at most %d bytes", most)
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("must be a regular file of at most %d bytes", most)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("must be a regular file of at most %d bytes", most)
	}
	return data, err
}

// ErrNotRegular says that something else lies where a file should.
var ErrNotRegular = errors.New("is no regular file")

// Open is os.OpenFile for a regular file, or a link to one. The open does not
// wait, and what was looked at is what is read. Anything else is ErrNotRegular.
func Open(path string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
	if err != nil {
		if strange := Check(path); errors.Is(strange, ErrNotRegular) {
			return nil, strange // a socket cannot be opened at all, nor a folder to write
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		_ = f.Close() // the first error is the one to tell
		return nil, err
	}
	return f, nil
}

// Check is for files that others open by their name. Where there is none the
// error is os.ErrNotExist.
func Check(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	return err
}
