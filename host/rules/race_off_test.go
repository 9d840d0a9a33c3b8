//go:build !race

package rules

const slow = 1
