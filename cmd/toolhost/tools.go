package main

import (
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
)

func (c *cli) toolsCommand() *cobra.Command {
	var who sessionFlags
	format := "mcp"
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "tools (--session FILE | --as k=v,...)",
		Short:                 "The descriptions of the tools that a session may use now",
		Long: `Writes the tools that this session may use now, as a model should see them: one
JSON object in the form of MCP's tools/list result, without toolhost's own keywords.`,
		Example: `  toolhost tools --as role=customer,tenant=larkfield`,
		Args:    exactly(0, "tools takes no argument; see: toolhost tools --help"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "mcp" {
				return usage("--format %q: this version knows mcp", format)
			}
			s, err := who.read(c)
			if err != nil {
				return err
			}
			h, err := c.look(cmd.Context())
			if err != nil {
				return err
			}
			defer h.Close()
			_, _ = c.stdout.Write(append(mcpTools(h.Tools(cmd.Context(), s)), '\n')) // the sink remembers an error
			return nil
		},
	}
	who.add(cmd)
	cmd.Flags().StringVar(&format, "format", format, "mcp")
	return cmd
}

// mcpTools writes the result of MCP's tools/list. The annotations come from
// the config's effect, never from a plugin.
func mcpTools(tools []host.Tool) []byte {
	b := []byte(`{"tools":[`)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = strictjson.AppendString(b, t.Name)
		if t.Title != "" {
			b = strictjson.AppendString(append(b, `,"title":`...), t.Title)
		}
		b = strictjson.AppendString(append(b, `,"description":`...), t.Description)
		b = t.Input.AppendJSON(append(b, `,"inputSchema":`...))
		b = t.Output.AppendJSON(append(b, `,"outputSchema":`...))
		if t.Effect == "read" {
			b = append(b, `,"annotations":{"readOnlyHint":true}`...)
		}
		b = append(b, '}')
	}
	return append(b, `]}`...)
}
