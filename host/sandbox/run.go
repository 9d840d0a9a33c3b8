package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Call is what one run may use. Zero bounds allow nothing (S11).
type Call struct {
	Time      time.Duration // waiting for an instance, making one, and run; not compiling, where that was not done before
	Fuel      int64         // units (docs/sandbox.md), for run; an instance that must be initialised has as much for that
	HostCalls int           // calls of offered functions, toolhost.log not counted
	LogBytes  int           // stdout, stderr and toolhost.log requests together, of _initialize and warm_up too
	Functions Functions     // answers what the guest asks
	Random    io.Reader     // the guest's random numbers in run; nil: crypto/rand
	Clock     Clock         // the guest's clocks in run; nil: the real ones
	Output    io.Writer     // the guest's stdout and stderr; nil drops them
}

// Clock gives the time of a WASI clock in nanoseconds: since 1970, or, monotonic, since any moment before.
type Clock func(monotonic bool) uint64

// Usage is what one run used, however it ended.
type Usage struct {
	Time        time.Duration
	Fuel        uint64 // of run; the same for the same call from the same image, unless time ended it
	MemoryBytes int64  // the linear memory at its largest
	HostCalls   int
}

// call is the state of one run. It travels in the context, because host modules outlive calls.
type call struct {
	Call
	ctx      callContext
	deadline moment
	turn     moment // when its turn began
	looked   moment // when it looked at the clock
	output   output
	instance *instance // that it runs in; nil: none
	memory   memoryUse // once it has ended
	limit    uint64    // bytes of memory
	granted  int64     // fuel that was given out so far
	used     uint64    // fuel that was used, once it has ended
	deep     bool      // it was given all of its stack
	calls    int       // that count against HostCalls
	kept     *answer   // S7
	stopped  *Stop     // set by what ended the guest from the host's side
}

func (m *Module) newCall(ctx context.Context, given Call, start moment) *call {
	c := &call{
		Call: given, deadline: start.add(given.Time), turn: start, looked: start,
		output: newOutput(given.Output, given.LogBytes), limit: m.limit,
	}
	c.ctx.Context, c.ctx.call = ctx, c
	return c
}

// Run calls run in an instance that stands where the module's image does, and lets nothing of the call remain in
// it (S4). It returns what run returned. The error is a *Stop if the guest did not return from run, or if it returned
// another number than 0 after it was refused memory. Run may be called from several goroutines.
func (m *Module) Run(ctx context.Context, given Call) (Usage, int32, error) {
	if given.Functions == nil {
		return Usage{}, 0, errors.New("a call without Functions")
	}
	if err := m.Prepare(ctx); err != nil { // which does not count as the call's time
		if ctx.Err() != nil {
			err = &Stop{Reason: Cancelled, Err: context.Cause(ctx)}
		}
		return Usage{}, 0, err
	}
	start := now()
	c := m.newCall(ctx, given, start)
	defer c.ctx.close()
	code, err := m.runInstance(c)
	err = c.verdict(code, err)
	return Usage{Time: c.looked.since(start), Fuel: c.used, MemoryBytes: c.memory.most, HostCalls: c.calls}, code, err
}

var errClosed = errors.New("the module is closed")

func (m *Module) runInstance(c *call) (code int32, err error) {
	m.runs.Add(1)
	i, err := m.take(c)
	if err != nil {
		c.looked = now()
		return 0, err
	}
	well := false
	defer func() { m.pool.give(m, i, well) }() // a panic of ours leaves nothing behind that somebody uses
	code, err = i.call(c)
	well, c.looked = err == nil, now()
	i.since = c.looked
	return code, err
}

// stop ends the guest from within a host function: wazero unwinds the guest's stack at a panic and
// gives it back as an error, which verdict replaces by what is remembered here.
func (c *call) stop(reason Reason, err error) {
	if c.stopped == nil {
		c.stopped = &Stop{Reason: reason, Err: err}
	}
	panic(c.stopped)
}

// stopDone ends the guest because its context has ended.
func (c *call) stopDone() {
	s := c.ctx.why()
	c.stop(s.Reason, s.Err)
}

// verdict says how the guest ended. What the host did comes first, then the context, because wazero
// reports both as exit codes that a guest could choose; then the refused growth, which explains
// what looks like the guest's own end; what is left is a trap.
func (c *call) verdict(code int32, err error) error {
	grew := c.memory.refused
	_, before := errors.AsType[*Stop](err) // it ended before run was called
	switch {
	case c.stopped != nil && (c.stopped.Reason != Exit || !grew):
		return c.stopped
	case c.stopped == nil && err != nil && c.ctx.Err() != nil:
		return c.ctx.why()
	case before, errors.Is(err, errClosed):
		return err
	case grew && err != nil:
		return c.outOfMemory(firstLine(err.Error()))
	case grew && code != 0:
		return c.outOfMemory(fmt.Sprintf("run returned %d", code))
	case err != nil:
		return &Stop{Reason: Trap, Err: errors.New(firstLine(err.Error()))}
	default:
		return nil
	}
}

func (c *call) outOfMemory(then string) error {
	return &Stop{Reason: OutOfMemory, Err: fmt.Errorf("growth beyond %d bytes was refused; then: %s", c.limit, then)}
}
