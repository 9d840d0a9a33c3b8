//go:build !linux

package host

import "os"

func datasync(f *os.File) error { return f.Sync() }
