package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

const wasiModule = wasi_snapshot_preview1.ModuleName

// wasiSignature is the whole of WASI that a guest may import, function by function: clocks, random,
// output, a bounded sleep, and questions that are answered with "nothing there". The signatures are
// those of WASI preview 1. No path_*, no sock_*: nothing here opens anything.
func wasiSignature(name string) (signature, bool) {
	i, I := string([]byte{typeI32}), string([]byte{typeI64})
	switch name {
	case "sched_yield":
		return signature{"", i}, true
	case "proc_exit":
		return signature{i, ""}, true
	case "fd_close":
		return signature{i, i}, true
	case "args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "clock_res_get", "random_get",
		"fd_fdstat_get", "fd_fdstat_set_flags", "fd_prestat_get":
		return signature{i + i, i}, true
	case "fd_prestat_dir_name":
		return signature{i + i + i, i}, true
	case "clock_time_get":
		return signature{i + I + i, i}, true
	case "fd_read", "fd_write", "poll_oneoff":
		return signature{i + i + i + i, i}, true
	case "fd_seek":
		return signature{i + I + i + i, i}, true
	default:
		return signature{}, false
	}
}

// newWASI makes wazero's WASI module without a name, with a proc_exit of ours: wazero's own would
// close the module with a code that a guest could choose to look like a deadline.
func newWASI(ctx context.Context, r wazero.Runtime) (api.Module, error) {
	b := r.NewHostModuleBuilder(wasiModule)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	exit := api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
		callOf(ctx).stop(Exit, fmt.Errorf("the guest left with code %d before run returned", uint32(stack[0])))
	})
	b.NewFunctionBuilder().WithGoModuleFunction(exit, []api.ValueType{api.ValueTypeI32}, nil).Export("proc_exit")
	return withoutName(ctx, r, b)
}

// instanceConfig is what an instance finds around it: no files, no arguments, no input (S12).
func (c *call) instanceConfig(ctx context.Context) wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName(""). // else the name section would give one, and two instances would collide
		WithStartFunctions().
		WithEnv("GOGC", "25"). // halves the memory of a Go guest at no measurable cost
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(func(ns int64) { c.sleep(ctx, time.Duration(ns)) }).
		WithRandSource(rand.Reader).
		WithStdout(c.output).
		WithStderr(c.output)
}

// sleep ends the guest if the call ends while it sleeps; wazero's own sleep would outlast the call.
func (c *call) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		c.stopDone(ctx)
	}
}
