package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/server"
)

func (c *cli) toolsCommand() *cobra.Command {
	var who sessionFlags
	format := string(server.FormMCP)
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "tools [--format FORMAT] (--session FILE | --as k=v,...)",
		Short:                 "The descriptions of the tools that a session may use now",
		Long: `Writes the tools that this session may use now, as a model should see them, without
toolhost's own keywords: MCP's tools/list result, or the tools of a provider's request.

stderr   which tools are not strict, and why
exit     0, 1 host error, 2 usage, config, or a contract that the provider would reject`,
		Example: `  toolhost tools --format openai --as role=customer,tenant=larkfield`,
		Args:    exactly(0, "tools takes no argument; see: toolhost tools --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			form, ok := server.FormNamed(format, server.ToolForms())
			if !ok {
				return usage("--format %q: this version knows %s", format, server.FormNames(server.ToolForms()))
			}
			return c.tools(cmd.Context(), who, form)
		},
	}
	who.add(cmd)
	cmd.Flags().StringVar(&format, "format", format, "mcp, openai, anthropic or gemini")
	completeForms(cmd, server.ToolForms())
	return cmd
}

func (c *cli) tools(ctx context.Context, who sessionFlags, form server.Form) error {
	s, err := who.read(c)
	if err != nil {
		return err
	}
	h, err := c.look(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	tools, err := form.Tools(h.Tools(ctx, s))
	if err != nil {
		return usageOf(err)
	}
	for _, note := range tools.Notes {
		fmt.Fprintln(c.stderr, clean("note: "+note))
	}
	_, _ = c.stdout.Write(append(tools.JSON, '\n')) // the sink remembers an error
	return nil
}
