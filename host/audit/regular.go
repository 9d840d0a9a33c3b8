package audit

import (
	"errors"

	"github.com/toolhost/toolhost/host/regularfile"
)

// Who can write to the folder of a log can put a FIFO or a device where a file
// is expected: to open one waits for ever, to read one never ends. So what is
// no regular file is never read. A link to a regular file is one.

// regularDB checks a database, and what SQLite opens beside it.
func regularDB(path string) error {
	for _, beside := range []string{"-journal", "-wal", "-shm"} {
		if err := regularfile.Check(path + beside); errors.Is(err, regularfile.ErrNotRegular) {
			return err
		}
	}
	return regularfile.Check(path)
}
