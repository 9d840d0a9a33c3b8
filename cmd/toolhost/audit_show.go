package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
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
	if e.Kind == audit.Ended {
		outcome = e.Call.Outcome
		if e.Call.Code != "" {
			outcome += ": " + e.Call.Code + " (" + e.Call.Gate + ")"
		}
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

// toldCall is a call as its entries and what is sealed of them tell it.
type toldCall struct {
	start, end *audit.Entry // start is nil where no guest was to start
	values     map[string]strictjson.Value
	gone       audit.Gone
	tool       string
	who        string
	session    host.Session
}

// tellCall gathers what is known of the call of one of its entries.
func tellCall(r *audit.Reader, rec audit.Record) toldCall {
	told := toldCall{values: map[string]strictjson.Value{}}
	told.take(rec)
	if rec.Entry.Kind == audit.Ended && rec.Entry.Call.Ran {
		_ = r.Find(audit.Filter{Call: rec.Entry.Call.ID, Kinds: []audit.Kind{audit.Started}, After: -1}, func(start audit.Record) error {
			told.take(start)
			return nil
		}) // without its start the call is told from its end
	}
	told.name()
	return told
}

func (t *toldCall) take(rec audit.Record) {
	if rec.Entry.Kind == audit.Started {
		t.start = rec.Entry
	} else {
		t.end = rec.Entry
	}
	if t.gone == "" {
		t.gone = rec.Gone
	}
	for _, v := range rec.Values {
		value, err := strictjson.Read(v.JSON, strictjson.Default(len(v.JSON)))
		if err == nil {
			t.values[v.Name] = value
		}
	}
}

// call is what the entries say of the call, the end's word last.
func (t *toldCall) call() *audit.Call {
	if t.end != nil {
		return t.end.Call
	}
	return t.start.Call
}

func (t *toldCall) text(name string) string {
	s, _ := t.values[name].Text()
	return s
}

// name says which tool and who asked, as far as that can be read.
func (t *toldCall) name() {
	c := t.call()
	t.tool = or(c.Tool, t.text("tool"))
	if t.tool == "" {
		t.tool = "(" + string(t.gone) + ")"
	}
	session, ok := t.values["session"]
	if !ok {
		t.who = strings.TrimSpace(c.Who.Role + " " + c.Who.Person + " (" + string(t.gone) + ")")
		return
	}
	s := host.Session{Subject: t.text("subject"), Attributes: map[string]string{}}
	s.ID, _ = session.TextAt("id")
	s.Role, _ = session.TextAt("role")
	s.Tenant, _ = session.TextAt("tenant")
	attributes, _ := session.Get("attributes")
	for name := range attributes.Members() {
		s.Attributes[name], _ = attributes.TextAt(name)
	}
	t.session, t.who = s, whoAsks(s)
}
