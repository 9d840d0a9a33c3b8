package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/contract"
	"github.com/toolhost/toolhost/host/regularfile"
	"github.com/toolhost/toolhost/host/sandbox"
)

// ModuleFile is the module's file in a plugin's folder.
const ModuleFile = "plugin.wasm"

// readTool reads the contract and the module, and holds the grants against both.
func (l *loader) readTool(ctx context.Context, t *tool) {
	t.contractFile = l.shown(filepath.Join(t.Plugin, contract.FileName))
	t.moduleFile = l.shown(filepath.Join(t.Plugin, ModuleFile))
	var faults []contract.Fault
	t.contract, faults = contract.Load(t.Plugin, l.shown(t.Plugin))
	for _, f := range faults {
		l.faults = append(l.faults, config.Fault{Text: f.Error()})
	}
	for _, g := range t.Grants {
		l.readGrant(t, g)
	}
	if t.contract != nil {
		l.holdAgainstContract(t)
		l.readRules(ctx, t)
	}
	l.holdWrites(t)
	l.readModule(t)
}

// readGrant resolves one grant. One that the config has no sound capability
// for is a fault of the config, and was told.
func (l *loader) readGrant(t *tool, cg config.Grant) {
	if c := l.capability(cg.Capability); c != nil {
		if g := l.newGrant(cg, c); g != nil {
			t.grants = append(t.grants, g)
		}
	}
}

// holdAgainstContract checks the names that the config takes from a contract.
func (l *loader) holdAgainstContract(t *tool) {
	if t.contract.Name != t.Name {
		l.fault(t.At("plugin"), "[tools.%s] plugin: %s is the contract of %q; the tool's name must be the same", t.Name, t.contractFile, t.contract.Name)
	}
	for _, g := range t.grants {
		if g.only != "" && !t.contract.RequiresText(g.only) {
			l.fault(g.Place, "[tools.%s] grants.%s: only: %q must be a required argument of type string in %s", t.Name, g.Capability, g.only, t.contractFile)
		}
	}
	for _, ref := range t.NotAvailable.Refs() {
		if t.contract.Secret(ref.Name) {
			l.fault(t.At("not_available"), "[tools.%s] not_available: %s is marked x-secret, and words are recorded", t.Name, ref)
		}
		if !t.contract.RequiresText(ref.Name) {
			l.fault(t.At("not_available"), "[tools.%s] not_available: %s must be a required argument of type string in %s", t.Name, ref, t.contractFile)
		}
	}
}

// readModule says what the module's file is. What is hashed is what is inspected and validated.
func (l *loader) readModule(t *tool) {
	read := l.modules[t.Plugin]
	t.manifest = &sandbox.Manifest{}
	switch err := read.err; {
	case errors.Is(err, os.ErrNotExist):
		l.fault(t.At("plugin"), "[tools.%s] plugin: %s is not there; build it with: toolhost plugin build %s", t.Name, t.moduleFile, l.shown(t.Plugin))
		return
	case err != nil:
		l.fault(t.At("plugin"), "[tools.%s] plugin: %s cannot be read: %v", t.Name, t.moduleFile, err)
		return
	}
	for _, err := range read.faults {
		l.fault(t.At("plugin"), "[tools.%s] plugin: %s: %v", t.Name, t.moduleFile, err)
	}
	if read.module == nil {
		return
	}
	t.manifest, t.inspected = read.module.Manifest, read.module
	l.holdAgainstGrants(t)
}

// moduleRead is what was read of one module.
type moduleRead struct {
	module *sandbox.Inspected
	faults []error
	err    error // of the file
}

// readModules reads the modules of all tools, as many side by side as there are processors: that is most of a load.
func (l *loader) readModules() {
	var plugins []string
	for _, ct := range l.host.config.Tools {
		if ct.Plugin != "" && l.modules[ct.Plugin] == nil {
			l.modules[ct.Plugin] = &moduleRead{}
			plugins = append(plugins, ct.Plugin)
		}
	}
	asManyAsProcessors(len(plugins), func(n int) {
		read := l.modules[plugins[n]]
		var wasm []byte
		if wasm, read.err = readModuleFile(plugins[n]); read.err == nil {
			read.module, read.faults = sandbox.Read(wasm, offer())
		}
	})
}

func readModuleFile(plugin string) ([]byte, error) {
	return regularfile.Read(filepath.Join(plugin, ModuleFile), sandbox.MaxModule)
}

// asManyAsProcessors does each of n things, as many at once as there are processors.
func asManyAsProcessors(n int, do func(int)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wait.Wait()
}

// holdAgainstGrants compares what the module imports with what the tool is
// granted (I9). A grant that the module cannot use is an error too, unless it
// has an only: then the gates use it.
func (l *loader) holdAgainstGrants(t *tool) {
	if len(t.grants) != len(t.Grants) {
		return // a grant is at fault itself; what it would have given nobody knows
	}
	for _, i := range t.manifest.Imports {
		kind, ok := capabilities.KindNamed(i.Module)
		if !ok || i.Kind != sandbox.Function {
			continue // the sandbox has said what else is wrong
		}
		granted := slices.ContainsFunc(t.grants, func(g *grant) bool { return g.kind.Name == kind.Name })
		if !granted {
			l.fault(t.Place, "[tools.%s] %s imports %s.%s, but the tool is granted no capability of kind %s; grant one, like: grants = { NAME = {} }", t.Name, t.moduleFile, i.Module, i.Name, kind.Name)
		}
	}
	for _, g := range t.grants {
		if g.only == "" && !slices.Contains(t.manifest.Modules(), g.kind.Name) {
			l.fault(g.Place, "[tools.%s] grants.%s: %s imports nothing of kind %s; take the grant away (or does its init not call pdk.Tool?)", t.Name, g.Capability, t.moduleFile, g.kind.Name)
		}
	}
}

// openModules validates every module. It is compiled when it is first called, or before (Host.Prepare, Host.Ahead).
func (l *loader) openModules(ctx context.Context, cache string) {
	engine := l.engine(cache)
	tools := l.host.config.Tools
	errs := make([]error, len(tools))
	asManyAsProcessors(len(tools), func(n int) {
		t := l.host.tools[tools[n].Name]
		if t.inspected == nil {
			return // its fault was told
		}
		limits := sandbox.Limits{Memory: t.Limits.Memory, Instances: t.Instances}
		t.module, errs[n] = engine.Open(ctx, t.inspected, limits, func() ([]byte, error) { return readModuleFile(t.Plugin) })
		t.inspected = nil // and the module's bytes with it
	})
	l.moduleFaults(errs)
}

// moduleFaults are those of the tools' modules, in the order of the config.
func (l *loader) moduleFaults(errs []error) {
	for n, ct := range l.host.config.Tools {
		if errs[n] != nil {
			l.fault(ct.At("plugin"), "[tools.%s] plugin: %s: %v", ct.Name, l.host.tools[ct.Name].moduleFile, errs[n])
		}
	}
}

// Prepare compiles every module, and runs nothing of it. Its error is a *config.Faults.
func (h *Host) Prepare(ctx context.Context) error {
	l := newLoader(h, nil)
	errs := make([]error, len(h.config.Tools))
	asManyAsProcessors(len(errs), func(n int) { errs[n] = h.tools[h.config.Tools[n].Name].module.Prepare(ctx) })
	if l.moduleFaults(errs); len(l.faults) > 0 {
		return &config.Faults{List: l.faults}
	}
	return nil
}

// Ahead compiles the modules of the tools that read beside the caller and has an instance of each ready for its first call,
// until the host is closed. It does nothing where the config says that the first call is to do so.
func (h *Host) Ahead() {
	if h.config.Instances.FirstUse {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	h.stopAhead = func() { cancel(); <-done }
	go func() {
		defer close(done)
		h.ahead(ctx)
	}()
}

func (h *Host) ahead(ctx context.Context) {
	asManyAsProcessors(len(h.config.Tools), func(n int) {
		t := h.tools[h.config.Tools[n].Name]
		if t.Approve != nil {
			return // its guest runs where a person agrees
		}
		said := &guestOutput{log: h.log.Named(t.Name)}
		defer said.flush()
		bounds := sandbox.Call{Time: t.Limits.Time, Fuel: t.Limits.Fuel, HostCalls: t.Limits.HostCalls, LogBytes: int(t.Limits.Log), Output: said}
		if err := t.module.Ahead(ctx, bounds); err != nil && ctx.Err() == nil {
			h.log.Error("a tool is not ready, and its calls will fail", "tool", t.Name, "module", t.moduleFile, "why", err)
		}
	})
}
