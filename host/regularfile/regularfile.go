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
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("must be a regular file of at most %d bytes", most)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("must be a regular file of at most %d bytes", most)
	}
	return data, err
}
