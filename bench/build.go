package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/goplugin"
)

// guests are the modules of the guest go; those of small are made in small.go.
type guests struct{ goPDK, goExtism []byte }

// build compiles the guests with the go command.
func build(ctx context.Context) (g guests, err error) {
	home, err := folder(ctx)
	if err != nil {
		return g, err
	}
	out, err := os.MkdirTemp("", "toolhost-bench-")
	if err != nil {
		return g, err
	}
	defer os.RemoveAll(out)
	if g.goPDK, err = buildGuest(ctx, filepath.Join(home, "..", "plugins", "get_order"), filepath.Join(out, "go.wasm")); err != nil {
		return g, err
	}
	g.goExtism, err = buildGuest(ctx, filepath.Join(home, "guests", "extism"), filepath.Join(out, "extism.wasm"))
	return g, err
}

// folder is that of this module: the go command knows it wherever in it the bench is started.
func folder(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func buildGuest(ctx context.Context, folder, out string) ([]byte, error) {
	if said, err := goplugin.Build(ctx, folder, out); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", folder, err, said)
	}
	return os.ReadFile(out)
}
