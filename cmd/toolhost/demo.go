package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

const demoMark = "made-by-toolhost-demo" // the file in var/ that says who made it

func (c *cli) demoCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "demo",
		Short:                 "Build the example plugins, fill databases, and decide the recorded proposals",
		Long: `Runs in a checkout of toolhost, with nothing but Go: builds the example plugins to
WebAssembly, makes var/ anew with embedded databases and files, and decides the recorded
proposals of testdata/cases one after another. "call" works on it afterwards, but for the
leave service and the mail server, which listen on the ports of [capabilities.rh] and
[mail.shop] only while the demo decides.

exit     0 every decision is as recorded, 3 one differs, 1 host error, 2 usage or config`,
		Example: `  go run ./cmd/toolhost demo`,
		Args:    exactly(0, "demo takes no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context()) },
	}
}

func (c *cli) demo(ctx context.Context) error {
	conf, err := config.Load(c.configPath(), config.Options{Env: c.env})
	if err != nil {
		return &status{code: exitUsage, err: fmt.Errorf("%w\nthe demo runs in a checkout of toolhost", err)}
	}
	cases, err := readDemoCases(conf.Dir)
	if err != nil {
		return &status{code: exitUsage, err: fmt.Errorf("%w\nthe demo runs in a checkout of toolhost", err)}
	}
	address, err := leaveAddress(conf)
	if err != nil {
		return err
	}
	stop, err := serveLeave(address)
	if err != nil {
		return err
	}
	defer stop()
	at, err := mailAddress(conf)
	if err != nil {
		return err
	}
	box, stopMail, err := serveMail(at)
	if err != nil {
		return err
	}
	defer stopMail()
	if err := c.buildPlugins(ctx, conf); err != nil {
		return err
	}
	if err := c.makeVar(ctx, conf, cases); err != nil {
		return err
	}
	clock := &caseClock{}
	c.clock = clock.now
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	return c.decideAll(ctx, h, clock, cases, box)
}

func (c *cli) buildPlugins(ctx context.Context, conf *config.Config) error {
	for _, t := range conf.Tools {
		shown, err := filepath.Rel(conf.Dir, t.Plugin)
		if err != nil {
			shown = t.Plugin
		}
		if err := c.buildPlugin(ctx, t.Plugin, filepath.ToSlash(shown)); err != nil {
			return err
		}
	}
	return nil
}

// makeVar makes var/ anew. It takes away only what it made itself: a folder
// with its mark in it.
func (c *cli) makeVar(ctx context.Context, conf *config.Config, cases []*caseFile) error {
	folder := filepath.Join(conf.Dir, "var")
	for _, d := range conf.Databases {
		if d.File != filepath.Join(folder, filepath.Base(d.File)) {
			return usage("[databases.%s] lies outside var/, where the demo does not write", d.Name)
		}
	}
	info, err := os.Lstat(folder)
	switch {
	case err == nil:
		_, unmarked := os.Lstat(filepath.Join(folder, demoMark))
		if !info.IsDir() || unmarked != nil {
			return usage("%s is there and was not made by the demo; move it away first", folder)
		}
		if err := os.RemoveAll(folder); err != nil {
			return &status{code: exitHost, err: err}
		}
	case !errors.Is(err, os.ErrNotExist):
		return &status{code: exitHost, err: err}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return &status{code: exitHost, err: err}
	}
	mark := "The demo made this folder and makes it anew at each run.\n"
	if err := os.WriteFile(filepath.Join(folder, demoMark), []byte(mark), 0o600); err != nil {
		return &status{code: exitHost, err: err}
	}
	if err := fillVar(ctx, folder, cases); err != nil {
		return &status{code: exitHost, err: fmt.Errorf("%s: %w", folder, err)}
	}
	for _, a := range conf.Approvers {
		if err := writeToken(folder, a); err != nil {
			return &status{code: exitHost, err: err}
		}
	}
	fmt.Fprintf(c.stderr, "filled   var/desk.db, var/notices.db, var/leave.db, var/tickets, var/keys\n\n")
	return nil
}

// decideAll decides the files of recorded proposals one after another.
func (c *cli) decideAll(ctx context.Context, h *host.Host, clock *caseClock, cases []*caseFile, box *mailbox) error {
	var sums []string
	differs := false
	for _, f := range cases {
		clock.set(f)
		same := c.decideCases(ctx, h, f)
		sums = append(sums, fmt.Sprintf("%d of %d decisions as recorded in %s", same, len(f.Calls), f.path))
		differs = differs || same != len(f.Calls)
	}
	if err := c.peopleDecide(ctx, h, box); err != nil {
		return err
	}
	fmt.Fprintln(c.stdout, strings.Join(sums, "\n"))
	if differs {
		return &status{code: exitNo}
	}
	fmt.Fprintln(c.stdout, "\nnow by hand:\n"+demoNext)
	return nil
}

// decideCases gives how many decisions are as recorded.
func (c *cli) decideCases(ctx context.Context, h *host.Host, f *caseFile) (same int) {
	check := caseCheck{words: map[string]string{}}
	for _, call := range f.Calls {
		s, p := f.session(call.Session), host.Proposal{Tool: call.Tool, Arguments: []byte(call.Arguments)}
		before := h.Stats().Runs[call.Tool]
		o, answers := h.Trace(ctx, s, p)
		c.printProposal(h, p, s)
		c.printAnswers(answers, false, false)
		c.printResult(o.Result)
		fmt.Fprintf(c.stdout, "  %s\n", c.paint(c.stdout, faint, clean(o.Line())))
		differences := check.differences(call, o, h.Stats().Runs[call.Tool] > before)
		for _, d := range differences {
			fmt.Fprintln(c.stdout, "  "+c.paint(c.stdout, red, "DIFFERS     "+d))
		}
		if len(differences) == 0 {
			same++
		}
		fmt.Fprintln(c.stdout)
	}
	return same
}

const demoNext = `  go run ./cmd/toolhost call get_order '{"order_id":"LK-581106"}' --as role=customer,tenant=larkfield,customer=C-81265
  go run ./cmd/toolhost explain get_order '{"order_id":"LK-615204"}' --as role=customer,tenant=larkfield,customer=C-20417
  go run ./cmd/toolhost call read_file '{"path":"chairs.txt"}' --as role=staff,subject=usr-sam,tenant=larkfield,ticket=T-24011
  go run ./cmd/toolhost call issue_refund '{"order_id":"LK-702219","amount":12.50}' --as role=staff,subject=usr-sam,tenant=larkfield,customer=C-31186
  go run ./cmd/toolhost approvals list     (docs/approvals.md goes on from there)
  go run ./cmd/toolhost call search_docs '{"query":"return label"}' --as role=staff,subject=usr-sam,tenant=larkfield`
