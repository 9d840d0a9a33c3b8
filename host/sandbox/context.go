package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errTime tells the call's own deadline from any of its caller's.
var errTime = errors.New("the time of this call is used up")

// callContext is the context of one call: its caller's, with the call's own deadline and the call in it. The timer
// that a deadline usually takes is set only for those who wait for Done; the guest itself is stopped by its looks.
type callContext struct {
	context.Context //nolint:containedctx // the caller's: this is a context itself
	call            *call

	mu    sync.Mutex
	timed context.Context //nolint:containedctx // nil: nobody has asked for Done
	end   context.CancelFunc
	ended bool
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// Deadline implements context.Context.
func (x *callContext) Deadline() (time.Time, bool) {
	if theirs, ok := x.Context.Deadline(); ok && theirs.Before(x.call.deadline) {
		return theirs, true
	}
	return x.call.deadline, true
}

// Done implements context.Context.
func (x *callContext) Done() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timed == nil {
		x.timed, x.end = context.WithDeadlineCause(x.Context, x.call.deadline, errTime)
		if x.ended {
			x.end()
		}
	}
	return x.timed.Done()
}

// Err implements context.Context.
func (x *callContext) Err() error {
	x.mu.Lock()
	timed, ended := x.timed, x.ended
	x.mu.Unlock()
	switch {
	case timed != nil:
		return timed.Err()
	case x.Context.Err() != nil:
		return x.Context.Err()
	case ended:
		return context.Canceled
	case time.Now().After(x.call.deadline):
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// over says whether the context has ended, where a function that was given it has just returned with this error. If
// nobody has waited for the end, the clock is not looked at: the guest's next look does so anyway.
func (x *callContext) over(err error) bool {
	x.mu.Lock()
	waited := x.timed != nil
	x.mu.Unlock()
	if waited || err != nil {
		return x.Err() != nil
	}
	return x.Context.Err() != nil
}

// Value implements context.Context. What a context made from this one asks its parents for is in the timed one.
func (x *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return x.call
	}
	x.mu.Lock()
	timed := x.timed
	x.mu.Unlock()
	if timed != nil {
		return timed.Value(key)
	}
	return x.Context.Value(key)
}

// close ends what was made from the context.
func (x *callContext) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	if x.end != nil {
		x.end()
	}
}

// why says how a call ended whose context has.
func (x *callContext) why() *Stop {
	if x.Context.Err() != nil {
		return &Stop{Reason: Cancelled, Err: context.Cause(x.Context)}
	}
	return &Stop{Reason: Deadline, Err: errTime}
}
