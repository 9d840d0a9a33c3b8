package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// This file is the whole of WASI preview 1 that a guest may import: clocks, random numbers, output, a
// sleep, and questions that are answered with "nothing there". The signatures are those of
// wasi_snapshot_preview1. There is no path_* and no sock_*, and no function here opens anything. Each
// of them first looks whether the call's time is over, and none does more than a bounded piece of work
// before it looks again (S12).

const wasiModule = "wasi_snapshot_preview1"

// Error numbers of WASI.
const (
	wasiOK    = 0
	wasiBadf  = 8
	wasiFault = 21
	wasiInval = 28
	wasiSpipe = 70
)

// environment is what every guest finds. It halves the memory of a Go guest at no measurable cost.
const environment = "GOGC=25\x00"

// wasiCall is one call of a WASI function.
type wasiCall struct {
	*call
	mem  api.Memory
	args []uint64
}

func (w *wasiCall) u32(n int) uint32 { return uint32(w.args[n]) }

// wasiFunction is one row of the table: its signature, and what is done.
type wasiFunction struct {
	signature
	do func(*wasiCall, context.Context) uint32 // gives an error number
}

// wasiFunctions is the literal list.
func wasiFunctions() map[string]wasiFunction {
	i, I := i32Value, i64Value
	return map[string]wasiFunction{
		"args_get":            {signature{i + i, i}, ok},
		"args_sizes_get":      {signature{i + i, i}, func(w *wasiCall, _ context.Context) uint32 { return w.sizes(0, 0) }},
		"environ_get":         {signature{i + i, i}, (*wasiCall).environ},
		"environ_sizes_get":   {signature{i + i, i}, func(w *wasiCall, _ context.Context) uint32 { return w.sizes(1, len(environment)) }},
		"clock_res_get":       {signature{i + i, i}, (*wasiCall).clockResolution},
		"clock_time_get":      {signature{i + I + i, i}, (*wasiCall).clockTime},
		"random_get":          {signature{i + i, i}, (*wasiCall).random},
		"sched_yield":         {signature{"", i}, ok},
		"fd_close":            {signature{i, i}, (*wasiCall).standard},
		"fd_fdstat_get":       {signature{i + i, i}, (*wasiCall).status},
		"fd_fdstat_set_flags": {signature{i + i, i}, (*wasiCall).standard},
		"fd_prestat_get":      {signature{i + i, i}, noFile},
		"fd_prestat_dir_name": {signature{i + i + i, i}, noFile},
		"fd_read":             {signature{i + i + i + i, i}, (*wasiCall).read},
		"fd_seek":             {signature{i + I + i + i, i}, (*wasiCall).seek},
		"fd_write":            {signature{i + i + i + i, i}, (*wasiCall).write},
		"poll_oneoff":         {signature{i + i + i + i, i}, (*wasiCall).poll},
		"proc_exit":           {signature{i, ""}, (*wasiCall).exit},
	}
}

// newWASI makes the module without a name.
func newWASI(ctx context.Context, r wazero.Runtime) (api.Module, error) {
	b := r.NewHostModuleBuilder(wasiModule)
	for name, f := range wasiFunctions() {
		serve := api.GoModuleFunc(func(ctx context.Context, guest api.Module, stack []uint64) {
			w := &wasiCall{call: callOf(ctx), mem: guest.Memory(), args: stack}
			w.alive()
			if n := f.do(w, ctx); len(stack) > 0 {
				stack[0] = uint64(n)
			}
		})
		b.NewFunctionBuilder().WithGoModuleFunction(serve, []api.ValueType(f.params), []api.ValueType(f.results)).Export(name)
	}
	return withoutName(ctx, r, b)
}

// instanceConfig: everything that wazero would offer goes through the functions of this file.
func instanceConfig() wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName(""). // else the name section would give one, and two instances would collide
		WithStartFunctions()
}

func ok(*wasiCall, context.Context) uint32 { return wasiOK }

func noFile(*wasiCall, context.Context) uint32 { return wasiBadf }

// fault gives the error number of a write to guest memory.
func fault(written bool) uint32 {
	if !written {
		return wasiFault
	}
	return wasiOK
}

func (w *wasiCall) sizes(n, bytes int) uint32 {
	return fault(put32(w.mem, w.u32(0), uint32(n)) && put32(w.mem, w.u32(1), uint32(bytes)))
}

func (w *wasiCall) environ(context.Context) uint32 {
	return fault(put32(w.mem, w.u32(0), w.u32(1)) && put(w.mem, w.u32(1), []byte(environment)))
}

const clockMonotonic = 1 // 0 is the time of day, and there are no others

func realClock(monotonic bool) uint64 {
	if monotonic { // with wazero's default clock a Go guest's collector stalls
		return uint64(now()) + 1
	}
	return uint64(time.Now().UnixNano())
}

func (c *call) clock(id uint32) (ns uint64, known bool) {
	if id > clockMonotonic {
		return 0, false
	}
	if c.Clock == nil {
		return realClock(id == clockMonotonic), true
	}
	return c.Clock(id == clockMonotonic), true
}

func (w *wasiCall) clockResolution(context.Context) uint32 {
	if id := w.u32(0); id > clockMonotonic {
		return wasiInval
	}
	return fault(put64(w.mem, w.u32(1), 1))
}

func (w *wasiCall) clockTime(context.Context) uint32 {
	ns, known := w.clock(w.u32(0))
	if !known {
		return wasiInval
	}
	return fault(put64(w.mem, w.u32(2), ns))
}

func (w *wasiCall) exit(context.Context) uint32 {
	w.stop(Exit, fmt.Errorf("the guest left with code %d before run returned", w.u32(0)))
	return wasiOK
}
