// test_simple_text is what the conformance suite of the MCP project calls for a text.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(run) }

func run(pdk.Call, struct{}) (any, error) {
	return map[string]string{"text": "This is a simple text response for testing."}, nil
}

func main() {}
