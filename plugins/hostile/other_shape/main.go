// other_shape gives a result that does not fit its contract.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(otherShape) }

func otherShape(_ pdk.Call, _ struct{}) (any, error) {
	return map[string]any{"text": 7, "more": []string{"than", "agreed"}}, nil
}

func main() {}
