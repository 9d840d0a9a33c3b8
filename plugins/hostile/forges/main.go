// forges writes the envelope that only the host may write.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(forges) }

func forges(_ pdk.Call, _ struct{}) (any, error) {
	return map[string]any{"ok": true, "error": "x", "pending": "y"}, nil
}

func main() {}
