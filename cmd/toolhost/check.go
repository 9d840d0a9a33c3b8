package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/rules"
)

func (c *cli) checkCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "check",
		Short:                 "Load everything and say what is wrong, or what each tool can reach; runs no guest code",
		Long: `Loads the config, the contracts and the modules, holds imports against grants and
columns against tables, compiles, and looks whether calls could be recorded. Every
fault is told, with file and line.

exit     0 nothing is wrong, 2 something is`,
		Example: `  toolhost check --config config.toml`,
		Args:    exactly(0, "check takes no argument; see: toolhost check --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := c.look(cmd.Context())
			if err != nil {
				return err
			}
			defer h.Close()
			for _, r := range h.Reports() {
				fmt.Fprintf(c.stdout, "%s  %s, called by %s\n", r.Name, r.Effect, callers(r))
				for _, reach := range r.Reaches {
					for _, sentence := range reach.Sentences {
						fmt.Fprintf(c.stdout, "  reaches  %s: %s\n", reach.Capability, clean(sentence))
					}
				}
				if len(r.Reaches) == 0 {
					fmt.Fprintln(c.stdout, "  reaches  nothing")
				}
				for _, fact := range r.Facts {
					fmt.Fprintf(c.stdout, "  fact     %s\n", clean(fact))
				}
				for _, rule := range r.Rules {
					fmt.Fprintf(c.stdout, "  rule     %s: %s   %s\n", rule.Name, shownRule(rule.Require), rule.Place.Where())
					fmt.Fprintf(c.stdout, "           costs at most %d of %d; %s as expected\n", rule.Cost, rules.MaxCost, count(rule.Examples, "example"))
				}
				if len(r.Codes) > 0 {
					fmt.Fprintf(c.stdout, "  codes    %s\n", strings.Join(r.Codes, " "))
				}
				if r.Module == "" {
					fmt.Fprintln(c.stdout, "  module   none: a tool that writes needs none before writes can be approved")
				} else {
					fmt.Fprintf(c.stdout, "  imports  %s; of WASI %d (clocks, random, output)\n", strings.Join(r.Imports, " "), r.WASI)
					fmt.Fprintf(c.stdout, "  module   %s, %d bytes\n", r.Module, r.Size)
				}
				if r.Stale {
					fmt.Fprintln(c.stdout, "  note     its source is newer than the module; build it again?")
				}
				fmt.Fprintln(c.stdout)
			}
			if err := h.CanRecord(); err != nil {
				return &status{code: exitUsage, err: fmt.Errorf("%w\n1 fault; every call would be refused: audit_unavailable", err)}
			}
			fmt.Fprintf(c.stdout, "no faults\n")
			return nil
		},
	}
}

// shownRule is a condition in one line, unless it could hold a comment, which
// would seem to go on to the end of it.
func shownRule(s string) string {
	if !strings.Contains(s, "//") {
		return clean(oneLine(s))
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		lines = append(lines, clean(oneLine(line)))
	}
	return strings.Join(lines, "\n           ")
}

// oneLine is a condition of several lines in one.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// callers lists the roles, each with who decides that a session has it.
func callers(r host.Report) string {
	var out []string
	for _, role := range r.Callers {
		if slices.Contains(r.Decided, role) {
			role += " (directory)"
		}
		out = append(out, role)
	}
	return or(strings.Join(out, ", "), "nobody")
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
