package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/regularfile"
)

// Makeable says, without writing, what keeps a file from being made or written:
// that it is there and cannot be written, or that the nearest folder above it
// cannot.
func Makeable(path string) error {
	f, err := regularfile.Open(path, os.O_WRONLY, 0) // no O_CREATE
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist) && dir != filepath.Dir(dir):
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is no folder", dir)
		}
		if err := writable(dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		return nil
	}
}

// Runnable says what keeps a program from being run.
func Runnable(path string) error {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0) {
		err = fmt.Errorf("%s is no program: it may not be executed", path)
	}
	return err
}
