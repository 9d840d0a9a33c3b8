package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/state"
)

func (c *cli) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "audit",
		Short:                 "The audit log: show, export, count, verify, checkpoint, erase",
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
	cmd.AddCommand(c.auditShowCommand(), c.auditExportCommand(), c.auditCountCommand(), c.auditVerifyCommand(), c.auditCheckpointCommand(), c.auditEraseCommand())
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
		fmt.Fprintf(c.stderr, "note: the key %s cannot be read; what is sealed stays sealed, and only pseudonyms can be asked for\n", clean(key))
		key = ""
	}
	if !audit.Exists(conf.Audit.Folder) {
		return nil, &status{code: exitHost, err: fmt.Errorf("there is no audit log in %s; the first call makes it", conf.Audit.Folder)}
	}
	r, err := audit.OpenReader(conf.Audit.Folder, key)
	if err != nil {
		return nil, &status{code: exitHost, err: err}
	}
	return r, nil
}

// openLog opens the log to write, for a command of its own.
func (c *cli) openLog() (l *audit.Log, s *state.State, done func(), err error) {
	conf, err := c.auditConfig()
	if err != nil {
		return nil, nil, nil, err
	}
	log, err := c.logger()
	if err != nil {
		return nil, nil, nil, err
	}
	if _, err := os.Stat(conf.Audit.Folder); err != nil {
		return nil, nil, nil, &status{code: exitHost, err: fmt.Errorf("audit log: %w", err)}
	}
	s, err = state.Open(conf.State)
	if err != nil {
		return nil, nil, nil, &status{code: exitHost, err: err}
	}
	o := host.AuditOptions(conf)
	o.State, o.Log = s, log.Named("audit")
	if l, err = audit.Open(o); err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, nil, nil, &status{code: exitHost, err: err}
	}
	return l, s, func() {
		if err := errors.Join(l.Close(), s.Close()); err != nil {
			log.Error("audit log", "error", err)
		}
	}, nil
}

// A filterFlags chooses entries.
type filterFlags struct {
	audit.Filter
	cmd                   *cobra.Command
	since, until, outcome string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "from this `TIME` on: 2026-11-30, 2026-11-30T08:00:00Z, or 90m, 24h, 7d ago")
	flags.StringVar(&f.until, "until", "", "before this `TIME`")
	flags.StringVar(&f.Session, "session", "", "of this session's `ID`")
	flags.StringVar(&f.Ticket, "ticket", "", "of this `TICKET`")
	flags.StringVar(&f.Customer, "customer", "", "about this `CUSTOMER`")
	flags.StringVar(&f.Subject, "subject", "", "asked by this `SUBJECT`")
	flags.StringVar(&f.Tenant, "tenant", "", "of this `TENANT`")
	flags.StringVar(&f.Tool, "tool", "", "of this `TOOL`")
	flags.StringVar(&f.outcome, "outcome", "", "`STATE`: ok, refused, pending, failed, or unfinished; of answers valid, rejected")
	flags.StringVar(&f.Code, "code", "", "with this `CODE`")
	flags.StringVar(&f.Approval, "approval", "", "of the approval with this `ID`")
}

// read gives the filter that the flags say.
func (f *filterFlags) read(now time.Time) (audit.Filter, error) {
	out := f.Filter
	out.After = -1
	var err error
	f.cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Value.String() == "" && flag.Name != "config" {
			err = usage("--%s is empty; leave it away to see all", flag.Name)
		}
	})
	if err != nil {
		return out, err
	}
	if out.Since, err = timeOf("--since", f.since, now); err != nil {
		return out, err
	}
	if out.Until, err = timeOf("--until", f.until, now); err != nil {
		return out, err
	}
	switch f.outcome {
	case "", "ok", "refused", "pending", "failed", "valid", "rejected":
		out.Outcome = f.outcome
	case "unfinished":
		out.Unfinished = true
	default:
		return out, usage("--outcome %q: must be ok, refused, pending, failed or unfinished, or of answers valid or rejected", f.outcome)
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
