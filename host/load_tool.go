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

// readModule reads the module's bytes once: what is hashed is what is inspected
// and compiled.
func (l *loader) readModule(t *tool) {
	wasm, err := regularfile.Read(filepath.Join(t.Plugin, ModuleFile), sandbox.MaxModule)
	t.manifest = &sandbox.Manifest{}
	switch {
	case errors.Is(err, os.ErrNotExist):
		l.fault(t.At("plugin"), "[tools.%s] plugin: %s is not there; build it with: toolhost plugin build %s", t.Name, t.moduleFile, l.shown(t.Plugin))
		return
	case err != nil:
		l.fault(t.At("plugin"), "[tools.%s] plugin: %s cannot be read: %v", t.Name, t.moduleFile, err)
		return
	}
	module, errs := sandbox.Read(wasm, offer())
	for _, err := range errs {
		l.fault(t.At("plugin"), "[tools.%s] plugin: %s: %v", t.Name, t.moduleFile, err)
	}
	if module == nil {
		return
	}
	t.manifest, t.inspected = module.Manifest, module
	l.holdAgainstGrants(t)
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

// compile compiles every module, as many side by side as there are processors.
func (l *loader) compile(ctx context.Context, cache string) {
	engine := l.engine(cache)
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	errs := make([]error, len(l.host.config.Tools))
	for i, ct := range l.host.config.Tools {
		t := l.host.tools[ct.Name]
		if t.inspected == nil {
			continue // its fault was told
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.module, errs[i] = engine.CompileInspected(ctx, t.inspected, sandbox.Limits{Memory: t.Limits.Memory})
			t.inspected = nil // and the module's bytes with it
		})
	}
	wait.Wait()
	for i, ct := range l.host.config.Tools {
		if errs[i] != nil {
			l.fault(ct.At("plugin"), "[tools.%s] plugin: %s: %v", ct.Name, l.host.tools[ct.Name].moduleFile, errs[i])
		}
	}
}
