//go:build unix

package sandbox

import "syscall"

// mapMemory gives size bytes of zeros, of which only those that are touched take room.
func mapMemory(size uint64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func unmapMemory(b []byte) { _ = syscall.Munmap(b) } // a mapping of ours: it cannot fail
