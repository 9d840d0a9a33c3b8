// calls_without_end asks the host without end.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(callsWithoutEnd) }

func callsWithoutEnd(c pdk.Call, _ struct{}) (any, error) {
	for i := 0; ; i++ {
		c.Log(pdk.Info, "again and again")
		c.Progress(float64(i), float64(i+1))
	}
}

func main() {}
