package main

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/host/sandbox"
)

// engineMemory is the limit of a guest's memory in bytes.
const engineMemory = 32 << 20

// engineRows are the engine as the host uses it, with one pool for all callers, and with one instance for each caller, which a
// call finds only when the reset after the one before is done.
func engineRows(guest string, wasm []byte) []row {
	return []row{
		{guest: guest, way: "engine", open: callersOf(func() (*engine, error) { return openEngine(wasm, 0) }, (*engine).caller)},
		{guest: guest, way: "engine+reset", atOnce: true, open: func(ctx context.Context) (func() (caller, error), error) {
			return func() (caller, error) {
				e, err := openEngine(wasm, 1)
				if err != nil {
					return nil, err
				}
				return e.caller(ctx)
			}, nil
		}},
	}
}

// engine is host/sandbox, as host/plugin.go uses it.
type engine struct{ module *sandbox.Module }

// openEngine makes one with so many instances; 0: the default.
func openEngine(wasm []byte, instances int) (*engine, error) {
	e, err := sandbox.NewEngine(sandbox.Options{Offer: offered()})
	if err != nil {
		return nil, err
	}
	module, err := e.Compile(context.Background(), wasm, sandbox.Limits{Memory: engineMemory, Instances: instances})
	return &engine{module}, err
}

func (e *engine) caller(ctx context.Context) (caller, error) {
	f := &engineFunctions{}
	return func() ([]byte, error) {
		f.begin()
		_, code, err := e.module.Run(ctx, sandbox.Call{ //nolint:forbidigo // what is measured
			Time: callTime, Fuel: 2_000_000_000, HostCalls: 64, LogBytes: 8192, Functions: f,
		})
		if err != nil {
			return nil, err
		}
		return f.end(code)
	}, nil
}

// engineFunctions is a visit in the words of sandbox.
type engineFunctions struct{ visit }

func (f *engineFunctions) Call(_ context.Context, module, function string, request []byte) (sandbox.Status, []byte, error) {
	status, response := f.answer(module, function, request)
	return sandbox.Status(status), response, nil
}

func (f *engineFunctions) TooLong(string, string, int64) error { return errors.New("too long") }
