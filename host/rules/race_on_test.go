//go:build race

package rules

// slow: the race detector makes rules some ten times slower; tests of many do with fewer.
const slow = 10
