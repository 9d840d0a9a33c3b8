// test_error_handling is what the conformance suite of the MCP project calls for an error.
package main

import (
	"errors"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(run) }

func run(pdk.Call, struct{}) (any, error) {
	return nil, errors.New("this tool intentionally returns an error for testing")
}

func main() {}
