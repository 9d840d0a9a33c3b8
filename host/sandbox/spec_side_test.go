package sandbox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// specSide is one of the two runtimes that a script runs in.
type specSide struct {
	runtime   wazero.Runtime
	rewrite   func([]byte) ([]byte, error)
	instances []api.Module // nil for those that failed
	named     map[string]api.Module
}

// newSide makes a runtime with what host gives and the module "spectest", which scripts import.
func newSide(t *testing.T, features api.CoreFeatures, rewrite func([]byte) ([]byte, error),
	host func(context.Context, wazero.Runtime) error, common []byte,
) *specSide {
	config := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features)
	side := &specSide{runtime: wazero.NewRuntimeWithConfig(t.Context(), config), rewrite: rewrite, named: map[string]api.Module{}}
	t.Cleanup(func() {
		if err := side.runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := host(t.Context(), side.runtime); err != nil {
		t.Fatal(err)
	}
	if err := side.instantiate(t.Context(), common, "spectest"); err != nil {
		t.Fatal(err)
	}
	return side
}

func (side *specSide) last() api.Module {
	if len(side.instances) == 0 {
		return nil
	}
	return side.instances[len(side.instances)-1]
}

// instantiate makes the instance that the commands after it mean.
func (side *specSide) instantiate(ctx context.Context, wasm []byte, name string) error {
	m, err := side.make(ctx, wasm, name)
	side.instances = append(side.instances, m)
	return err
}

// attempt makes an instance, if it can, that no later command means.
func (side *specSide) attempt(ctx context.Context, wasm []byte) error {
	_, err := side.make(ctx, wasm, "")
	return err
}

// errPanic is no way to refuse a module.
var errPanic = errors.New("panic")

func (side *specSide) make(ctx context.Context, wasm []byte, name string) (m api.Module, err error) {
	defer func() {
		if r := recover(); r != nil { // a whole run must not end at one bad module
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	if wasm, err = side.rewrite(wasm); err != nil {
		return nil, fmt.Errorf("rewrite: %w", err)
	}
	m, err = side.runtime.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(name).WithStartFunctions())
	if err != nil {
		return nil, err // a nil interface, not a nil instance in one
	}
	return m, nil
}

// act calls a function or reads a global, and gives the values as wazero does: two words for a vector.
func (side *specSide) act(ctx context.Context, c specCommand) ([]uint64, error) {
	m := side.last()
	if c.Action.Module != "" {
		m = side.named[c.Action.Module]
	}
	if m == nil {
		return nil, fmt.Errorf("there is no module %q", c.Action.Module)
	}
	if c.Action.Type == "get" {
		if g := m.ExportedGlobal(c.Action.Field); g != nil {
			return []uint64{g.Get()}, nil
		}
		return nil, fmt.Errorf("there is no global %q", c.Action.Field)
	}
	f := m.ExportedFunction(c.Action.Field)
	if c.Action.Type != "invoke" || f == nil {
		return nil, fmt.Errorf("there is no %s %q", c.Action.Type, c.Action.Field)
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.words()...)
	}
	results, err := f.Call(ctx, args...)
	if err != nil {
		side.recover()
	}
	return results, err
}

// recover gives back the stack of the frames that a trap has ended. The host would discard the instance.
func (side *specSide) recover() {
	for _, m := range side.instances {
		if m != nil {
			regainStack(m)
		}
	}
}

func regainStack(m api.Module) {
	if g, ours := m.ExportedGlobal(stackExport).(api.MutableGlobal); ours {
		g.Set(stackBytes)
	}
}

// memoryBytes is a view of the instance's memory, nil if there is none: wazero then gives a nil pointer
// within the interface.
func memoryBytes(m api.Module) []byte {
	if m == nil || reflect.ValueOf(m.Memory()).IsNil() {
		return nil
	}
	view, _ := m.Memory().Read(0, m.Memory().Size())
	return view
}

// memoryDifference says where two memories differ first.
func memoryDifference(a, b []byte) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d bytes", len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			return fmt.Sprintf("at %d stand %d and %d", i, a[i], b[i])
		}
	}
	return "none"
}
