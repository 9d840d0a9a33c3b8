//go:build !linux

package audit

import "os"

// syncData waits until what was written to a file is on disk.
func syncData(f *os.File) error { return f.Sync() }
