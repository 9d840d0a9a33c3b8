//go:build wasip1

// no_result returns as if all were well and has given no result. The pdk would not let it, so it does
// without.
package main

//go:wasmexport run
func run() int32 { return 0 }

func main() {}
