package sandbox

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// slice is how much fuel a guest burns before it leaves to Go: a fraction of a millisecond of plain
// instructions, and a few milliseconds of the slowest. Native code cannot be preempted; while it runs
// Go's collector waits for it, and the whole host with that.
const slice = 100_000

// longWork is how long a guest may keep the host at work for it before others have their turn: Go itself
// would wait ten times as long.
const longWork = time.Millisecond

// newLook makes the module that rewritten modules import.
func newLook(ctx context.Context, r wazero.Runtime) (api.Module, error) {
	b := r.NewHostModuleBuilder(ownModule)
	look := api.GoFunc(func(ctx context.Context, stack []uint64) {
		stack[0] = uint64(callOf(ctx).look(ctx, int64(stack[0]), int64(stack[1])))
	})
	i64 := api.ValueTypeI64
	b.NewFunctionBuilder().WithGoFunction(look, []api.ValueType{i64, i64}, []api.ValueType{i64}).Export(lookFunction)
	return withoutName(ctx, r, b)
}

// look is called by the guest when one of the two is below zero: the fuel of this slice, or the bytes of
// stack that are left. It gives the fuel of the next slice, or ends the guest.
func (c *call) look(ctx context.Context, fuel, stack int64) int64 {
	if stack < 0 {
		c.stop(Trap, fmt.Errorf("stack overflow: the calls in calls would take more than %d bytes of stack", stackBytes))
	}
	used := c.granted - fuel
	if used > c.fuelLimit() {
		c.stop(OutOfFuel, fmt.Errorf("it used up its %d units of fuel", c.Fuel))
	}
	c.yield()
	c.alive(ctx)
	next := min(slice, c.fuelLimit()-used)
	c.granted = used + next
	return next
}

func (c *call) fuelLimit() int64 { return max(c.Fuel, 0) }

// alive ends the guest if its time is over, and lets others run if it has not done so for a while. It
// looks at the clock itself, because the timer behind the context fires late on a busy host.
func (c *call) alive(ctx context.Context) {
	now := time.Now()
	if now.Sub(c.yielded) > longWork {
		c.yield()
		now = c.yielded
	}
	if ctx.Err() != nil {
		c.stopDone(ctx)
	}
	if now.After(c.deadline) {
		c.stop(Deadline, errTime)
	}
}

// yield lets those run who waited, and the collector.
func (c *call) yield() {
	runtime.Gosched()
	c.yielded = time.Now()
}

// burnt is the fuel that the call has used. The global holds what is left of the last slice.
func (c *call) burnt(guest api.Module) uint64 {
	left := int64(guest.ExportedGlobal(fuelExport).Get())
	return uint64(max(0, min(c.granted-left, c.fuelLimit())))
}
