package audit

import (
	"errors"
	"os"
	"syscall"
)

// Who can write to the folder of a log can put a FIFO or a device where a file
// is expected: to open one waits for ever, to read one never ends. So what is
// no regular file is never read. A link to a regular file is one.

// errNotRegular says that something else lies where a file should.
var errNotRegular = errors.New("is no regular file")

// noWait keeps an open from waiting; for a regular file it changes nothing.
const noWait = syscall.O_NONBLOCK

// openRegular is os.OpenFile for a regular file. The open does not wait, and
// what was looked at is what is read. Anything else is errNotRegular.
func openRegular(path string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|noWait, perm)
	if err != nil {
		if strange := regular(path); errors.Is(strange, errNotRegular) {
			return nil, strange // a socket cannot be opened at all, nor a folder to write
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		_ = f.Close() // the first error is the one to tell
		return nil, err
	}
	return f, nil
}

// regular is for files that others open by their name. Where there is none the
// error is os.ErrNotExist.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	return err
}

// regularDB is regular for a database, and for what SQLite opens beside it.
func regularDB(path string) error {
	for _, beside := range []string{"-journal", "-wal", "-shm"} {
		if err := regular(path + beside); errors.Is(err, errNotRegular) {
			return err
		}
	}
	return regular(path)
}
