// echoes_arguments gives back the arguments that it got, as it got them.
package main

import (
	"encoding/json"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(echo) }

func echo(_ pdk.Call, a map[string]json.RawMessage) (any, error) {
	return map[string]any{"echo": a}, nil
}

func main() {}
