package capabilities

import (
	"os"
	"testing"
)

// needs skips a test on a machine that does not allow what it needs, and
// says so in one line; with TOOLHOST_NEEDS=all that is a failure.
func needs(t *testing.T, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("TOOLHOST_NEEDS") == "all":
		t.Fatalf("needs %s: %v", what, err)
	default:
		t.Skipf("needs %s: %v", what, err)
	}
}
