package sandbox

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// A slice is the fuel that a guest burns before it leaves to Go. Native code cannot be preempted; while it
// runs Go's collector waits for it, and the whole host with that. Most code burns a slice in 20 to 100 us. Code
// that is slower for its fuel, because each access touches a page for the first time, gets shorter slices.
const (
	slice      = 300_000
	shortSlice = 30_000
	longSlice  = time.Millisecond // a slice that took longer was too long
	// largeForSlice: with more memory a slice can touch so many new pages that it takes tens of milliseconds.
	largeForSlice = 16 << 20
)

// longTurn is how long a guest and what the host does for it may run before others have their turn. Go itself
// would wait twenty times as long; the collector does not wait for this, but for the next look only. A turn
// given away costs some microseconds, because the guest may come back on another core.
const longTurn = 500 * time.Microsecond

// newLook makes the module that rewritten modules import.
func newLook(ctx context.Context, r wazero.Runtime) (api.Module, error) {
	b := r.NewHostModuleBuilder(ownModule)
	look := api.GoFunc(func(ctx context.Context, stack []uint64) {
		stack[0] = uint64(callOf(ctx).look(int64(stack[0]), int64(stack[1])))
	})
	i64 := api.ValueTypeI64
	b.NewFunctionBuilder().WithGoFunction(look, []api.ValueType{i64, i64}, []api.ValueType{i64}).Export(lookFunction)
	return withoutName(ctx, r, b)
}

// look is called by the guest when one of the two is below zero: the fuel of this slice, or the bytes of
// stack that are left. It gives the fuel of the next slice, or ends the guest.
func (c *call) look(fuel, stack int64) int64 {
	if stack < 0 {
		c.deeper(stack)
	}
	used := c.granted - fuel
	if used > c.fuelLimit() {
		c.stop(OutOfFuel, fmt.Errorf("it used up its %d units of fuel", c.Fuel))
	}
	before := c.looked
	c.alive()
	next := c.nextSlice(c.looked.since(before))
	next = min(next, c.fuelLimit()-used)
	c.granted = used + next
	return next
}

// nextSlice is the fuel to the next look, after a slice that took so long.
func (c *call) nextSlice(took time.Duration) int64 {
	next := int64(slice)
	if took > longSlice || c.instance.memory.use.most > largeForSlice {
		next = shortSlice
	}
	return min(next, c.fuelLimit())
}

// deeper gives a guest the rest of its stack, once.
func (c *call) deeper(left int64) {
	if !c.deep {
		left += stackBytes - shallowStack
		c.instance.stack.Set(uint64(left))
		c.deep = true
	}
	if left < 0 {
		c.stop(Trap, fmt.Errorf("stack overflow: the calls in calls would take more than %d bytes of stack", stackBytes))
	}
}

func (c *call) fuelLimit() int64 { return max(c.Fuel, 0) }

// alive ends the guest if its time is over, and lets others run if its turn was long. It looks at the clock
// itself, because the timer behind the context fires late on a busy host.
func (c *call) alive() {
	c.looked = now()
	if c.looked.since(c.turn) > longTurn {
		runtime.Gosched()
		c.looked = now()
		c.turn = c.looked
	}
	if c.ctx.Context.Err() != nil {
		c.stopDone()
	}
	if c.looked > c.deadline {
		c.stop(Deadline, errTime)
	}
}

// burnt is the fuel that the guest has used since it was called. The global holds what is left of the last slice.
func (c *call) burnt() uint64 {
	left := int64(c.instance.fuel.Get())
	return uint64(max(0, min(c.granted-left, c.fuelLimit())))
}
