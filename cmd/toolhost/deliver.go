package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/state"
)

func (c *cli) deliverCommand() *cobra.Command {
	once, again, list := false, "", false
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "deliver [--once | --again ID | --list]",
		Short:                 "Send what was approved and written to its webhook or by mail",
		Long: `Delivers rows of outboxes, at least once each, until it is interrupted; serve does so too.
What is not taken is tried again, each time later, and then is a dead letter: --list shows
what did not arrive, --again sends it once more, where the config says now; never a row that
is another than was approved.

stdout   a line for each try
exit     0, 1 host error, 2 usage or config; with --again 3 where there is nothing to send`,
		Example: `  toolhost deliver --once`,
		Args:    exactly(0, "deliver takes no argument; see: toolhost deliver --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withHost(cmd.Context(), func(h *host.Host) error {
				switch {
				case list:
					return c.undelivered(cmd.Context(), h)
				case again != "":
					return c.deliverAgain(cmd.Context(), h, again)
				case once:
					return hostError(h.DeliverDue(cmd.Context(), c.tellDelivered))
				}
				h.Deliver(cmd.Context(), c.tellDelivered)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "make one try for each row that is due, and end")
	cmd.Flags().StringVar(&again, "again", "", "make the row of approval `ID` due again that did not arrive")
	cmd.Flags().BoolVar(&list, "list", false, "show what has not arrived")
	cmd.MarkFlagsMutuallyExclusive("once", "again", "list")
	return cmd
}

func hostError(err error) error {
	if err == nil {
		return nil
	}
	return &status{code: exitHost, err: err}
}

// tellDelivered is a line for one try.
func (c *cli) tellDelivered(d host.Delivered) {
	text := string(d.State)
	if d.State == state.Due {
		text = d.End.String() // later, or not_tried
	}
	switch {
	case d.Reason != "" && d.State != state.Delivered:
		text += ": " + d.Reason
	case d.Status != "":
		text += " " + d.Status
	}
	if !d.Next.IsZero() {
		text += "; again at " + ofDay(d.Next)
	}
	fmt.Fprintf(c.stdout, "%s  %s  try %d  %s\n", clean(d.Approval), clean(d.Tool), d.Tries, clean(text))
}

func (c *cli) undelivered(ctx context.Context, h *host.Host) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	head := "ID\tTOOL\tDELIVERY\tTRIES\tNEXT\tTHE LAST TRY\n"
	err := h.EachApproval(ctx, func(a host.Approval) error {
		if a.Delivery == "" || a.Delivery == state.Delivered {
			return nil
		}
		next := "-"
		if a.Delivery == state.Due {
			next = ofDay(a.Next)
		}
		fmt.Fprintf(w, "%s", head)
		head = ""
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", clean(a.ID), clean(a.Tool), clean(deliveryWord(a.Delivery)), a.Tries, next, clean(cmp.Or(a.Status, "-")))
		return nil
	})
	if err != nil {
		return hostError(err)
	}
	if head != "" {
		fmt.Fprintln(c.stderr, "every row that is delivered has arrived")
	}
	return w.Flush()
}

func (c *cli) deliverAgain(ctx context.Context, h *host.Host, id string) error {
	now, then, err := h.DeliverAgain(ctx, id)
	switch {
	case errors.Is(err, state.ErrNoApproval), errors.Is(err, state.ErrNotSo):
		return &status{code: exitNo, err: fmt.Errorf("approval %q has no delivery that has ended without arriving; see: toolhost deliver --list", id)}
	case errors.Is(err, host.ErrSeveral), errors.Is(err, host.ErrShort):
		return usage("%q: %w", id, err)
	case err != nil:
		return hostError(err)
	}
	fmt.Fprintf(c.stdout, "due again: %s\n", cleanJSON(now))
	if !bytes.Equal(now, then) {
		fmt.Fprintf(c.stdout, "approved:  %s\n", cleanJSON(then))
	}
	return nil
}
