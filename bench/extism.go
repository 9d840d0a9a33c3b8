package main

import (
	"context"
	"fmt"
	"sync"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero" //nolint:depguard // Extism takes the clocks in its words

	"github.com/toolhost/toolhost/bench/order"
)

// extismPeer is a plugin that was compiled once.
type extismPeer struct{ compiled *extism.CompiledPlugin }

func extismRows(guest string, wasm []byte) []row {
	open := func(milliseconds uint64) func() (*extismPeer, error) { // two rows share what is compiled
		return sync.OnceValues(func() (*extismPeer, error) { return openExtism(context.Background(), wasm, milliseconds) })
	}
	bounded, unbounded := open(uint64(callTime.Milliseconds())), open(0)
	return []row{
		{guest: guest, way: "extism/new", open: callersOf(unbounded, (*extismPeer).newEach)},
		{guest: guest, way: "extism/new+timeout", open: callersOf(bounded, (*extismPeer).newEach)},
		{guest: guest, way: "extism/reused", open: callersOf(unbounded, (*extismPeer).reused)},
	}
}

func openExtism(ctx context.Context, wasm []byte, milliseconds uint64) (*extismPeer, error) {
	get := extism.NewHostFunctionWithStack("records_get", extismGet,
		[]extism.ValueType{extism.ValueTypePTR}, []extism.ValueType{extism.ValueTypePTR})
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}, Timeout: milliseconds}
	compiled, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true}, []extism.HostFunction{get})
	return &extismPeer{compiled}, err
}

// extismGet is records.get as a host function of Extism: an offset in the kernel's memory in, another out.
func extismGet(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
	request, err := p.ReadBytes(stack[0])
	if err != nil {
		panic(err) // wazero ends the guest
	}
	answer, err := order.Find(request)
	if err != nil {
		panic(err)
	}
	if stack[0], err = p.WriteBytes(answer); err != nil {
		panic(err)
	}
}

func (e *extismPeer) instance(ctx context.Context) (*extism.Plugin, error) {
	return e.compiled.Instance(ctx, extism.PluginInstanceConfig{
		ModuleConfig: wazero.NewModuleConfig().WithSysNanotime().WithSysWalltime(),
	})
}

func extismCall(ctx context.Context, p *extism.Plugin) ([]byte, error) {
	code, result, err := p.CallWithContext(ctx, "run", []byte(order.Arguments))
	if err == nil && code != 0 {
		err = fmt.Errorf("run returned %d", code)
	}
	return result, err
}

func (e *extismPeer) newEach(ctx context.Context) (caller, error) {
	return func() ([]byte, error) {
		p, err := e.instance(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = p.Close(ctx) }() // it holds nothing
		return extismCall(ctx, p)
	}, nil
}

func (e *extismPeer) reused(ctx context.Context) (caller, error) {
	p, err := e.instance(ctx)
	return func() ([]byte, error) { return extismCall(ctx, p) }, err
}
