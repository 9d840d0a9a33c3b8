// Package goplugin compiles a plugin that is written in Go.
package goplugin

import (
	"context"
	"os"
	"os/exec"
)

// Build compiles the Go package in a folder to a module at out, an absolute
// path. said is what the compiler wrote. The error is that of the go command;
// exec.ErrNotFound is in it where there is none.
//
// -trimpath and -buildvcs=false make the bytes depend on nothing but the source
// and the compiler, so that a digest can be pinned.
func Build(ctx context.Context, folder, out string) (said []byte, err error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	return cmd.CombinedOutput()
}
