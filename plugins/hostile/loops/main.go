// loops never returns.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(loops) }

func loops(_ pdk.Call, _ struct{}) (any, error) {
	for {
	}
}

func main() {}
