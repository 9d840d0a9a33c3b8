// recurses calls itself until something gives way.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(recurses) }

func recurses(_ pdk.Call, _ struct{}) (any, error) {
	return map[string]int{"depth": deeper(0)}, nil
}

func deeper(n int) int { return deeper(n+1) + 1 }

func main() {}
