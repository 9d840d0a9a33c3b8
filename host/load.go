package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/state"
)

// Options are what a host needs beside its config.
type Options struct {
	Name     string                      // of the config in faults and places; "": its base name
	Env      func(string) (string, bool) // for {env.X}; nil: every variable is unset
	Recorder Recorder                    // nil: the audit log that the config describes
	Also     Recorder                    // told before it; nil: none
	Program  string                      // who loads, for the record
	Log      hclog.Logger                // nil: none
	Cache    string                      // folder for compiled modules, of mode 0700; "": none
	Clock    func() time.Time            // nil: time.Now
	NewID    func() string               // nil: crypto/rand
	Resolver *net.Resolver               // of the names that guests fetch from; nil: the system's
	Step     func(step string)           // told between the steps of an approval (approve_run.go), for tests; nil: nobody
}

// Open loads a config whole: databases, contracts, modules. Where anything is
// wrong the error is a *config.Faults with all of it, and nothing is loaded
// (I11). No guest code runs.
func Open(ctx context.Context, path string, o Options) (*Host, error) {
	c, err := config.Load(path, config.Options{Name: o.Name, Env: o.Env, ReservedCodes: reservedCodes()})
	var faults *config.Faults
	if errors.As(err, &faults) {
		return nil, furtherFaults(ctx, faults)
	} else if err != nil {
		return nil, err
	}
	h := newHost(c, o)
	l := newLoader(h, o.Resolver)
	l.openDatabases(ctx)
	l.openDirectory(ctx)
	l.openMails()
	l.openCapabilities(ctx)
	l.readTools(ctx)
	l.readReplies()
	if len(l.faults) == 0 {
		l.valuesAreRead() // a rule with a fault may be the one that reads it
	}
	if len(l.faults) == 0 {
		l.openModules(ctx, o.Cache)
	}
	if len(l.faults) > 0 {
		_ = h.Close() // the faults are what to tell
		return nil, &config.Faults{List: inOrder(l.faults)}
	}
	if err := h.newStatus(); err != nil {
		_ = h.Close()
		return nil, err
	}
	for _, t := range h.tools {
		t.policy = h.resolve(t)
	}
	if err := h.recordLoad(o.Program); err != nil {
		_ = h.Close()
		return nil, fmt.Errorf("the load could not be recorded: %w", err)
	}
	return h, nil
}

// furtherFaults looks at the contracts and modules that a faulty config names,
// so that its author sees everything at once.
func furtherFaults(ctx context.Context, faults *config.Faults) error {
	if c := faults.Partial(); c != nil {
		l := newLoader(newHost(c, Options{}), nil)
		l.readTools(ctx)
		l.readSchemas()
		faults.List = inOrder(append(faults.List, l.faults...))
	}
	return faults
}

// inOrder sorts by the line of the config; what stands in other files comes last.
func inOrder(faults []config.Fault) []config.Fault {
	slices.SortStableFunc(faults, func(a, b config.Fault) int {
		line := func(f config.Fault) int {
			if f.File == "" {
				return math.MaxInt
			}
			return f.Line
		}
		return cmp.Compare(line(a), line(b))
	})
	return faults
}

func newHost(c *config.Config, o Options) *Host {
	h := &Host{
		config: c, tools: map[string]*tool{}, databases: map[string]*capabilities.Database{},
		recorder: o.Recorder, log: o.Log, clock: o.Clock, newID: o.NewID, step: o.Step,
	}
	if h.log == nil {
		h.log = hclog.NewNullLogger()
	}
	if h.clock == nil {
		h.clock = time.Now
	}
	b := c.Session
	h.kept = &kept{path: c.State, clock: h.clock, bounds: state.Limits{Steps: b.Steps, Time: b.Time, Repeats: b.Repeats, Refusals: b.Refusals, Within: b.Within}}
	if h.recorder == nil {
		h.audit = &auditRecorder{host: h}
		h.recorder = h.audit
	}
	if o.Also != nil {
		h.recorder = Also(o.Also, h.recorder)
	}
	if h.newID == nil {
		h.newID = rand.Text // 128 bits
	}
	return h
}

func (h *Host) recordLoad(program string) error {
	load := Load{Time: h.clock(), Program: program, Config: h.config.Digest, Tools: map[string]Policy{}}
	for name, t := range h.tools {
		load.Tools[name] = t.policy
	}
	return h.recorder.Loaded(load)
}

// A loader gathers every fault of a load.
type loader struct {
	host     *Host
	resolver *net.Resolver
	records  map[string]*capabilities.Records
	files    map[string]*capabilities.Files
	leads    map[string]string // where the root of a files capability leads, if a link is on its path
	fetch    map[string]*capabilities.Fetch
	roots    map[string]string // digests by path
	outboxes map[string]*capabilities.Outbox
	smtp     map[string]*capabilities.SMTP // by [mail.X]
	modules  map[string]*moduleRead        // by the plugin's folder
	faults   []config.Fault
}

func newLoader(h *Host, resolver *net.Resolver) *loader {
	return &loader{
		host: h, resolver: resolver, records: map[string]*capabilities.Records{}, files: map[string]*capabilities.Files{}, leads: map[string]string{},
		fetch: map[string]*capabilities.Fetch{}, roots: map[string]string{}, outboxes: map[string]*capabilities.Outbox{}, smtp: map[string]*capabilities.SMTP{},
		modules: map[string]*moduleRead{},
	}
}

func (l *loader) fault(at config.Place, format string, args ...any) {
	l.faults = append(l.faults, config.Fault{Place: at, Text: fmt.Sprintf(format, args...)})
}

func (l *loader) openDatabases(ctx context.Context) {
	for _, d := range l.host.config.Databases {
		db, err := capabilities.OpenSQLite(d.Name, d.File)
		if err != nil {
			l.fault(d.At("url"), "[databases.%s] url: %q %v", d.Name, d.Shown, err)
			continue
		}
		l.host.databases[d.Name] = db
		l.host.closers = append(l.host.closers, db)
	}
}

func (l *loader) openDirectory(ctx context.Context) {
	d := l.host.config.Directory
	if d == nil || l.host.databases[d.Database] == nil {
		return // the database's fault is told already
	}
	opened, err := openDirectory(ctx, l.host.databases[d.Database], *d)
	if err != nil {
		l.fault(d.At("table"), "[directory] table: %v", err)
	}
	l.host.directory = opened
}

// shown is a path as faults show it: beside the config, as the config was named.
func (l *loader) shown(path string) string {
	rel, err := filepath.Rel(l.host.config.Dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(filepath.Join(filepath.Dir(l.host.config.Name), rel))
}

func (l *loader) readTools(ctx context.Context) {
	l.readModules()
	for _, ct := range l.host.config.Tools {
		t := &tool{Tool: ct}
		if ct.Plugin != "" { // else the config has said so
			l.readTool(ctx, t)
		}
		l.host.tools[ct.Name] = t
	}
}

// engine makes the engine that compiles. It works without a cache too, where
// the folder cannot be trusted.
func (l *loader) engine(cache string) *sandbox.Engine {
	of := l.host.config.Instances
	engine, err := sandbox.NewEngine(sandbox.Options{CacheDir: cache, Offer: offer(), Memory: of.Memory, Idle: of.Idle})
	if err != nil {
		l.host.log.Warn("compiled modules are not kept", "folder", cache, "why", err)
	}
	return engine
}
