//go:build wasip1

// collector keeps 20 blocks of 64 KiB alive and replaces them 2,500 times, so that Go's collector must
// keep up for some 150 cycles. With a clock that leaps a millisecond at each reading it does not: the
// runtime believes that it spends its life collecting, stops helping, and runs out of memory.
package main

//go:wasmexport run
func run() int32 {
	var kept [20][]byte
	for i := range 2_500 {
		kept[i%len(kept)] = make([]byte, 64<<10)
		kept[i%len(kept)][i] = 1
	}
	return int32(len(kept))
}

func main() {}
