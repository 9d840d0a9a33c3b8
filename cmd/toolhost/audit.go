package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
)

func (c *cli) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "audit COMMAND",
		Short:                 "The audit log: show, count, verify, checkpoint, erase",
		Long: `The log of every decision, in the folder that [audit] of the config names. It
holds pseudonyms and commitments; who asked and what for is sealed beside it.`,
		Example: `  toolhost audit verify`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("audit: no command %q; see: toolhost audit --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.auditShowCommand(), c.auditCountCommand(), c.auditVerifyCommand(), c.auditCheckpointCommand(), c.auditEraseCommand())
	return cmd
}

// auditConfig reads where the log is. A config that has faults elsewhere still
// says so: the log must be readable when nothing else works.
func (c *cli) auditConfig() (*config.Config, error) {
	conf, err := config.Load(c.configPath(), config.Options{Name: c.configName(), Env: c.env})
	var faults *config.Faults
	if errors.As(err, &faults) {
		if p := faults.Partial(); p != nil && p.Audit.Folder != "" && p.Audit.Key != "" && p.State != "" {
			fmt.Fprintf(c.stderr, "note: %s does not load (see: toolhost check); the log is read all the same\n", clean(c.configName()))
			return p, nil
		}
	}
	if err != nil {
		return nil, &status{code: exitUsage, err: c.hint(err)}
	}
	return conf, nil
}

// openReader opens the log to read. Without its key nothing sealed is shown.
func (c *cli) openReader() (*audit.Reader, error) {
	conf, err := c.auditConfig()
	if err != nil {
		return nil, err
	}
	key := conf.Audit.Key
	if _, err := os.Stat(key); err != nil {
		fmt.Fprintf(c.stderr, "note: the key %s cannot be read; what is sealed stays sealed\n", clean(key))
		key = ""
	}
	r, err := audit.OpenReader(conf.Audit.Folder, key)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &status{code: exitHost, err: fmt.Errorf("%w\nthe first call makes it", err)}
	}
	if err != nil {
		return nil, &status{code: exitHost, err: err}
	}
	return r, nil
}

// openLog opens the log to write, for a command of its own.
func (c *cli) openLog() (l *audit.Log, done func(), err error) {
	conf, err := c.auditConfig()
	if err != nil {
		return nil, nil, err
	}
	log, err := c.logger()
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(conf.Audit.Folder); err != nil {
		return nil, nil, &status{code: exitHost, err: fmt.Errorf("audit log: %w", err)}
	}
	s, err := state.Open(conf.State)
	if err != nil {
		return nil, nil, &status{code: exitHost, err: err}
	}
	o := host.AuditOptions(conf)
	o.State, o.Log = s, log.Named("audit")
	if l, err = audit.Open(o); err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, nil, &status{code: exitHost, err: err}
	}
	return l, func() {
		if err := errors.Join(l.Close(), s.Close()); err != nil {
			log.Error("audit log", "error", err)
		}
	}, nil
}

// A filterFlags chooses entries.
type filterFlags struct {
	audit.Filter
	since, until, outcome string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "from this `TIME` on: 2026-11-30, 2026-11-30T08:00:00Z, or 90m, 24h, 7d ago")
	flags.StringVar(&f.until, "until", "", "before this `TIME`")
	flags.StringVar(&f.Session, "session", "", "of this session's `ID`")
	flags.StringVar(&f.Ticket, "ticket", "", "of this `TICKET`")
	flags.StringVar(&f.Customer, "customer", "", "about this `CUSTOMER`")
	flags.StringVar(&f.Subject, "subject", "", "asked by this `SUBJECT`")
	flags.StringVar(&f.Tenant, "tenant", "", "of this `TENANT`")
	flags.StringVar(&f.Tool, "tool", "", "of this `TOOL`")
	flags.StringVar(&f.outcome, "outcome", "", "`STATE`: ok, refused, pending, failed, or unfinished")
	flags.StringVar(&f.Code, "code", "", "with this `CODE`")
}

// read gives the filter that the flags say.
func (f *filterFlags) read(now time.Time) (audit.Filter, error) {
	out := f.Filter
	out.After = -1
	var err error
	if out.Since, err = timeOf("--since", f.since, now); err != nil {
		return out, err
	}
	if out.Until, err = timeOf("--until", f.until, now); err != nil {
		return out, err
	}
	switch f.outcome {
	case "", "ok", "refused", "pending", "failed":
		out.Outcome = f.outcome
	case "unfinished":
		out.Unfinished = true
	default:
		return out, usage("--outcome %q: must be ok, refused, pending, failed or unfinished", f.outcome)
	}
	return out, nil
}

// timeOf reads a time of the command line, in UTC where it names no zone.
func timeOf(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", time.DateTime} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	days := 0
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && days > 0 && days < 100_000 && text == fmt.Sprintf("%dd", days) {
		return now.AddDate(0, 0, -days), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 && !strings.ContainsAny(text, "nuµ") {
		return now.Add(-d), nil
	}
	return time.Time{}, usage("%s %q: write 2026-11-30, 2026-11-30T08:00:00Z, or how long ago: 90m, 24h, 7d", flag, text)
}

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
		fmt.Fprintf(c.stdout, "%s  %-8s %-24s %8d\n", n.Day, n.Outcome, or(n.Code, "-"), n.Calls)
	}
	return nil
}

func (c *cli) auditCheckpointCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "checkpoint",
		Short:                 "Sign what the log holds now and print it, to be kept elsewhere",
		Long: `Prints a signed checkpoint of all that the log holds. Kept where nobody who can
write to the log can, it shows later that nothing before it was changed or cut.`,
		Example: `  toolhost audit checkpoint > kept.txt && toolhost audit verify --checkpoint kept.txt`,
		Args:    exactly(0, "audit checkpoint takes no argument; see: toolhost audit checkpoint --help"),
		RunE: func(*cobra.Command, []string) error {
			l, done, err := c.openLog()
			if err != nil {
				return err
			}
			defer done()
			note, err := l.Checkpoint()
			if err != nil {
				return &status{code: exitHost, err: err}
			}
			_, _ = c.stdout.Write(note) // the sink remembers an error
			return nil
		},
	}
}

func (c *cli) auditEraseCommand() *cobra.Command {
	var who audit.Person
	var tenant string
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "erase (--customer ID | --subject ID | --nobody) [--tenant TENANT]",
		Short:                 "Delete a person's key, so that nobody can read what is sealed of them",
		Long: `Deletes the key under which everything about a person is sealed, and the link
between them and their pseudonyms. It cannot be undone. The log stays as it is
and verifies; that somebody was erased is an entry.

exit     0 erased, 3 the log knows nobody of that name, 1 host error, 2 usage`,
		Example: `  toolhost audit erase --customer C-20417`,
		Args:    exactly(0, "audit erase takes no argument; see: toolhost audit erase --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("tenant") {
				who.Tenant = &tenant
			}
			given := 0
			for _, name := range []string{"customer", "subject", "nobody"} {
				if cmd.Flags().Changed(name) {
					given++
				}
			}
			if given != 1 || who == (audit.Person{Tenant: who.Tenant}) {
				return usage("audit erase: say whom, once: --customer, --subject or --nobody")
			}
			return c.auditErase(who)
		},
	}
	cmd.Flags().StringVar(&who.Customer, "customer", "", "whom sessions about this `CUSTOMER` are about")
	cmd.Flags().StringVar(&who.Subject, "subject", "", "who asked as this `SUBJECT`")
	cmd.Flags().BoolVar(&who.Nobody, "nobody", false, "all who asked with neither customer nor subject")
	cmd.Flags().StringVar(&tenant, "tenant", "", "of this `TENANT`, where several have somebody of that name")
	return cmd
}

func (c *cli) auditErase(who audit.Person) error {
	l, done, err := c.openLog()
	if err != nil {
		return err
	}
	defer done()
	pseudonym, err := l.Erase(who)
	switch {
	case errors.Is(err, audit.ErrNoSuchPerson):
		return &status{code: exitNo, err: err}
	case errors.Is(err, audit.ErrSeveralTenants):
		return usage("%v: --tenant", err)
	case err != nil:
		return &status{code: exitHost, err: err}
	}
	fmt.Fprintf(c.stdout, "erased %s: what is sealed of them cannot be read any more\n", pseudonym)
	return nil
}
