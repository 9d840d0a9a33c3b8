// exits leaves the process before it has a result.
package main

import (
	"os"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(exits) }

func exits(_ pdk.Call, _ struct{}) (any, error) {
	os.Exit(3)
	return map[string]string{"text": "still here"}, nil
}

func main() {}
