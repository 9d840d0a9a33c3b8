//go:build !race

package audit

const slow = 1
