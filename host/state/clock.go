package state

import (
	"sync"
	"time"
)

// A clock is the time of one process, and never goes back. Its first reading is
// the wall clock's; what passes after that is measured. A reading of time.Now
// carries the monotonic clock too, so that a wall clock which is set while the
// process runs moves nothing; with readings that do not (a test's), a step back
// stops the time until it is made good. Time that the machine sleeps does not
// pass on every system.
type clock struct {
	read  func() time.Time
	first time.Time

	mu   sync.Mutex
	past time.Duration // since first; the longest so far
}

func newClock(read func() time.Time) *clock { return &clock{read: read, first: read()} }

// now gives the time in microseconds since 1970.
func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past = max(c.past, c.read().Sub(c.first))
	return c.first.UnixMicro() + c.past.Microseconds()
}
