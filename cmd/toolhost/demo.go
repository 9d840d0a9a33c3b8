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

const (
	demoCases    = "testdata/cases/orders.json"
	demoDatabase = "desk"
	demoMark     = "made-by-toolhost-demo" // the file in var/ that says who made it
)

func (c *cli) demoCommand() *cobra.Command {
	return &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "demo",
		Short:                 "Build the example plugin, fill a database, and decide the recorded proposals",
		Long: `Runs in a checkout of toolhost, with nothing but Go: builds the example plugin to
WebAssembly, makes var/ anew with an embedded database, and decides the recorded
proposals of testdata/cases/orders.json one after another. "call" works on it afterwards.

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
	f, err := readCases(filepath.Join(conf.Dir, demoCases))
	if err != nil {
		return &status{code: exitUsage, err: fmt.Errorf("%w\nthe demo runs in a checkout of toolhost", err)}
	}
	for _, t := range conf.Tools {
		shown, err := filepath.Rel(conf.Dir, t.Plugin)
		if err != nil {
			shown = t.Plugin
		}
		if err := c.buildPlugin(ctx, t.Plugin, filepath.ToSlash(shown)); err != nil {
			return err
		}
	}
	if err := c.makeVar(ctx, conf, f); err != nil {
		return err
	}
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	return c.decideCases(ctx, h, f)
}

// makeVar makes var/ anew. It takes away only what it made itself: a folder
// with its mark in it.
func (c *cli) makeVar(ctx context.Context, conf *config.Config, f *caseFile) error {
	folder := filepath.Join(conf.Dir, "var")
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
	for _, d := range conf.Databases {
		if d.Name != demoDatabase {
			continue
		}
		if rel, err := filepath.Rel(folder, d.File); err != nil || strings.HasPrefix(rel, "..") {
			return usage("[databases.%s] lies outside var/, where the demo does not write", d.Name)
		}
		if err := os.MkdirAll(filepath.Dir(d.File), 0o700); err != nil {
			return &status{code: exitHost, err: err}
		}
		mark := "The demo made this folder and makes it anew at each run.\n"
		if err := os.WriteFile(filepath.Join(folder, demoMark), []byte(mark), 0o600); err != nil {
			return &status{code: exitHost, err: err}
		}
		if err := fillDesk(ctx, d.File, f); err != nil {
			return &status{code: exitHost, err: fmt.Errorf("%s: %w", d.File, err)}
		}
		fmt.Fprintf(c.stderr, "filled   var/%s\n\n", filepath.Base(d.File))
		return nil
	}
	return usage("the config names no database %q for the demo to fill", demoDatabase)
}

func (c *cli) decideCases(ctx context.Context, h *host.Host, f *caseFile) error {
	check := caseCheck{words: map[string]string{}}
	same := 0
	for i, call := range f.Calls {
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		s, p := f.session(call.Session), host.Proposal{Tool: call.Tool, Arguments: []byte(call.Arguments)}
		before := h.Stats().Instances[call.Tool]
		o, answers := h.Trace(ctx, s, p)
		c.printProposal(h, p, s)
		c.printAnswers(answers, false)
		c.printResult(o.Result)
		fmt.Fprintf(c.stdout, "  %s\n", c.paint(c.stdout, faint, clean(o.Line())))
		differences := check.differences(call, o, h.Stats().Instances[call.Tool] > before)
		for _, d := range differences {
			fmt.Fprintln(c.stdout, "  "+c.paint(c.stdout, red, "DIFFERS     "+d))
		}
		if len(differences) == 0 {
			same++
		}
	}
	fmt.Fprintf(c.stdout, "\n%d of %d decisions as recorded in %s\n", same, len(f.Calls), demoCases)
	if same != len(f.Calls) {
		return &status{code: exitNo}
	}
	fmt.Fprintln(c.stdout, "\nnow by hand:\n"+demoNext)
	return nil
}

const demoNext = `  go run ./cmd/toolhost call get_order '{"order_id":"LK-581106"}' --as role=customer,tenant=larkfield,customer=C-81265
  go run ./cmd/toolhost explain get_order '{"order_id":"LK-615204"}' --as role=customer,tenant=larkfield,customer=C-20417`
