// stuck_at_start never ends its initialisation, so that run is never called.
package main

import "github.com/toolhost/toolhost/pdk"

func init() {
	pdk.Tool(never)
	for {
	}
}

func never(_ pdk.Call, _ struct{}) (any, error) { return map[string]string{"text": "never"}, nil }

func main() {}
