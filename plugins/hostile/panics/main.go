// panics panics. The pdk makes an error of it; the instance is thrown away.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(panics) }

func panics(pdk.Call, struct{}) (any, error) {
	panic("on purpose")
}

func main() {}
