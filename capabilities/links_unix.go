//go:build unix

package capabilities

import (
	"io/fs"
	"syscall"
)

const countsLinks = true

// links gives how many names a file has; 0 where that is not known.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 0
}
