// huge_result gives a result of a million characters.
package main

import (
	"strings"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(hugeResult) }

func hugeResult(_ pdk.Call, _ struct{}) (any, error) {
	return map[string]string{"text": strings.Repeat("x", 1_000_000)}, nil
}

func main() {}
