package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
)

func (c *cli) auditCountCommand() *cobra.Command {
	var f filterFlags
	var asJSON bool
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "count",
		Short:                 "Count calls by day (UTC), outcome and code",
		Example:               `  toolhost audit count --since 7d`,
		Args:                  exactly(0, "audit count takes no argument; see: toolhost audit count --help"),
		RunE: func(*cobra.Command, []string) error {
			filter, err := f.read(time.Now())
			if err != nil {
				return err
			}
			if filter.Unfinished {
				return usage("audit count: what has not ended has no outcome to count; see: toolhost audit show --outcome unfinished")
			}
			return c.auditCount(filter, asJSON)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: one JSON object a line")
	return cmd
}

func (c *cli) auditCount(f audit.Filter, asJSON bool) error {
	r, err := c.openReader()
	if err != nil {
		return err
	}
	defer r.Close()
	counts, err := r.Counts(f)
	if err != nil {
		return &status{code: exitHost, err: err}
	}
	for _, n := range counts {
		if asJSON {
			fmt.Fprintf(c.stdout, `{"day":%q,"outcome":%q,"code":%q,"calls":%d}`+"\n", n.Day, n.Outcome, n.Code, n.Calls)
			continue
		}
		fmt.Fprintf(c.stdout, "%s  %-8s %-24s %8d\n", n.Day, n.Outcome, cmp.Or(n.Code, "-"), n.Calls)
	}
	return nil
}
