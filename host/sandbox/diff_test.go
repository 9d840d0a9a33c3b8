package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// genKinds are the kinds of instructions that generated modules must hold between them.
var genKinds = []string{
	"add, sub, mul", "div i32", "div i64", "rem i32", "rem i64", "bits", "count bits", "extend", "wrap", "trunc", "trunc_sat",
	"convert", "demote", "promote", "reinterpret", "sign", "round, sqrt", "float arithmetic", "vector",
	"eqz", "compare i32", "compare i64", "compare f32", "compare f64", "select", "select of a type",
	"const", "local.get", "local.set", "local.tee", "global.get", "global.set", "drop",
	"block", "block with a result", "multi-value block", "loop", "if", "else", "if with a result",
	"br", "br_if", "br_table", "return", "unreachable", "leaving within an expression",
	"call", "recursion", "call_indirect",
	"ref.func", "ref.is_null", "table.get", "table.set", "table.size", "table.grow", "table.fill", "table.copy",
	"table.init", "elem.drop",
	"load8", "load16", "load32", "load64", "load128", "load128 extending", "load128 splat", "load128 zero", "load128 lane",
	"store8", "store16", "store32", "store64", "store128", "store128 lane", "address at the end",
	"memory.size", "memory.grow", "memory.fill", "memory.copy", "memory.init", "data.drop",
}

const genModules = 300

// genStream gives the choices for one module, always the same.
func genStream(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	choices := make([]byte, 200+r.IntN(3000))
	for i := range choices {
		choices[i] = byte(r.Uint32())
	}
	return choices
}

func TestRewrittenModules(t *testing.T) {
	notUnderRace(t)
	seen, ends := map[string]int{}, map[string]int{}
	for seed := range uint64(genModules) {
		wasm, functions, kinds := generate(genStream(seed))
		for kind, n := range kinds {
			seen[kind] += n
		}
		if why := differ(t, wasm, functions, ends); why != "" {
			t.Errorf("module %d of %d bytes: %s", seed, len(wasm), why)
		}
	}
	for _, kind := range genKinds {
		if seen[kind] == 0 {
			t.Errorf("no module holds %s", kind)
		}
	}
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		t.Logf("%6d calls end with %s", ends[end], end)
	}
	if ends["no error"] < genModules || len(ends) < 6 {
		t.Error("the modules do too little")
	}
}

// FuzzRewritten wants a module to do the same as it is and rewritten. It is fast only with
// -fuzzminimizetime 1x: the compiler's coverage varies, and a minute goes into making each input smaller.
func FuzzRewritten(f *testing.F) {
	f.Add([]byte{})
	for seed := range uint64(8) {
		f.Add(genStream(1000 + seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		wasm, functions, _ := generate(stream)
		if why := differ(t, wasm, functions, map[string]int{}); why != "" {
			t.Errorf("%s\nmodule: %x", why, wasm)
		}
	})
}

// differ calls each function in order on both sides and says how they differ first, "" if they do not. It
// counts how the calls end.
func differ(t *testing.T, wasm []byte, functions []signature, ends map[string]int) string {
	t.Helper()
	ctx := context.Background()
	plain, closePlain := genInstance(t, wasm, nil)
	defer closePlain()
	rewritten, closeRewritten := genInstance(t, wasm, rewriteGuarded)
	defer closeRewritten()
	if plain == nil || rewritten == nil {
		return "no instance"
	}
	for round := range 3 {
		for i, sig := range functions {
			callBoth(ctx, plain, rewritten, genReset)
			end, why := callBoth(ctx, plain, rewritten, genName(i), genArguments(sig, round)...)
			ends[end]++
			if why == "" {
				why = stateDiffers(ctx, plain, rewritten)
			}
			if why != "" {
				return fmt.Sprintf("round %d, %s%v: %s", round, genName(i), sig, why)
			}
		}
	}
	return ""
}

// genInstance makes an instance in a runtime of its own; nil, and an error of the test, if that fails.
func genInstance(t *testing.T, wasm []byte, rewrite func([]byte) ([]byte, error)) (m api.Module, closed func()) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	closed = func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	var err error
	if rewrite != nil {
		if wasm, err = rewrite(wasm); err != nil {
			t.Errorf("rewrite: %v", err)
			return nil, closed
		}
		if err := specHost(ctx, r); err != nil {
			t.Error(err)
		}
	}
	m, err = r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Errorf("instantiate (rewritten: %v): %v\nmodule: %x", rewrite != nil, err, wasm)
		return nil, closed
	}
	return m, closed
}

// genArguments are numbers of each type that differ from round to round.
func genArguments(sig signature, round int) (args []uint64) {
	for i := range len(sig.params) {
		n := uint64(genIntegers[(round*5+i*3)%len(genIntegers)])
		switch sig.params[i] {
		case typeI32:
			n = uint64(uint32(n))
		case typeF32:
			n = api.EncodeF32(float32(genFloats[(round*5+i)%len(genFloats)]))
		case typeF64:
			n = api.EncodeF64(genFloats[(round*5+i)%len(genFloats)])
		}
		args = append(args, n)
	}
	return args
}

// callBoth calls a function on both sides; end is how the plain one ends.
func callBoth(ctx context.Context, plain, rewritten api.Module, name string, args ...uint64) (end, why string) {
	a, err := plain.ExportedFunction(name).Call(ctx, args...)
	f := rewritten.ExportedFunction(name)
	if f == nil {
		return "", "the rewritten module has no " + name
	}
	b, err2 := f.Call(ctx, args...)
	regainStack(rewritten)
	end = trapText(err)
	if other := trapText(err2); end != other {
		return end, fmt.Sprintf("%s%x ends with %s, rewritten with %s", name, args, end, other)
	}
	if !slices.Equal(a, b) {
		return end, fmt.Sprintf("%s%x gives %x, rewritten %x", name, args, a, b)
	}
	return end, ""
}

// stateDiffers compares memories, globals and tables.
func stateDiffers(ctx context.Context, plain, rewritten api.Module) string {
	if a, b := memoryBytes(plain), memoryBytes(rewritten); !bytes.Equal(a, b) {
		return "the memories differ: " + memoryDifference(a, b)
	}
	names := []string{genTrace}
	for _, t := range genNumbers {
		names = append(names, "global "+valueName(t))
	}
	for _, name := range names {
		a, b := plain.ExportedGlobal(name), rewritten.ExportedGlobal(name)
		if b == nil {
			return "the rewritten module has no " + name
		}
		if a.Get() != b.Get() {
			return fmt.Sprintf("%s is %#x, rewritten %#x", name, a.Get(), b.Get())
		}
	}
	if _, why := callBoth(ctx, plain, rewritten, genSizes); why != "" {
		return why
	}
	for i := range uint64(40) {
		if _, why := callBoth(ctx, plain, rewritten, genEmpty, i); why != "" {
			return why
		}
	}
	return ""
}
