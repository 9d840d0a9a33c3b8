//go:build race

package audit

// slow: the race detector makes SQLite, which is Go here, some ten times
// slower. Tests of many do with fewer.
const slow = 5
