package sandbox

import "testing"

// notUnderRace passes over a long test of code that runs in one goroutine: the race detector would take
// minutes to find nothing.
func notUnderRace(t *testing.T) {
	t.Helper()
	if underRace == 1 {
		t.Skip("one goroutine: nothing for the race detector")
	}
}
