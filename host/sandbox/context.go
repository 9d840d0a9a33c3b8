package sandbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// errTime tells the call's own deadline from any of its caller's.
var errTime = errors.New("the time of this call is used up")

// moment is a reading of the monotonic clock: nanoseconds since began. It is half as dear as a time.Time.
type moment int64

// began is where the monotonic clock starts, that of guests too.
var began = time.Now()

func now() moment { return moment(time.Since(began)) }

func (m moment) add(d time.Duration) moment { return m + moment(d) }

func (m moment) since(earlier moment) time.Duration { return time.Duration(m - earlier) }

// callContext is the context of one call: its caller's, with the call's own deadline and the call in it. The timer
// that a deadline usually takes is set only for those who wait for Done; the guest itself is stopped by its looks.
type callContext struct {
	context.Context //nolint:containedctx // the caller's: this is a context itself
	call            *call

	timed atomic.Pointer[timedContext] // nil: nobody has asked for Done
	ended atomic.Bool
	mu    sync.Mutex // held while timed is made
}

type timedContext struct {
	context.Context //nolint:containedctx // with the timer
	end             context.CancelFunc
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	if x, ok := ctx.(*callContext); ok {
		return x.call
	}
	return ctx.Value(callKey{}).(*call)
}

// Deadline implements context.Context.
func (x *callContext) Deadline() (time.Time, bool) {
	own := began.Add(time.Duration(x.call.deadline))
	if theirs, ok := x.Context.Deadline(); ok && theirs.Before(own) {
		return theirs, true
	}
	return own, true
}

// Done implements context.Context.
func (x *callContext) Done() <-chan struct{} {
	if t := x.timed.Load(); t != nil {
		return t.Done()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timed.Load() == nil {
		ctx, end := context.WithDeadlineCause(x.Context, began.Add(time.Duration(x.call.deadline)), errTime)
		x.timed.Store(&timedContext{ctx, end})
	}
	t := x.timed.Load()
	if x.ended.Load() {
		t.end()
	}
	return t.Done()
}

// Err implements context.Context.
func (x *callContext) Err() error {
	if t := x.timed.Load(); t != nil {
		return t.Err()
	}
	switch err := x.Context.Err(); {
	case err != nil:
		return err
	case x.ended.Load():
		return context.Canceled
	case now() > x.call.deadline:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// over says whether the context has ended, where a function that was given it has just returned with this error. If
// nobody has waited for the end, the clock is not looked at: the guest's next look does so anyway.
func (x *callContext) over(err error) bool {
	if err != nil || x.timed.Load() != nil {
		return x.Err() != nil
	}
	return x.Context.Err() != nil
}

// Value implements context.Context. What a context made from this one asks its parents for is in the timed one.
func (x *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return x.call
	}
	if t := x.timed.Load(); t != nil {
		return t.Value(key)
	}
	return x.Context.Value(key)
}

// close ends what was made from the context.
func (x *callContext) close() {
	x.ended.Store(true)
	if t := x.timed.Load(); t != nil {
		t.end()
	}
}

// why says how a call ended whose context has.
func (x *callContext) why() *Stop {
	if x.Context.Err() != nil {
		return &Stop{Reason: Cancelled, Err: context.Cause(x.Context)}
	}
	return &Stop{Reason: Deadline, Err: errTime}
}
