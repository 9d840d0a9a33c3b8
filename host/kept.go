package host

import (
	"errors"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// kept owns the state database: the session gate and the audit log use the one
// that it opens, when it is first needed and again after it could not be.
type kept struct {
	path   string
	bounds state.Limits
	clock  func() time.Time

	mu     sync.Mutex
	state  *state.State
	counts *state.Bounds
	writes *state.Approvals
	failed error     // why there is none
	tried  time.Time // when
}

// again is how long what could not be opened is left alone: many calls at once
// must not wait for its lock one after the other.
const again = time.Second

// open gives the database and what counts in it: both, or why there is neither.
func (k *kept) open() (*state.State, *state.Bounds, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.counts != nil {
		return k.state, k.counts, nil
	}
	if since := time.Since(k.tried); k.failed != nil && since >= 0 && since < again {
		return nil, nil, k.failed
	}
	k.failed, k.tried = k.openBoth(), time.Now()
	return k.state, k.counts, k.failed
}

func (k *kept) openBoth() error {
	s, err := state.Open(k.path)
	if err != nil {
		return err
	}
	counts, err := s.Bounds(k.bounds, k.clock)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	writes, err := s.Approvals(k.clock)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	k.state, k.counts, k.writes = s, counts, writes
	return nil
}

// approvals gives the approvals that are kept, or why there are none.
func (k *kept) approvals() (*state.Approvals, error) {
	if _, _, err := k.open(); err != nil {
		return nil, err
	}
	return k.writes, nil
}

func (k *kept) inUse() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state != nil
}

// Close closes the database where it is open.
func (k *kept) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == nil {
		return nil
	}
	return k.state.Close()
}
