package main

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/server"
)

func (c *cli) serveCommand() *cobra.Command {
	var who sessionFlags
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "serve (--session FILE | --as k=v,...)",
		Short:                 "Speak MCP on stdin and stdout, for one session",
		Long: `Serves the tools that this session may use to one MCP client, until stdin ends. Who
asks is said here, or by TOOLHOST_SESSION (a file) or TOOLHOST_AS, never by the client.
Stdout carries the protocol alone; the log is on stderr. Beside it, rows that people have
approved are delivered, as the command deliver does.

exit     0 when stdin ends or a signal ends it, 1 host error, 2 usage or config`,
		Example: `  toolhost serve --session session.toml`,
		Args:    exactly(0, "serve takes no argument; see: toolhost serve --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.noApprover(); err != nil {
				return err
			}
			who.fromEnvironment(c)
			s, err := who.read(c)
			if err != nil {
				return err
			}
			h, err := c.open(cmd.Context())
			if err != nil {
				return err
			}
			defer h.Close()
			h.Ahead()
			c.warnOfAttributes(h, s)
			defer deliverBeside(cmd.Context(), h)()
			if err := server.ServeMCP(cmd.Context(), h, s, server.MCPOptions{In: c.stdin, Out: c.stdout, Version: ownVersion()}); err != nil {
				return &status{code: exitHost, err: err}
			}
			return nil
		},
	}
	who.add(cmd)
	return cmd
}

// deliverBeside delivers rows until stop is called, where the config has any to
// deliver.
func deliverBeside(ctx context.Context, h *host.Host) (stop func()) {
	if !h.Delivers() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var worker sync.WaitGroup
	worker.Go(func() { h.Deliver(ctx, nil) })
	return func() {
		cancel()
		worker.Wait()
	}
}
