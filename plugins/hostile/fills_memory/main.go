// fills_memory keeps all the memory that it can get.
package main

import "github.com/toolhost/toolhost/pdk"

var kept [][]byte

func init() { pdk.Tool(fillsMemory) }

func fillsMemory(pdk.Call, struct{}) (any, error) {
	for {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func main() {}
