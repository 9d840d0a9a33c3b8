// test_tool_with_progress is what the conformance suite of the MCP project calls for progress.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(run) }

func run(c pdk.Call, _ struct{}) (any, error) {
	for _, done := range []float64{0, 50, 100} {
		c.Progress(done, 100)
	}
	return map[string]string{"text": "done"}, nil
}

func main() {}
