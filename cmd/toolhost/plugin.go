package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/goplugin"
)

func (c *cli) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plugin",
		Short:   "Build plugins, and say what a module could do",
		Args:    cobra.NoArgs,
		Example: "  toolhost plugin build plugins/get_order\n  toolhost plugin inspect plugins/get_order",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.pluginBuildCommand(), c.pluginInspectCommand())
	return cmd
}

func (c *cli) pluginBuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build DIR...",
		Short: "Compile a plugin's Go source to DIR/plugin.wasm",
		Long: `Compiles the Go package in each folder to plugin.wasm beside it. The same source
and the same Go give the same bytes, so that the digest can be pinned.

exit     0 built, 1 the build failed, 2 usage`,
		Example: `  toolhost plugin build plugins/get_order`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("plugin build takes the folders of plugins; see: toolhost plugin build --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, dir := range args {
				if err := c.buildPlugin(cmd.Context(), c.path(dir), filepath.ToSlash(dir)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// buildPlugin compiles one plugin; a failed build leaves the old module alone.
func (c *cli) buildPlugin(ctx context.Context, dir, shown string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage("plugin build: %s is no folder; name the folder that holds contract.json and the source", shown)
	}
	if sources, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(sources) == 0 {
		return usage("plugin build: %s holds no Go source; plugins in other languages are built by their own compilers (docs/abi.md)", shown)
	}
	start := time.Now()
	fmt.Fprintf(c.stderr, "building %s\n", shown)
	done := c.tick(shown, start)
	defer done()
	out := filepath.Join(dir, "."+host.ModuleFile+".new")
	defer os.Remove(out)
	if said, err := goplugin.Build(ctx, dir, out); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return &status{code: exitHost, err: errors.New("plugin build: the go command is not on the PATH")}
		}
		return &status{code: exitHost, err: fmt.Errorf("plugin build: in %s: %w\n%s", shown, err, bytes.TrimSpace(said))}
	}
	wasm, err := os.ReadFile(out)
	if err == nil {
		err = os.Rename(out, filepath.Join(dir, host.ModuleFile))
	}
	if err != nil {
		return &status{code: exitHost, err: fmt.Errorf("plugin build: %s: %w", shown, err)}
	}
	sum := sha256.Sum256(wasm)
	fmt.Fprintf(c.stderr, "built    %s/plugin.wasm  %.1f MB  %.1f s  sha256:%s\n",
		shown, float64(len(wasm))/1e6, time.Since(start).Seconds(), hex.EncodeToString(sum[:]))
	return nil
}

// tick says every few seconds that a build still runs.
func (c *cli) tick(what string, start time.Time) (stop func()) {
	ticker, ended := time.NewTicker(5*time.Second), make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(c.stderr, "         %s: still compiling after %.0f s\n", what, time.Since(start).Seconds())
			case <-ended:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(ended)
		<-finished
	}
}
