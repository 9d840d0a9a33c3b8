package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// instance is a guest between calls or in one.
type instance struct {
	guest   api.Module
	memory  linearMemory
	run     api.Function // nil: to be made anew
	fuel    api.MutableGlobal
	stack   api.MutableGlobal
	globals []api.MutableGlobal // the module's own
	results [1]uint64           // of run
	stale   bool                // a call has had it, and it was not put back
	counted int64               // bytes that it counts with in the pool
	since   moment              // when it became ready
}

// shallowStack is what of its stack a guest gets at first. A guest that needs more is given the rest, and wazero,
// which grows the native stack of a function and never gives it back, makes a new one for the next call.
const shallowStack = 256 << 10

// instantiate makes an instance in the state in which the module stands. That is the host's work alone, looks at no
// clock and may take tens of milliseconds for a large memory: as many are made side by side as there are processors,
// and the others wait in time.
func (m *Module) instantiate(ctx context.Context, i *instance) (err error) {
	select {
	case m.engine.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() {
		<-m.engine.slots
		if r := recover(); r != nil { // it is wazero's own code over the module's bytes
			err = fmt.Errorf("panic while instantiating: %v", r)
		}
	}()
	m.made.Add(1)
	code := m.compiled.Load().code
	ctx = experimental.WithImportResolver(ctx, func(name string) api.Module { return code.hosts[name] })
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return &i.memory })) // the sizes are the module's wishes
	if i.guest, err = code.runtime.InstantiateModule(ctx, code.compiled, instanceConfig()); err != nil {
		return err
	}
	i.fuel = i.guest.ExportedGlobal(fuelExport).(api.MutableGlobal)
	i.stack = i.guest.ExportedGlobal(stackExport).(api.MutableGlobal)
	for _, name := range code.globals {
		i.globals = append(i.globals, i.guest.ExportedGlobal(name).(api.MutableGlobal))
	}
	return nil
}

// begin gives an instance to a call.
func (i *instance) begin(c *call) {
	c.instance, i.memory.call = i, c
	c.granted = c.nextSlice(0) // so that the first function need not ask for it
	i.fuel.Set(uint64(c.granted))
	i.stack.Set(shallowStack)
}

// end takes it back, and says what the call has used.
func (i *instance) end(c *call) {
	c.used, c.memory = c.burnt(), i.memory.use
	c.instance, i.memory.call = nil, nil
	if c.deep {
		i.run = nil
	}
}

// initialize brings a new instance to where calls start.
func (i *instance) initialize(c *call) error {
	i.begin(c)
	defer i.end(c)
	for _, name := range []string{"_initialize", "warm_up"} {
		f := i.guest.ExportedFunction(name)
		if f == nil {
			continue
		}
		if err := f.CallWithStack(&c.ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// call calls run.
func (i *instance) call(c *call) (code int32, err error) {
	if i.run == nil {
		i.run = i.guest.ExportedFunction("run")
	}
	i.begin(c)
	defer i.end(c)
	if err = i.run.CallWithStack(&c.ctx, i.results[:]); err != nil {
		return 0, err // what stands there is of another call
	}
	return int32(uint32(i.results[0])), nil
}

// close ends an instance. It holds no file; there is nothing to report.
func (i *instance) close() {
	if i.guest != nil {
		_ = i.guest.Close(context.Background())
	}
	i.memory.Free() // wazero does so when it closes the instance, if there is one
	i.guest, i.run, i.fuel, i.stack, i.globals = nil, nil, nil, nil, nil
}
