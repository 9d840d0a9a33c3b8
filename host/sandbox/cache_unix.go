//go:build unix

package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownFolder makes the folder if it is missing and says what is wrong with it otherwise.
func ownFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path) // a link could be pointed elsewhere after this look
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%q is no directory", path)
	case info.Mode().Perm() != 0o700:
		return fmt.Errorf("%q has mode %v, want %v", path, info.Mode().Perm(), fs.FileMode(0o700))
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%q belongs to another user", path)
	}
	return nil
}
