//go:build unix

package audit

import "golang.org/x/sys/unix"

// freeBytes is what an ordinary user may still write on a folder's disk.
func freeBytes(folder string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// writable tells whether this user may write in a folder.
func writable(folder string) error { return unix.Access(folder, unix.W_OK|unix.X_OK) }
