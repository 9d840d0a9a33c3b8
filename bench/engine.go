package main

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/host/sandbox"
)

// engineOptions are those of the rows engine and engine+reset.
func engineOptions() sandbox.Options { return sandbox.Options{Offer: offered()} }

// engineResetOptions are those of the row engine+reset.
func engineResetOptions() sandbox.Options {
	o := engineOptions()
	// POOL: set a pool of one instance here, so that each call waits for the reset after the one before it.
	return o
}

// engineMemory is the limit of a guest's memory in bytes.
const engineMemory = 32 << 20

func engineRows(guest string, wasm []byte) []row {
	open := func(o sandbox.Options) func() (*engine, error) {
		return func() (*engine, error) { return openEngine(context.Background(), o, wasm) }
	}
	return []row{
		{guest, "engine", callersOf(open(engineOptions()), (*engine).caller)},
		{guest, "engine+reset", callersOf(open(engineResetOptions()), (*engine).caller)},
	}
}

// engine is host/sandbox, as host/plugin.go uses it.
type engine struct{ module *sandbox.Module }

func openEngine(ctx context.Context, o sandbox.Options, wasm []byte) (*engine, error) {
	e, err := sandbox.NewEngine(o)
	if err != nil {
		return nil, err
	}
	module, err := e.Compile(ctx, wasm, engineMemory)
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
