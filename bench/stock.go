package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"                                //nolint:depguard // stock wazero is what is measured here
	"github.com/tetratelabs/wazero/api"                            //nolint:depguard // the same
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1" //nolint:depguard // the same
)

// callTime bounds a call of the ways that have a deadline.
const callTime = 2 * time.Second

// stock is wazero as it comes: one runtime, the module compiled once.
type stock struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	deadline bool
}

func stockRows(guest string, wasm []byte) []row {
	open := func(deadline bool) func() (*stock, error) { // two rows share what is compiled
		return sync.OnceValues(func() (*stock, error) { return openStock(context.Background(), wasm, deadline) })
	}
	bounded, unbounded := open(true), open(false)
	return []row{
		{guest: guest, way: "stock/new+deadline", open: callersOf(bounded, (*stock).newEach)},
		{guest: guest, way: "stock/new", open: callersOf(unbounded, (*stock).newEach)},
		{guest: guest, way: "stock/reused+deadline", open: callersOf(bounded, (*stock).reused)},
		{guest: guest, way: "stock/reused", open: callersOf(unbounded, (*stock).reused)},
	}
}

// callersOf makes the open of a row from one of a peer and one of its ways.
func callersOf[P any](open func() (P, error), way func(P, context.Context) (caller, error)) func(context.Context) (func() (caller, error), error) {
	return func(ctx context.Context) (func() (caller, error), error) {
		peer, err := open()
		if err != nil {
			return nil, err
		}
		return func() (caller, error) { return way(peer, ctx) }, nil
	}
}

func openStock(ctx context.Context, wasm []byte, deadline bool) (*stock, error) {
	s := &stock{deadline: deadline}
	s.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(deadline))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, s.runtime); err != nil {
		return nil, fmt.Errorf("make WASI: %w", err)
	}
	for module, functions := range offered() {
		if err := s.addHost(ctx, module, functions); err != nil {
			return nil, fmt.Errorf("make the module %s: %w", module, err)
		}
	}
	var err error
	s.compiled, err = s.runtime.CompileModule(ctx, wasm)
	return s, err
}

type visitKey struct{}

func (s *stock) addHost(ctx context.Context, module string, functions []string) error {
	b := s.runtime.NewHostModuleBuilder(module)
	for _, function := range functions {
		serve := api.GoModuleFunc(func(ctx context.Context, guest api.Module, stack []uint64) {
			memory, _ := guest.Memory().Read(0, guest.Memory().Size())
			answer, err := ctx.Value(visitKey{}).(*visit).exchange(memory, module, function,
				uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3]))
			if err != nil {
				panic(err) // wazero ends the guest
			}
			stack[0] = answer
		})
		b.NewFunctionBuilder().WithGoModuleFunction(serve, hostShape.params, hostShape.results).Export(function)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// bound is the context of one call.
func (s *stock) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.deadline {
		return context.WithTimeout(ctx, callTime)
	}
	return ctx, func() {}
}

// instance makes a new instance and initialises it.
func (s *stock) instance(ctx context.Context) (api.Module, error) {
	return s.runtime.InstantiateModule(ctx, s.compiled, wazero.NewModuleConfig().
		WithName(""). // many side by side
		WithStartFunctions("_initialize").
		WithSysNanotime().
		WithSysWalltime())
}

func (s *stock) newEach(ctx context.Context) (caller, error) {
	v := &visit{}
	ctx = context.WithValue(ctx, visitKey{}, v)
	return func() ([]byte, error) {
		v.begin()
		ctx, cancel := s.bound(ctx)
		defer cancel()
		guest, err := s.instance(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = guest.Close(ctx) }() // it holds nothing
		results, err := guest.ExportedFunction("run").Call(ctx)
		if err != nil {
			return nil, err
		}
		return v.end(int32(uint32(results[0])))
	}, nil
}

func (s *stock) reused(ctx context.Context) (caller, error) {
	v := &visit{}
	ctx = context.WithValue(ctx, visitKey{}, v)
	guest, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	run, stack := guest.ExportedFunction("run"), make([]uint64, 1)
	return func() ([]byte, error) {
		v.begin()
		ctx, cancel := s.bound(ctx)
		defer cancel()
		if err := run.CallWithStack(ctx, stack); err != nil {
			return nil, err
		}
		return v.end(int32(uint32(stack[0])))
	}, nil
}
