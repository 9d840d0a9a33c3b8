package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// machineCode is what modules of the same bytes share: the machine code, and the images.
type machineCode struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache // nil: none
	compiled wazero.CompiledModule
	hosts    map[string]api.Module
	globals  []string             // the names under which the rewriting exports the module's own mutable globals
	renewed  bool                 // each call needs a new instance
	images   map[int64]*imageCell // by the limit of memory; the engine's lock guards it
}

// compilation is a code on its way, or there. The engine's lock guards users.
type compilation struct {
	key   [sha256.Size]byte
	users int
	done  chan struct{} // closed when the rest is set
	code  *machineCode
	err   error
}

// source is what a module is compiled from: what was read of it, or how to read it again.
type source struct {
	inspected *Inspected // nil: read gives it
	read      func() ([]byte, error)
	digest    [sha256.Size]byte // without custom sections
}

// sections gives what is compiled. The bytes are those that were validated.
func (f source) sections(offer Offer) (*sections, error) {
	if f.inspected != nil {
		return f.inspected.read, nil
	}
	wasm, err := f.read()
	if err != nil {
		return nil, err
	}
	again, faults := Read(wasm, offer)
	if len(faults) > 0 || sha256.Sum256(again.read.plain()) != f.digest {
		return nil, errors.New("the module's file has changed since it was read; start the host again")
	}
	return again.read, nil
}

// Prepare compiles the module, if that is not done yet. Modules of the same bytes share what was compiled. It may take seconds; when ctx ends
// or Options.CompileTime is over, it returns and what was begun ends by itself: wazero cannot be interrupted, but what a module that
// got so far may cost it is bounded (complexity.go).
func (m *Module) Prepare(ctx context.Context) error {
	if m.compiled.Load() != nil {
		return nil
	}
	if !m.pool.enter(m) {
		return errClosed
	}
	defer m.pool.leave(m)
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-m.turn }()
	if m.compiled.Load() != nil {
		return nil
	}
	if ctx.Err() != nil { // select chooses by chance
		return context.Cause(ctx)
	}
	c, err := m.engine.codeOf(ctx, m.source)
	if err != nil {
		return err
	}
	m.source.inspected = nil // and the module's bytes with it
	m.cell = m.engine.imageFor(c.code, int64(m.limit))
	m.compiled.Store(c)
	return nil
}

// Ahead prepares the module and has an instance ready for its first call, whose bounds hold for that.
func (m *Module) Ahead(ctx context.Context, bounds Call) error {
	if err := m.Prepare(ctx); err != nil {
		return err
	}
	c := m.newCall(ctx, Call{Time: bounds.Time, Fuel: bounds.Fuel, HostCalls: bounds.HostCalls, LogBytes: bounds.LogBytes, Output: bounds.Output}, now())
	defer c.ctx.close()
	i, err := m.take(c)
	if err == nil {
		m.pool.giveUnused(m, i)
	}
	return c.verdict(0, err)
}

// codeOf gives the code of a module, and counts one that uses it. It is rewritten and compiled beside the caller, who waits
// only so long.
func (e *Engine) codeOf(ctx context.Context, from source) (*compilation, error) {
	beside := context.WithoutCancel(ctx)
	c := e.compilation(from.digest, func() (*machineCode, error) {
		s, err := from.sections(e.offer)
		if err != nil {
			return nil, err
		}
		manifest, _ := s.judge(e.offer)
		return e.rewriteAndCompile(beside, s, manifest)
	})
	ctx, cancel := context.WithTimeoutCause(ctx, e.compileTime, fmt.Errorf("compiling it takes longer than %v", e.compileTime))
	defer cancel()
	select {
	case <-c.done:
		if c.err != nil {
			return nil, errors.Join(c.err, e.release(ctx, c))
		}
		return c, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), e.release(ctx, c))
	}
}

// compilation finds the one of a module, or begins it.
func (e *Engine) compilation(key [sha256.Size]byte, compile func() (*machineCode, error)) *compilation {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.codes[key]
	if c == nil {
		c = &compilation{key: key, done: make(chan struct{})}
		e.codes[key] = c
		go e.run(c, compile)
	}
	c.users++
	return c
}

// run compiles, when it is its turn: as many do at once as there are processors, because one can take a gigabyte. It does not
// begin what nobody waits for any more, and frees it if it ends so.
func (e *Engine) run(c *compilation, compile func() (*machineCode, error)) {
	e.compiling <- struct{}{}
	defer func() { <-e.compiling }()
	if e.unwanted(c) {
		return
	}
	c.code, c.err = compile()
	if e.compiled(c) {
		_ = c.free(context.Background())
	}
}

// unwanted takes a compilation that nobody waits for off the engine's list before it begins, and says whether it did.
func (e *Engine) unwanted(c *compilation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.users > 0 {
		return false
	}
	delete(e.codes, c.key)
	return true
}

// compiled ends a compilation, and says whether nobody uses it.
func (e *Engine) compiled(c *compilation) (unused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(c.done)
	return e.forget(c)
}

// release counts one less, and frees what nobody uses. One that is still on its way stays, for who asks for it next: else
// each caller that goes away would leave one behind that runs, and the next begin another.
func (e *Engine) release(ctx context.Context, c *compilation) error {
	e.mu.Lock()
	c.users--
	unused := e.forget(c)
	e.mu.Unlock()
	if unused {
		return c.free(ctx)
	}
	return nil
}

// forget takes a compilation that has ended and that nobody uses off the engine's list, and says whether it did.
func (e *Engine) forget(c *compilation) bool {
	select {
	case <-c.done:
	default:
		return false
	}
	if c.users > 0 {
		return false
	}
	delete(e.codes, c.key)
	return true
}

func (c *compilation) free(ctx context.Context) error {
	if c.code == nil {
		return nil
	}
	return c.code.free(ctx)
}

// imageFor gives the place of the image of instances with so much memory.
func (e *Engine) imageFor(c *machineCode, memory int64) *imageCell {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.images[memory] == nil {
		c.images[memory] = &imageCell{turn: make(chan struct{}, 1)}
		c.images[memory].none.Store(c.renewed)
	}
	return c.images[memory]
}

func (e *Engine) rewriteAndCompile(ctx context.Context, s *sections, manifest *Manifest) (*machineCode, error) {
	wasm, err := s.rewriteSafely()
	if err != nil {
		return nil, err
	}
	dir := e.cacheOf(wasm)
	if dir == "" {
		return e.compile(ctx, wasm, s, manifest, "")
	}
	if intact(dir) {
		if m, err := e.compile(ctx, wasm, s, manifest, dir); err == nil {
			return m, nil
		}
	}
	next, err := os.MkdirTemp(e.cacheDir, ".new-")
	if err != nil { // what is wrong with the folder must not keep a tool from loading
		return e.compile(ctx, wasm, s, manifest, "")
	}
	m, err := e.compile(ctx, wasm, s, manifest, next)
	if err != nil {
		_ = os.RemoveAll(next)
		return e.compile(ctx, wasm, s, manifest, "")
	}
	keep(next, dir)
	return m, nil
}

// compile makes one runtime for one module. Runtimes do not share a cache object, only its folder:
// wazero 1.12.0 mixes up imports when they do.
func (e *Engine) compile(ctx context.Context, wasm []byte, s *sections, manifest *Manifest, cacheDir string) (c *machineCode, err error) {
	c = &machineCode{hosts: map[string]api.Module{}, globals: s.mutableNames(), renewed: len(manifest.Renewal) > 0, images: map[int64]*imageCell{}}
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCustomSections(false).
		WithDebugInfoEnabled(false)
	if cacheDir != "" {
		if c.cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return nil, fmt.Errorf("open the compilation cache: %w", err)
		}
		config = config.WithCompilationCache(c.cache)
	}
	c.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if r := recover(); r != nil { // a compiler may stumble over a hostile module; the host must not
			err = fmt.Errorf("the compiler failed: %s", firstLine(fmt.Sprint(r)))
		}
		if err != nil {
			err = errors.Join(err, c.free(ctx))
			c = nil
		}
	}()
	if c.compiled, err = c.runtime.CompileModule(ctx, wasm); err != nil {
		return c, fmt.Errorf("compile: %s", oneLine(err.Error()))
	}
	return c, c.addHosts(ctx, e.offer, manifest)
}

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
func (c *machineCode) addHosts(ctx context.Context, offer Offer, manifest *Manifest) (err error) {
	if c.hosts[ownModule], err = newLook(ctx, c.runtime); err != nil {
		return fmt.Errorf("make the module %s: %w", ownModule, err)
	}
	wasi := slices.ContainsFunc(manifest.Imports, func(i Import) bool { return i.Module == wasiModule })
	if wasi {
		if c.hosts[wasiModule], err = newWASI(ctx, c.runtime); err != nil {
			return fmt.Errorf("make the module %s: %w", wasiModule, err)
		}
	}
	for _, module := range manifest.Modules() {
		if c.hosts[module], err = newHost(ctx, c.runtime, module, offer[module]); err != nil {
			return fmt.Errorf("make the module %s: %w", plain(module), err)
		}
	}
	return nil
}

func (c *machineCode) free(ctx context.Context) error {
	err := c.runtime.Close(ctx)
	if c.cache != nil { // the runtime leaves the engine to its cache
		err = errors.Join(err, c.cache.Close(ctx))
	}
	return err
}
