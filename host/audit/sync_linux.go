package audit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData waits until what was written to a file is on disk, with its size. It
// leaves out the times of the file, which fsync would write too.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}
