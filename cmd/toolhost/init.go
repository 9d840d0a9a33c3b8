package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

//go:embed init.toml
var firstConfig []byte

func (c *cli) initCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "init [DIR]",
		Short:                 "Write a first config.toml, explained, that loads and denies",
		Long: `Writes config.toml into the folder (default: here), with every part explained and
nothing granted: it loads, and every call is refused. It never writes over a file.`,
		Example: `  toolhost init && toolhost check`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("init takes one folder at most; see: toolhost init --help")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if c.config != "" {
				return usage("init takes the folder as its argument and names the file config.toml; leave --config away")
			}
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return c.init(dir)
		},
	}
}

func (c *cli) init(dir string) error {
	if err := os.MkdirAll(c.path(dir), 0o755); err != nil {
		return &status{code: exitHost, err: err}
	}
	shown := filepath.Join(dir, "config.toml")
	f, err := os.OpenFile(c.path(shown), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usage("init: %s is there already; it stays as it is", shown)
	}
	if err == nil {
		_, err = f.Write(firstConfig)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return &status{code: exitHost, err: fmt.Errorf("init: %w", err)}
	}
	fmt.Fprintf(c.stderr, "wrote %s; it grants nothing yet\nnext: toolhost check --config %s\n", shown, shown)
	return nil
}
