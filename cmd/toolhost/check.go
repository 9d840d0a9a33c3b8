package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

func (c *cli) checkCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "check",
		Short:                 "Load everything and say what is wrong, or what each tool can reach; runs no guest code",
		Long: `Loads the config, the contracts and the modules, holds imports against grants and
columns against tables, types the rules and runs their examples, compiles, and looks
whether calls could be recorded. Every fault is told, with file and line.

exit     0 nothing is wrong, 2 something is`,
		Example: `  toolhost check --config config.toml`,
		Args:    exactly(0, "check takes no argument; see: toolhost check --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := c.look(cmd.Context())
			if err != nil {
				return err
			}
			defer h.Close()
			if err := h.Prepare(cmd.Context()); err != nil {
				return &status{code: exitUsage, err: err}
			}
			for _, r := range h.Reports() {
				names, err := h.Agree(cmd.Context(), r.Name)
				if err != nil {
					return &status{code: exitUsage, err: fmt.Errorf("%w\n1 fault; every write would be refused: unavailable", err)}
				}
				c.printTool(r, names)
			}
			for _, r := range h.ReplyReports() {
				c.printForm(r)
			}
			if err := h.CanRecord(); err != nil {
				return &status{code: exitUsage, err: fmt.Errorf("%w\n1 fault; every call would be refused: audit_unavailable", err)}
			}
			fmt.Fprintf(c.stdout, "no faults\n")
			return nil
		},
	}
}

// printTool is what a reviewer reads of one tool.
func (c *cli) printTool(r host.Report, agree []string) {
	line := func(head, text string) { fmt.Fprintf(c.stdout, "  %-8s %s\n", head, text) }
	fmt.Fprintf(c.stdout, "%s  %s, called by %s\n", r.Name, r.Effect, callers(r))
	if r.Approve != "" {
		line("approve", clean(r.Approve))
		if len(agree) > 0 {
			line("agree", clean("now could: "+strings.Join(agree, ", ")))
		} else {
			line("agree", c.paint(c.stdout, amber, "now nobody could: no one of [approvers] has a token and holds the role, so that all of it would expire"))
		}
	}
	for _, reach := range r.Reaches {
		for _, sentence := range reach.Sentences {
			line("reaches", reach.Capability+": "+clean(sentence))
		}
	}
	if len(r.Reaches) == 0 {
		line("reaches", "nothing")
	}
	for _, fact := range r.Facts {
		line("fact", clean(fact))
	}
	for _, value := range r.Values {
		line("value", clean(value))
	}
	c.printRules(r.Rules)
	if len(r.Codes) > 0 {
		line("codes", strings.Join(r.Codes, " "))
	}
	line("imports", fmt.Sprintf("%s; of WASI %d (clocks, random, output)", strings.Join(r.Imports, " "), r.WASI))
	line("module", fmt.Sprintf("%s, %d bytes", r.Module, r.Size))
	for _, sentence := range r.State {
		line("state", clean(sentence))
	}
	if r.Stale {
		line("note", "its source is newer than the module; build it again?")
	}
	fmt.Fprintln(c.stdout)
}

func (c *cli) printRules(all []host.RuleReport) {
	cost, examples := uint64(0), 0
	for _, rule := range all {
		fmt.Fprintf(c.stdout, "  rule     %s: %s   %s\n", rule.Name, shownRule(rule.Require), rule.Place.Where())
		if rule.Words != "" {
			fmt.Fprintf(c.stdout, "           else the model is told: %s\n", clean(rule.Words))
		}
		cost, examples = cost+rule.Cost, examples+rule.Examples
	}
	if len(all) > 0 {
		fmt.Fprintf(c.stdout, "           %s as expected; the rules cost at most %d of %d\n", count(examples, "example"), cost, host.MaxRulesCost)
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
	return cmp.Or(strings.Join(out, ", "), "nobody")
}
