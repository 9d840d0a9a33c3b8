package sandbox

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// BenchmarkMetering runs the same code in three ways on reused instances: as it is, with wazero's own
// deadline option, and rewritten. The three take turns, so that a busy machine is busy for all of them;
// the metrics are the medians of the turns and their ratios to the code as it is.
func BenchmarkMetering(b *testing.B) {
	for _, work := range []struct {
		name string
		wasm []byte
	}{
		{"shortest-loop", tightLoop().bytes()},
		{"tight-loop", randomLoop().bytes()},
		{"memory-loop", memoryLoop().bytes()},
		{"calls", callingLoop().bytes()},
		{"recursion", fibonacci().bytes()},
		{"go-get-order", buildGo(b, "../../plugins/get_order")},
	} {
		b.Run(work.name, func(b *testing.B) { benchmarkWays(b, work.wasm) })
	}
}

func benchmarkWays(b *testing.B, wasm []byte) {
	ways := []string{"stock", "deadline", "metered"}
	times := make([][]float64, len(ways))
	calls := make([]func(), len(ways))
	for i, way := range ways {
		calls[i] = reused(b, wasm, way)
		calls[i]()
	}
	for b.Loop() {
		for i, call := range calls {
			begin := time.Now()
			for range 10 {
				call()
			}
			times[i] = append(times[i], float64(time.Since(begin).Nanoseconds())/10)
		}
	}
	b.ReportMetric(0, "ns/op") // of all three together: says nothing
	for i, way := range ways {
		slices.Sort(times[i])
		b.ReportMetric(median(times[i]), way+"-ns")
		b.ReportMetric(median(times[i])/median(times[0]), way+"-ratio")
	}
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// reused makes an instance for many calls of run.
func reused(b *testing.B, wasm []byte, way string) (again func()) {
	b.Helper()
	s, err := readSections(wasm)
	if err != nil {
		b.Fatal(err)
	}
	manifest, _ := s.judge(offer())
	config := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).WithCloseOnContextDone(way == "deadline")
	code := &machineCode{hosts: map[string]api.Module{}, runtime: wazero.NewRuntimeWithConfig(b.Context(), config)}
	b.Cleanup(func() { _ = code.runtime.Close(context.Background()) })
	if wasm = s.plain(); way == "metered" {
		wasm, code.globals = s.rewrite(), s.mutableNames()
	}
	if code.compiled, err = code.runtime.CompileModule(b.Context(), wasm); err != nil {
		b.Fatal(err)
	}
	if err := code.addHosts(b.Context(), offer(), manifest); err != nil {
		b.Fatal(err)
	}
	f, _, _ := order(`{"order_id":"LK-702219"}`)
	m := &Module{limit: 32 << 20}
	c := m.newCall(b.Context(), Call{Time: time.Hour, Fuel: math.MaxInt64, HostCalls: math.MaxInt, Functions: f}, now())
	c.instance = &instance{memory: linearMemory{limit: m.limit}}
	ctx, cancel := context.WithTimeout(&c.ctx, time.Hour) // wazero's own option looks at it
	b.Cleanup(cancel)
	resolve := experimental.WithImportResolver(ctx, func(name string) api.Module { return code.hosts[name] })
	guest, err := code.runtime.InstantiateModule(resolve, code.compiled, instanceConfig())
	if err != nil {
		b.Fatal(err)
	}
	if initialize := guest.ExportedFunction("_initialize"); initialize != nil {
		if _, err := initialize.Call(ctx); err != nil {
			b.Fatal(err)
		}
	}
	run := guest.ExportedFunction("run")
	return func() {
		c.calls, f.calls = 0, f.calls[:0]
		if _, err := run.Call(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// Instructions of the guests below.
var (
	opTee0      = op(0x22, 0)
	opBrIf0     = op(0x0d, 0)
	opI64Sub1   = op(0x42, 1, 0x7d)
	opI64       = func(n int64) []byte { return append([]byte{0x42}, sleb(n)...) }
	opStore64At = op(0x37, 3, 0)
)

// tightLoop counts ten thousand down: the shortest loop there is.
func tightLoop() *guest {
	return newGuest().run(opI64(10_000), opSet0, opLoop, opGet0, opI64Sub1, opTee0, opWrap, opBrIf0, opEndBlock, i32(0))
}

// randomLoop takes ten thousand steps of a xorshift generator.
func randomLoop() *guest {
	step := func(shift byte, n byte) []byte { // x ^= x << n, or >>
		return slices.Concat(get(1), get(1), op(0x42, n, shift, 0x85), set(1))
	}
	g := newGuest()
	return g.export("run", kindFunction, g.fn("", i32Value, 2, opI64(10_000), opSet0, opI64(88172645), set(1), opLoop,
		step(0x86, 13), step(0x88, 7), step(0x86, 17), opGet0, opI64Sub1, opTee0, opWrap, op(0x0d, 0), opEndBlock, get(1), opWrap, i32(0), op(0x71)))
}

// memoryLoop adds to each of the eight bytes of a page.
func memoryLoop() *guest {
	address := slices.Concat(opGet0, opWrap, i32(3), op(0x74), i32(8), op(0x6b))
	return newGuest().run(opI64(8192), opSet0, opLoop,
		address, address, op(0x29, 3, 0), opGet0, op(0x7c), opStore64At,
		opGet0, opI64Sub1, opTee0, opWrap, op(0x0d, 0), opEndBlock, i32(0))
}

// callingLoop calls a function of three instructions ten thousand times.
func callingLoop() *guest {
	g := newGuest()
	g.fn(i64Value, i64Value, 0, get(0), opI64Sub1)
	return g.run(opI64(10_000), opSet0, opLoop, opGet0, callTo(0), opTee0, opWrap, opBrIf0, opEndBlock, i32(0))
}

// fibonacci calls itself: 21,891 calls that do next to nothing else.
func fibonacci() *guest {
	g := newGuest()
	g.fn(i32Value, i32Value, 0,
		get(0), i32(2), op(0x48), op(0x04, 0x7f), get(0), op(0x05),
		get(0), i32(1), op(0x6b), callTo(0), get(0), i32(2), op(0x6b), callTo(0), op(0x6a), opEndBlock)
	return g.run(i32(20), callTo(0))
}
