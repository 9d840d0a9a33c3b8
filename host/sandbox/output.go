package sandbox

import (
	"fmt"
	"io"
)

// output is what a guest may say in one call: stdout, stderr and log together (S10). A Go stack
// overflow alone writes tens of kilobytes.
type output struct {
	to    io.Writer
	limit int
	left  int
	said  bool // that something was dropped
}

func newOutput(to io.Writer, limit int) output {
	if to == nil {
		to = io.Discard
	}
	limit = max(limit, 0)
	return output{to: to, limit: limit, left: limit}
}

// take says whether n more bytes may pass. After the first refusal none may: what follows a gap misleads.
func (o *output) take(n int) bool {
	if !o.said && n <= o.left {
		o.left -= n
		return true
	}
	o.drop()
	return false
}

func (o *output) drop() {
	o.left = 0
	if !o.said {
		o.said = true
		_, _ = fmt.Fprintf(o.to, "\n[the guest said more than %d bytes: the rest is dropped]\n", o.limit)
	}
}

// Write passes on what the bound allows and always succeeds: a guest must not behave otherwise
// because its log is full.
func (o *output) Write(p []byte) (int, error) {
	pass := min(len(p), o.left)
	if pass > 0 {
		o.left -= pass
		_, _ = o.to.Write(p[:pass])
	}
	if pass < len(p) {
		o.drop()
	}
	return len(p), nil
}
