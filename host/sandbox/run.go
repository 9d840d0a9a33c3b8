package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Call is what one run may use. Zero bounds allow nothing (S11).
type Call struct {
	Time      time.Duration // over instantiation, _initialize and run together
	Fuel      int64         // units (docs/sandbox.md), over _initialize and run together
	HostCalls int           // calls of offered functions, toolhost.log not counted
	LogBytes  int           // stdout, stderr and toolhost.log requests together
	Functions Functions     // answers what the guest asks
	Random    io.Reader     // the guest's random numbers; nil: crypto/rand
	Clock     Clock         // the guest's clocks; nil: the real ones
	Output    io.Writer     // the guest's stdout and stderr; nil drops them
}

// Clock gives the time of a WASI clock in nanoseconds: since 1970, or, monotonic, since any moment before.
type Clock func(monotonic bool) uint64

// Usage is what one run used, however it ended.
type Usage struct {
	Time        time.Duration
	Fuel        uint64 // the same for the same call everywhere, unless time ended it
	MemoryBytes int64  // the linear memory at its largest
	HostCalls   int
}

// call is the state of one run. It travels in the context, because host modules outlive calls.
type call struct {
	Call
	deadline time.Time
	turn     time.Time // when its turn began
	looked   time.Time // when it looked at the clock
	output   *output
	memory   linearMemory
	granted  int64   // fuel that was given out so far
	used     uint64  // fuel that was used, once it has ended
	calls    int     // that count against HostCalls
	kept     *answer // S7
	stopped  *Stop   // set by what ended the guest from the host's side
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// errTime tells the call's own deadline from any of its caller's.
var errTime = errors.New("the time of this call is used up")

// Run makes an instance, initialises it, calls run and closes it (S4). It returns what run returned.
// The error is a *Stop if the guest did not return from run, or if it returned another number than 0
// after it was refused memory. Run may be called from several goroutines.
func (m *Module) Run(ctx context.Context, given Call) (Usage, int32, error) {
	if !m.enter() {
		return Usage{}, 0, errors.New("the module is closed")
	}
	defer m.leave()
	if given.Functions == nil {
		return Usage{}, 0, errors.New("a call without Functions")
	}
	start := time.Now()
	c := &call{
		Call: given, deadline: start.Add(given.Time), turn: start, looked: start,
		output: newOutput(given.Output, given.LogBytes), memory: linearMemory{limit: m.limit},
	}
	ctx, cancel := context.WithTimeoutCause(ctx, given.Time, errTime)
	defer cancel()
	c.memory.alive = func() { c.alive(ctx) }
	defer c.memory.Free() // wazero does so when it closes the instance, if there is one
	code, err := m.runInstance(context.WithValue(ctx, callKey{}, c), c)
	err = c.verdict(ctx, code, err)
	return Usage{Time: time.Since(start), Fuel: c.used, MemoryBytes: c.memory.most, HostCalls: c.calls}, code, err
}

func (m *Module) runInstance(ctx context.Context, c *call) (code int32, err error) {
	defer func() { // instantiating is wazero's own code over the module's bytes
		if r := recover(); r != nil {
			code, err = 0, fmt.Errorf("panic while instantiating: %v", r)
		}
	}()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	ctx = experimental.WithImportResolver(ctx, func(name string) api.Module { return m.hosts[name] })
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return &c.memory })) // the sizes are the module's wishes
	guest, err := m.instantiate(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		c.used = c.burnt(guest)
		_ = guest.Close(ctx) // it holds no file; there is nothing to report
	}()
	if initialize := guest.ExportedFunction("_initialize"); initialize != nil {
		if _, err := initialize.Call(ctx); err != nil {
			return 0, err
		}
	}
	results, err := guest.ExportedFunction("run").Call(ctx)
	if err != nil {
		return 0, err
	}
	return int32(uint32(results[0])), nil
}

// instantiate makes an instance. That is the host's work alone, looks at no clock and may take tens of milliseconds
// for a large memory: as many are made side by side as there are processors, and the others wait in time.
func (m *Module) instantiate(ctx context.Context) (api.Module, error) {
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-m.slots }()
	m.instances.Add(1)
	return m.runtime.InstantiateModule(ctx, m.compiled, instanceConfig())
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
func (c *call) stopDone(ctx context.Context) {
	s := doneStop(ctx)
	c.stop(s.Reason, s.Err)
}

func doneStop(ctx context.Context) *Stop {
	cause := context.Cause(ctx)
	if errors.Is(cause, errTime) {
		return &Stop{Reason: Deadline, Err: cause}
	}
	return &Stop{Reason: Cancelled, Err: cause}
}

// verdict says how the guest ended. What the host did comes first, then the context, because wazero
// reports both as exit codes that a guest could choose; then the refused growth, which explains
// what looks like the guest's own end; what is left is a trap.
func (c *call) verdict(ctx context.Context, code int32, err error) error {
	grew := c.memory.refused
	switch {
	case c.stopped != nil && (c.stopped.Reason != Exit || !grew):
		return c.stopped
	case c.stopped == nil && err != nil && ctx.Err() != nil:
		return doneStop(ctx)
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
	return &Stop{Reason: OutOfMemory, Err: fmt.Errorf("growth beyond %d bytes was refused; then: %s", c.memory.limit, then)}
}
