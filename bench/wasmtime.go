//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bytecodealliance/wasmtime-go/v39"
)

// wasmtimeFuel is what one call of the row with fuel may use.
const wasmtimeFuel = 2_000_000_000

// wasmtimePeer is a module that was compiled and linked once.
type wasmtimePeer struct {
	engine *wasmtime.Engine
	module *wasmtime.Module
	linker *wasmtime.Linker
	fuel   bool
}

func wasmtimeRows(guest string, wasm []byte) []row {
	open := func(fuel bool) func() (*wasmtimePeer, error) {
		return sync.OnceValues(func() (*wasmtimePeer, error) { return openWasmtime(wasm, fuel) })
	}
	plain := open(false) // two rows share it
	return []row{
		{guest: guest, way: "wasmtime/new", open: callersOf(plain, (*wasmtimePeer).newEach)},
		{guest: guest, way: "wasmtime/reused", open: callersOf(plain, (*wasmtimePeer).reused)},
		{guest: guest, way: "wasmtime/reused+fuel", open: callersOf(open(true), (*wasmtimePeer).reused)},
	}
}

func openWasmtime(wasm []byte, fuel bool) (*wasmtimePeer, error) {
	config := wasmtime.NewConfig()
	config.SetConsumeFuel(fuel)
	w := &wasmtimePeer{engine: wasmtime.NewEngineWithConfig(config), fuel: fuel}
	var err error
	if w.module, err = wasmtime.NewModule(w.engine, wasm); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	w.linker = wasmtime.NewLinker(w.engine)
	if err := w.linker.DefineWasi(); err != nil {
		return nil, fmt.Errorf("make WASI: %w", err)
	}
	return w, w.addHosts()
}

// addHosts defines functions for every store, by FuncNew: FuncWrap calls by reflection and takes longer.
func (w *wasmtimePeer) addHosts() error {
	word, long := wasmtime.NewValType(wasmtime.KindI32), wasmtime.NewValType(wasmtime.KindI64)
	shape := wasmtime.NewFuncType([]*wasmtime.ValType{word, word, word, word}, []*wasmtime.ValType{long})
	for module, functions := range offered() {
		for _, function := range functions {
			serve := func(c *wasmtime.Caller, args []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) {
				i := c.Data().(*wasmtimeInstance)
				answer, err := i.exchange(i.memory.UnsafeData(c), module, function,
					uint32(args[0].I32()), uint32(args[1].I32()), uint32(args[2].I32()), uint32(args[3].I32()))
				if err != nil {
					return nil, wasmtime.NewTrap(err.Error())
				}
				return []wasmtime.Val{wasmtime.ValI64(int64(answer))}, nil
			}
			if err := w.linker.FuncNew(module, function, shape, serve); err != nil {
				return fmt.Errorf("define %s.%s: %w", module, function, err)
			}
		}
	}
	return nil
}

// wasmtimeInstance is a store with one instance in it. It is the data of the store.
type wasmtimeInstance struct {
	visit
	store  *wasmtime.Store
	memory *wasmtime.Memory
	run    *wasmtime.Func
}

// instance makes a new store and a new instance in it, initialised.
func (w *wasmtimePeer) instance() (i *wasmtimeInstance, err error) {
	i = &wasmtimeInstance{}
	i.store = wasmtime.NewStoreWithData(w.engine, i)
	defer func() {
		if err != nil {
			i.store.Close()
		}
	}()
	i.store.SetWasi(wasmtime.NewWasiConfig())
	if err := w.refuel(i); err != nil {
		return nil, err
	}
	made, err := w.linker.Instantiate(i.store, w.module)
	if err != nil {
		return nil, err
	}
	memory := made.GetExport(i.store, "memory")
	if memory == nil || memory.Memory() == nil {
		return nil, errors.New("no memory")
	}
	i.memory = memory.Memory()
	if initialize := made.GetFunc(i.store, "_initialize"); initialize != nil {
		if _, err := initialize.Call(i.store); err != nil {
			return nil, err
		}
	}
	if i.run = made.GetFunc(i.store, "run"); i.run == nil {
		return nil, errors.New("no run")
	}
	return i, nil
}

func (w *wasmtimePeer) refuel(i *wasmtimeInstance) error {
	if !w.fuel {
		return nil
	}
	return i.store.SetFuel(wasmtimeFuel)
}

func (i *wasmtimeInstance) call() ([]byte, error) {
	i.begin()
	code, err := i.run.Call(i.store)
	if err != nil {
		return nil, err
	}
	return i.end(code.(int32))
}

func (w *wasmtimePeer) newEach(context.Context) (caller, error) {
	return func() ([]byte, error) {
		i, err := w.instance()
		if err != nil {
			return nil, err
		}
		defer i.store.Close()
		return i.call()
	}, nil
}

func (w *wasmtimePeer) reused(context.Context) (caller, error) {
	i, err := w.instance()
	return func() ([]byte, error) {
		if err := w.refuel(i); err != nil {
			return nil, err
		}
		return i.call()
	}, err
}
