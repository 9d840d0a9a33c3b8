// says_without_end writes to its log without end.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(saysWithoutEnd) }

func saysWithoutEnd(c pdk.Call, _ struct{}) (any, error) {
	for {
		c.Log(pdk.Info, "and another thing")
	}
}

func main() {}
