package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
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
	Memory      int64         // bytes that all instances may have together; 0: DefaultMemory
	Idle        time.Duration // after so long without a call an instance is closed; 0: DefaultIdle
}

// DefaultCompileTime is many times what the bounds of a module let its compilation take.
const DefaultCompileTime = time.Minute

// What instances may be, where nothing else is said.
const (
	DefaultMemory    = 2 << 30
	DefaultInstances = 64
	DefaultIdle      = time.Minute
)

// Engine compiles modules, and keeps their instances.
type Engine struct {
	cacheDir    string
	offer       Offer
	compileTime time.Duration
	slots       chan struct{} // each holds one while an instance is made
	compiling   chan struct{} // each holds one while a module is compiled
	pool        *pool

	mu    sync.Mutex
	codes map[[sha256.Size]byte]*compilation // of the modules that are open, by their bytes
}

// NewEngine always gives an Engine that works. The error says why it does without the cache folder:
// wazero's cache files are machine code guarded by a CRC only, so the folder must be a directory of
// this user, closed to all others (0700). A missing folder is made.
func NewEngine(o Options) (*Engine, error) {
	e := &Engine{
		offer: Offer{}, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), compiling: make(chan struct{}, runtime.GOMAXPROCS(0)), compileTime: cmp.Or(o.CompileTime, DefaultCompileTime),
		pool:  &pool{total: cmp.Or(o.Memory, DefaultMemory), idle: cmp.Or(o.Idle, DefaultIdle), modules: map[*Module]bool{}},
		codes: map[[sha256.Size]byte]*compilation{},
	}
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

// Limits of a module.
type Limits struct {
	Memory    int64 // bytes of one instance
	Instances int   // that there may be at once; 0: DefaultInstances
}

// Module is a module with its instances.
type Module struct {
	instances
	engine *Engine
	source source
	pool   *pool
	limit  uint64 // bytes of memory
	made   atomic.Uint64
	runs   atomic.Uint64

	turn     chan struct{}               // holds one while a call compiles it
	compiled atomic.Pointer[compilation] // nil: not yet
	cell     *imageCell                  // set before compiled is
}

// Compile inspects a module and compiles it.
func (e *Engine) Compile(ctx context.Context, wasm []byte, limits Limits) (*Module, error) {
	m, faults := Read(wasm, e.offer)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return e.CompileInspected(ctx, m, limits)
}

// CompileInspected opens an inspected module and compiles it.
func (e *Engine) CompileInspected(ctx context.Context, inspected *Inspected, limits Limits) (*Module, error) {
	m, err := e.Open(ctx, inspected, limits, nil)
	if err != nil {
		return nil, err
	}
	if err := m.Prepare(ctx); err != nil {
		return nil, errors.Join(err, m.Close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// Open judges an inspected module by the engine's own offer, so that no path leads around it, and validates it. The
// error holds every fault. It is compiled when it is first called, or by Prepare. read gives the module's bytes again
// then, so that nobody need keep them; nil keeps them.
func (e *Engine) Open(ctx context.Context, inspected *Inspected, limits Limits, read func() ([]byte, error)) (*Module, error) {
	s := inspected.read
	manifest, faults := s.judge(e.offer)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if err := e.holdAgainst(limits, manifest); err != nil {
		return nil, err
	}
	wasm := s.plain()
	digest := sha256.Sum256(wasm)
	if !e.knownValid(digest) {
		if err := validate(ctx, wasm); err != nil {
			return nil, err
		}
		e.noteValid(digest)
	}
	m := &Module{
		instances: instances{most: cmp.Or(limits.Instances, DefaultInstances), quiet: make(chan struct{})},
		engine:    e, source: source{inspected: inspected, digest: digest}, pool: e.pool, limit: uint64(limits.Memory),
		turn: make(chan struct{}, 1),
	}
	if read != nil {
		m.source.inspected, m.source.read = nil, read
	}
	e.pool.open(m)
	return m, nil
}

func (e *Engine) holdAgainst(limits Limits, manifest *Manifest) error {
	memory := limits.Memory
	switch first := int64(manifest.MemoryMin) * pageSize; {
	case memory <= 0 || memory > maxMemory:
		return fmt.Errorf("a memory limit of %d bytes, want 1 to %d", memory, int64(maxMemory))
	case first > memory:
		return fmt.Errorf("the memory starts with %d pages, %d bytes: more than its limit of %d bytes", manifest.MemoryMin, first, memory)
	case memory > e.pool.total:
		return fmt.Errorf("a memory limit of %d bytes is more than the %d bytes that all instances may have together", memory, e.pool.total)
	case limits.Instances < 0:
		return fmt.Errorf("%d instances, want 1 or more", limits.Instances)
	}
	return nil
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

// Instances says how many instances were ever made.
func (m *Module) Instances() uint64 { return m.made.Load() }

// Runs says how many calls have begun to wait for an instance: each that was not refused before.
func (m *Module) Runs() uint64 { return m.runs.Load() }

// Close refuses further calls, waits for those that run and frees the compiled code. If ctx ends first it
// returns, and the code is freed when the last call has ended.
func (m *Module) Close(ctx context.Context) error {
	quiet, first := m.pool.close(m)
	if !first {
		return nil
	}
	select {
	case <-quiet:
		return m.free(ctx)
	case <-ctx.Done():
		go func() {
			<-quiet
			_ = m.free(context.Background()) // nobody waits for it
		}()
		return context.Cause(ctx)
	}
}

// free closes what no call holds any more.
func (m *Module) free(ctx context.Context) error {
	m.pool.forget(m)
	if c := m.compiled.Load(); c != nil {
		return m.engine.release(ctx, c)
	}
	return nil
}
