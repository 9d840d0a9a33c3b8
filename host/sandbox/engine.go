package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Options of an Engine.
type Options struct {
	CacheDir    string // compiled modules are kept here; "" keeps none
	Offer       Offer
	CompileTime time.Duration // for one module; 0: DefaultCompileTime
}

// DefaultCompileTime is many times what the bounds of a module let its compilation take.
const DefaultCompileTime = time.Minute

// Engine compiles modules.
type Engine struct {
	cacheDir    string
	offer       Offer
	compileTime time.Duration
	slots       chan struct{}
}

// NewEngine always gives an Engine that works. The error says why it does without the cache folder:
// wazero's cache files are machine code guarded by a CRC only, so the folder must be a directory of
// this user, closed to all others (0700). A missing folder is made.
func NewEngine(o Options) (*Engine, error) {
	e := &Engine{offer: Offer{}, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), compileTime: cmp.Or(o.CompileTime, DefaultCompileTime)}
	for module, functions := range o.Offer {
		e.offer[module] = slices.Clone(functions)
	}
	if o.CacheDir == "" {
		return e, nil
	}
	if err := ownFolder(o.CacheDir); err != nil {
		return e, fmt.Errorf("no compilation cache: %w", err)
	}
	e.cacheDir = o.CacheDir
	return e, nil
}

// pageSize is the unit of memory (core specification, section 4.2.8).
const pageSize = 64 << 10

// maxMemory keeps a memory's size in 32 bits, so that no size of it reads as zero.
const maxMemory = 65535 * pageSize

// Module is a compiled module. It holds no state of any call.
type Module struct {
	limit     uint64 // bytes of memory
	runtime   wazero.Runtime
	cache     wazero.CompilationCache // nil: none
	compiled  wazero.CompiledModule
	hosts     map[string]api.Module
	instances atomic.Uint64
	slots     chan struct{} // of the engine: held while an instance is made

	running sync.Mutex // guards what follows: Close unmaps the code that runs
	calls   int        // that run
	closed  bool
	idle    chan struct{} // closed when the last call ends after Close
}

// Compile inspects a module and compiles it.
func (e *Engine) Compile(ctx context.Context, wasm []byte, memoryLimit int64) (*Module, error) {
	m, faults := Read(wasm, e.offer)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return e.CompileInspected(ctx, m, memoryLimit)
}

// CompileInspected judges an inspected module by the engine's own offer, so that no path leads around it,
// validates it and compiles it. The error holds every fault. memoryLimit is in bytes. Compilation may take
// seconds; when ctx ends or Options.CompileTime is over, it returns and what was begun ends by itself: wazero
// cannot be interrupted, but what a module that got so far may cost it is bounded (complexity.go).
func (e *Engine) CompileInspected(ctx context.Context, inspected *Inspected, memoryLimit int64) (*Module, error) {
	s := inspected.read
	manifest, faults := s.judge(e.offer)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if err := validate(ctx, s.plain()); err != nil {
		return nil, err
	}
	if memoryLimit <= 0 || memoryLimit > maxMemory {
		return nil, fmt.Errorf("a memory limit of %d bytes, want 1 to %d", memoryLimit, int64(maxMemory))
	}
	if first := int64(manifest.MemoryMin) * pageSize; first > memoryLimit {
		return nil, fmt.Errorf("the memory starts with %d pages, %d bytes: more than its limit of %d bytes",
			manifest.MemoryMin, first, memoryLimit)
	}
	m, err := e.compileInTime(ctx, s, manifest)
	if err != nil {
		return nil, err
	}
	m.limit = uint64(memoryLimit)
	return m, nil
}

// compileInTime rewrites and compiles beside the caller, who waits only so long.
func (e *Engine) compileInTime(ctx context.Context, s *sections, manifest *Manifest) (*Module, error) {
	type result struct {
		module *Module
		err    error
	}
	done := make(chan result, 1)
	unending := context.WithoutCancel(ctx)
	go func() {
		m, err := e.rewriteAndCompile(unending, s, manifest)
		done <- result{m, err}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, e.compileTime, fmt.Errorf("compiling it takes longer than %v", e.compileTime))
	defer cancel()
	select {
	case r := <-done:
		return r.module, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.module != nil {
				_ = r.module.free(context.Background()) // nobody will use it
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// Check says what Compile would refuse, whatever the memory limit, and compiles nothing: the faults of
// [Inspect] and, if there is none, what is not valid in instructions and indexes.
func Check(ctx context.Context, wasm []byte, offered Offer) (*Manifest, []error) {
	m, faults := Read(wasm, offered)
	if m == nil {
		return nil, faults
	}
	if len(faults) == 0 {
		if err := validate(ctx, m.read.plain()); err != nil {
			faults = []error{err}
		}
	}
	return m.Manifest, faults
}

func (e *Engine) rewriteAndCompile(ctx context.Context, s *sections, manifest *Manifest) (*Module, error) {
	wasm, err := s.rewriteSafely()
	if err != nil {
		return nil, err
	}
	dir := e.cacheOf(wasm)
	if dir == "" {
		return e.compile(ctx, wasm, manifest, "")
	}
	if intact(dir) {
		if m, err := e.compile(ctx, wasm, manifest, dir); err == nil {
			return m, nil
		}
	}
	next, err := os.MkdirTemp(e.cacheDir, ".new-")
	if err != nil { // what is wrong with the folder must not keep a tool from loading
		return e.compile(ctx, wasm, manifest, "")
	}
	m, err := e.compile(ctx, wasm, manifest, next)
	if err != nil {
		_ = os.RemoveAll(next)
		return e.compile(ctx, wasm, manifest, "")
	}
	keep(next, dir)
	return m, nil
}

// compile makes one runtime for one module. Runtimes do not share a cache object, only its folder:
// wazero 1.12.0 mixes up imports when they do.
func (e *Engine) compile(ctx context.Context, wasm []byte, manifest *Manifest, cacheDir string) (m *Module, err error) {
	m = &Module{hosts: map[string]api.Module{}, slots: e.slots, idle: make(chan struct{})}
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCustomSections(false).
		WithDebugInfoEnabled(false)
	if cacheDir != "" {
		if m.cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return nil, fmt.Errorf("open the compilation cache: %w", err)
		}
		config = config.WithCompilationCache(m.cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if r := recover(); r != nil { // a compiler may stumble over a hostile module; the host must not
			err = fmt.Errorf("the compiler failed: %s", firstLine(fmt.Sprint(r)))
		}
		if err != nil {
			err = errors.Join(err, m.free(ctx))
			m = nil
		}
	}()
	if m.compiled, err = m.runtime.CompileModule(ctx, wasm); err != nil {
		return m, fmt.Errorf("compile: %s", oneLine(err.Error()))
	}
	return m, m.addHosts(ctx, e.offer, manifest)
}

// validate has wazero look at the module as it was given, before anything is appended to it. wazero has
// no function for that; it validates, then asks for the listeners of the functions, then compiles. So a
// factory of listeners that panics ends it where it is wanted (TestValidateStopsBeforeCompiling).
func validate(ctx context.Context, wasm []byte) (err error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(api.CoreFeaturesV2).WithCustomSections(false).WithDebugInfoEnabled(false).WithMemoryLimitPages(65536))
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case validated:
			err = nil
		default:
			err = fmt.Errorf("the validator failed: %s", firstLine(fmt.Sprint(reason)))
		}
		err = errors.Join(err, r.Close(ctx))
	}()
	stop := experimental.FunctionListenerFactoryFunc(func(api.FunctionDefinition) experimental.FunctionListener { panic(validated{}) })
	if _, err := r.CompileModule(experimental.WithFunctionListenerFactory(ctx, stop), wasm); err != nil {
		return fmt.Errorf("the module is not valid: %s", oneLine(err.Error()))
	}
	return nil
}

type validated struct{}

// rewriteSafely turns a fault of ours into a refusal: one module must not end the host.
func (s *sections) rewriteSafely() (wasm []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("rewriting it failed: %s", firstLine(fmt.Sprint(r)))
		}
	}()
	return s.rewrite(), nil
}

// addHosts makes the host modules that the module imports, and no other.
func (m *Module) addHosts(ctx context.Context, offer Offer, manifest *Manifest) (err error) {
	if m.hosts[ownModule], err = newLook(ctx, m.runtime); err != nil {
		return fmt.Errorf("make the module %s: %w", ownModule, err)
	}
	wasi := slices.ContainsFunc(manifest.Imports, func(i Import) bool { return i.Module == wasiModule })
	if wasi {
		if m.hosts[wasiModule], err = newWASI(ctx, m.runtime); err != nil {
			return fmt.Errorf("make the module %s: %w", wasiModule, err)
		}
	}
	for _, module := range manifest.Modules() {
		if m.hosts[module], err = newHost(ctx, m.runtime, module, offer[module]); err != nil {
			return fmt.Errorf("make the module %s: %w", plain(module), err)
		}
	}
	return nil
}

// Instances says how many instances were ever made: a call that was refused made none.
func (m *Module) Instances() uint64 { return m.instances.Load() }

// enter begins a call, if the module is not closed.
func (m *Module) enter() bool {
	m.running.Lock()
	defer m.running.Unlock()
	if m.closed {
		return false
	}
	m.calls++
	return true
}

func (m *Module) leave() {
	m.running.Lock()
	defer m.running.Unlock()
	if m.calls--; m.closed && m.calls == 0 {
		close(m.idle)
	}
}

// Close refuses further calls, waits for those that run and frees the compiled code. If ctx ends first it
// returns, and the code is freed when the last call has ended.
func (m *Module) Close(ctx context.Context) error {
	m.running.Lock()
	if m.closed {
		m.running.Unlock()
		return nil
	}
	m.closed = true
	if m.calls == 0 {
		close(m.idle)
	}
	m.running.Unlock()
	select {
	case <-m.idle:
		return m.free(ctx)
	case <-ctx.Done():
		go func() {
			<-m.idle
			_ = m.free(context.Background()) // nobody waits for it
		}()
		return context.Cause(ctx)
	}
}

func (m *Module) free(ctx context.Context) error {
	err := m.runtime.Close(ctx)
	if m.cache != nil { // the runtime leaves the engine to its cache
		err = errors.Join(err, m.cache.Close(ctx))
	}
	return err
}
