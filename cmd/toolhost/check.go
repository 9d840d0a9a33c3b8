package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) checkCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "check",
		Short:                 "Load everything and say what is wrong, or what each tool can reach; runs no guest code",
		Long: `Loads the config, the contracts and the modules, holds imports against grants and
columns against tables, and compiles. Every fault is told, with file and line.

exit     0 nothing is wrong, 2 something is`,
		Example: `  toolhost check --config config.toml`,
		Args:    exactly(0, "check takes no argument; see: toolhost check --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := c.open(cmd.Context())
			if err != nil {
				return err
			}
			defer h.Close()
			for _, r := range h.Reports() {
				fmt.Fprintf(c.stdout, "%s  read, called by %s\n", r.Name, or(strings.Join(r.Callers, " "), "nobody"))
				for _, reach := range r.Reaches {
					fmt.Fprintf(c.stdout, "  reaches  %s\n", reach)
				}
				if len(r.Reaches) == 0 {
					fmt.Fprintln(c.stdout, "  reaches  nothing")
				}
				if len(r.Codes) > 0 {
					fmt.Fprintf(c.stdout, "  codes    %s\n", strings.Join(r.Codes, " "))
				}
				fmt.Fprintf(c.stdout, "  imports  %s; of WASI %d (clocks, random, output)\n", strings.Join(r.Imports, " "), r.WASI)
				fmt.Fprintf(c.stdout, "  module   %s, %d bytes\n\n", r.Module, r.Size)
			}
			fmt.Fprintf(c.stdout, "no faults\n")
			return nil
		},
	}
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
