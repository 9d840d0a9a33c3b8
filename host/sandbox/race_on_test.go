//go:build race

package sandbox

const underRace = 1
