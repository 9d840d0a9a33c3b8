package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/state"
)

func (c *cli) changesCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "changes",
		Short:                 "Which writes have happened, by whom, and whether they were delivered",
		Long: `A line for each row that was written, oldest first, and then how many went to each
table. A write of which nobody knows whether it happened is there too, as unknown.`,
		Example: `  toolhost changes`,
		Args:    exactly(0, "changes takes no argument; see: toolhost changes --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withHost(cmd.Context(), func(h *host.Host) error { return c.changes(cmd.Context(), h, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: one JSON object a line, as approvals show --json")
	return cmd
}

func (c *cli) changes(ctx context.Context, h *host.Host, asJSON bool) error {
	tables := map[string]int{}
	for _, table := range h.OutboxTables() {
		tables[table] = 0
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	head := "WHEN\tID\tTOOL\tTABLE\tASKED BY\tAPPROVED BY\tNOW\n"
	err := h.EachApproval(ctx, func(a host.Approval) error {
		switch {
		case !happened(a.Approval):
			return nil
		case asJSON:
			return c.printJSON(a)
		}
		table := cmp.Or(a.Shown.Table, h.OutboxTable(a.Tool), "(unknown)")
		tables[table]++
		fmt.Fprintf(w, "%s", head)
		head = ""
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.Ended.UTC().Format(time.DateTime), clean(a.ID), clean(a.Tool), clean(table), clean(askedBy(a)), clean(orForgotten(a.Approver)), clean(c.standing(a)))
		return nil
	})
	if err != nil || asJSON {
		return hostError(err)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		fmt.Fprintf(c.stdout, "%s: %d\n", clean(table), tables[table])
	}
	return nil
}

// happened tells whether the row of an approval is there, or may be.
func happened(a state.Approval) bool {
	return a.State == state.Done || a.State == state.Unknown || a.Delivery != ""
}

func orForgotten(s string) string {
	if s == "" {
		return "(forgotten)"
	}
	return s
}
