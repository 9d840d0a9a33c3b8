package server

import "github.com/toolhost/toolhost/host"

// mcpForm writes the result of MCP's tools/list. The annotations come from the
// config's effect, never from a plugin.
func mcpForm(tools []host.Tool) []byte {
	b := appendEach([]byte(`{"tools":`), len(tools), func(b []byte, i int) []byte {
		t := tools[i]
		b = appendField(b, `{"name`, t.Name)
		if t.Title != "" {
			b = appendField(b, `,"title`, t.Title)
		}
		b = appendField(b, `,"description`, t.Description)
		b = t.Input.AppendJSON(append(b, `,"inputSchema":`...))
		if t.Effect == "read" { // as mcpTool has it
			b = t.Output.AppendJSON(append(b, `,"outputSchema":`...))
			b = append(b, `,"annotations":{"readOnlyHint":true}`...)
		}
		return append(b, '}')
	})
	return append(b, '}')
}
