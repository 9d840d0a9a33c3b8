package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/strictjson"
)

func (c *cli) auditShowCommand() *cobra.Command {
	var f filterFlags
	var asJSON, follow bool
	var last int
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "show",
		Short:                 "Show what was decided: a line for each call, the last 50",
		Long: `Shows the entries of the log that fit all the flags, oldest first, times in UTC.
"toolhost explain CALL_ID" shows one call whole.

With --json each line is {"entry":...,"values":...,"gone":...}: the entry as it
stands in the log, and what is sealed of it, or why that cannot be read.`,
		Example: `  toolhost audit show --ticket T-80001 --outcome refused`,
		Args:    exactly(0, "audit show takes no argument; one call whole: toolhost explain CALL_ID"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.read(time.Now())
			if err != nil {
				return err
			}
			if last < 0 {
				return usage("--last %d: must be a number of entries, 0 for all", last)
			}
			filter.Last, filter.Calls = last, !asJSON
			return c.auditShow(cmd.Context(), filter, asJSON, follow)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&last, "last", 50, "only the last `N` that fit; 0: all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is written from now on, until interrupted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "stdout: one JSON object a line, every entry")
	return cmd
}

func (c *cli) auditExportCommand() *cobra.Command {
	var f filterFlags
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "export",
		Short:                 "Write every entry with what is sealed of it, as JSON lines",
		Long: `Writes all that fits the flags, as "audit show --json" does: for another system, or
to answer a person who asks what is kept of them.`,
		Example: `  toolhost audit export --customer C-20417 > C-20417.jsonl`,
		Args:    exactly(0, "audit export takes no argument; see: toolhost audit export --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.read(time.Now())
			if err != nil {
				return err
			}
			return c.auditShow(cmd.Context(), filter, true, false)
		},
	}
	f.add(cmd)
	return cmd
}

// followPeriod is how often a log is looked at that is followed.
const followPeriod = 200 * time.Millisecond

func (c *cli) auditShow(ctx context.Context, f audit.Filter, asJSON, follow bool) error {
	r, err := c.openReader()
	if err != nil {
		return err
	}
	defer r.Close()
	show := func(rec audit.Record) error {
		f.After = rec.Entry.Seq
		var line []byte
		if asJSON {
			line = recordJSON(rec)
		} else {
			line = []byte(c.recordLine(r, rec))
		}
		_, err := c.stdout.Write(append(line, '\n'))
		return err
	}
	if err := r.Find(f, show); err != nil {
		return &status{code: exitHost, err: err}
	}
	f.Last = 0
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPeriod):
		}
		if err := r.Find(f, show); err != nil {
			return &status{code: exitHost, err: err}
		}
	}
	return nil
}

// recordJSON is an entry with what is sealed of it, as one line.
func recordJSON(rec audit.Record) []byte {
	b := append([]byte(`{"entry":`), rec.Line...)
	b = append(b, `,"values":{`...)
	for i, v := range rec.Values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strictjson.AppendString(b, v.Name), ':')
		b = append(b, v.JSON...)
	}
	b = append(b, `},"gone":`...)
	return append(strictjson.AppendString(b, string(rec.Gone)), '}')
}

// recordLine is an entry in one line for a person.
func (c *cli) recordLine(r *audit.Reader, rec audit.Record) string {
	e := rec.Entry
	at := e.At.UTC().Format("2006-01-02 15:04:05")
	if e.Call == nil {
		return fmt.Sprintf("%s  %-26s  %s", at, e.Kind, clean(eventText(e)))
	}
	outcome := "started, no end is recorded"
	switch e.Kind {
	case audit.Ended, audit.Replied:
		outcome = howEnded(e.Call)
	case audit.Decided:
		outcome = "approval " + e.Call.Approval.ID + ": " + e.Call.Approval.Word
	default:
	}
	if e.Call.Explained {
		outcome += ", explained"
	}
	told := tellCall(r, rec)
	return fmt.Sprintf("%s  %s  %-20s  %-36s  %s", at, clean(e.Call.ID), clean(told.tool), clean(outcome), clean(told.who))
}

// eventText says what an entry tells that is no call.
func eventText(e *audit.Entry) string {
	switch {
	case e.Begin != nil:
		return e.Begin.Origin
	case e.Load != nil:
		return fmt.Sprintf("%s of config %s, by %s", count(len(e.Load.Tools), "tool"), e.Load.Config, e.Load.Program)
	case e.Recovery != nil:
		return fmt.Sprintf("after a crash: %s of a torn line and %s of a torn checkpoint cut, %s made anew",
			count(int(e.Recovery.EntryBytes), "byte"), count(int(e.Recovery.CheckpointBytes), "byte"), count(int(e.Recovery.Hashes), "hash"))
	case e.Erasure != nil:
		return fmt.Sprintf("the key of %s, by user %d", e.Erasure.Person, e.Erasure.UID)
	case e.Expiry != nil:
		return fmt.Sprintf("values before %s: %s, and %s", e.Expiry.Before, count(e.Expiry.Files, "file"), count(e.Expiry.People, "pseudonym"))
	}
	return ""
}
