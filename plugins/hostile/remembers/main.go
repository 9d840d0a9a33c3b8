// remembers counts its calls in a variable of the package. The count must always be 1.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(remembers) }

var calls int

func remembers(_ pdk.Call, _ struct{}) (any, error) {
	calls++
	return map[string]int{"calls": calls}, nil
}

func main() {}
