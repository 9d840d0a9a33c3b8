package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/regularfile"
	"github.com/toolhost/toolhost/host/sandbox"
)

// ModuleReport is what a module's bytes say that it could do, whatever a config
// grants. What cannot be read of it is nil. Names of imports and exports are the
// module's own words; in texts they are quoted.
type ModuleReport struct {
	File      string         `json:"file"`
	Loads     bool           `json:"loads"` // within some config: there are no refusals
	Size      int            `json:"size"`  // bytes
	Digest    string         `json:"digest"`
	Functions int            `json:"functions"` // of its own
	Memory    *ModuleMemory  `json:"memory"`    // nil: none of its own
	Tables    []ModuleTable  `json:"tables"`
	Imports   *ModuleImports `json:"imports"`
	Exports   *ModuleExports `json:"exports"`
	State     *ModuleState   `json:"state"`
	Needs     *ModuleNeeds   `json:"needs"`
	Refusals  []string       `json:"refusals"` // every reason why it would not load
}

// ModuleMemory is a module's memory, in pages of 64 KiB.
type ModuleMemory struct {
	Pages    uint32  `json:"initial_pages"`
	MaxPages *uint32 `json:"maximum_pages"` // nil: limits.memory alone bounds it
	Limit    string  `json:"limit_needed"`  // what limits.memory must at least be, as a config writes it; "": the default is enough
}

// ModuleTable is a table's elements: at the start, and the most while it runs.
type ModuleTable struct {
	Elements uint32 `json:"initial_elements"`
	Most     uint32 `json:"maximum_elements"`
}

// ModuleImports are a module's imports, by who would answer them; each name once, sorted.
type ModuleImports struct {
	Toolhost     []string      `json:"toolhost"`
	Capabilities []ModuleKind  `json:"capabilities"`
	WASI         []string      `json:"wasi"`
	NotOffered   []ModuleOther `json:"not_offered"` // nobody
}

// ModuleKind is a kind of capability, with the functions of it that a module imports.
type ModuleKind struct {
	Kind      string   `json:"kind"`
	Functions []string `json:"functions"`
}

// ModuleOther is an import that nobody offers, or an export that nobody asks for.
type ModuleOther struct {
	Module string `json:"module,omitempty"` // of an import
	Name   string `json:"name"`
	Kind   string `json:"kind"` // function, table, memory or global
	Shown  string `json:"-"`    // the name, quoted unless it is an ordinary one
}

// ModuleExports are a module's exports.
type ModuleExports struct {
	ABI    []ModuleExport `json:"abi"` // those that the ABI names
	Others []ModuleOther  `json:"others"`
}

// ModuleExport is an export that the ABI names: "ok", "absent" where it need not
// be there, "missing" where it must, or "wrong".
type ModuleExport struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// ModuleState says where each call of a module starts, which is the same for all of them.
type ModuleState struct {
	PutBack bool     `json:"put_back"` // an instance is put back after a call, and used again; else each call gets a new one
	Why     []string `json:"why"`      // it is not; none if it is
	Repeats bool     `json:"repeats"`  // it can draw random numbers before it is called: what it makes of them is the same for every call
}

// Sentences are the state in words.
func (s ModuleState) Sentences() []string {
	if !s.PutBack {
		return []string{"a new instance for each call: " + strings.Join(s.Why, "; ")}
	}
	out := []string{"put back to one beginning after each call"}
	if s.Repeats {
		out = append(out, "what it draws of random numbers before that is the same in all calls: in Go the seeds of math/rand and maps")
	}
	return out
}

func stateOf(m *sandbox.Manifest) *ModuleState {
	return &ModuleState{PutBack: len(m.Renewal) == 0, Why: m.Renewal, Repeats: m.Draws}
}

// ModuleNeeds is what a config must have for the module.
type ModuleNeeds struct {
	Kinds  []string `json:"kinds"`  // a grant of each
	Effect string   `json:"effect"` // "read", or "write"
	Config string   `json:"config"` // to paste, with placeholders; it calls nobody
}

// InspectModule reads a module's file, or that in a plugin's folder, and runs
// none of its code. An error means that there is no such file to read; it names
// the file as shown, the path as it was given.
func InspectModule(ctx context.Context, file, shown string) (*ModuleReport, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file, shown = filepath.Join(file, ModuleFile), path.Join(shown, ModuleFile)
	}
	wasm, err := regularfile.Read(file, sandbox.MaxModule)
	switch {
	case errors.Is(err, os.ErrNotExist) && path.Base(shown) == ModuleFile:
		return nil, fmt.Errorf("%s is not there; build it with: toolhost plugin build %s", shown, path.Dir(shown))
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s is not there; name a module, or a folder that holds %s", shown, ModuleFile)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w; name a module, or a folder that holds %s", shown, err, ModuleFile)
	}
	return reportOn(ctx, wasm, shown), nil
}

func reportOn(ctx context.Context, wasm []byte, shown string) *ModuleReport {
	r := &ModuleReport{File: shown, Size: len(wasm)}
	m, faults := sandbox.Check(ctx, wasm, offer())
	for _, err := range faults {
		r.Refusals = append(r.Refusals, err.Error())
	}
	if m == nil {
		r.Digest = sandbox.Digest(wasm)
	} else {
		r.Digest = m.Digest
		r.Functions = m.Functions
		r.readMemory(m)
		for _, t := range m.Tables {
			r.Tables = append(r.Tables, ModuleTable{t.Min, t.Most})
		}
		r.Imports, r.Exports, r.Needs, r.State = importsOf(m), exportsOf(m), needsOf(m, shown), stateOf(m)
	}
	r.Loads = len(r.Refusals) == 0
	return r
}

// pages gives the bytes of a number of pages.
func pages(n uint32) int64 { return int64(n) << 16 }

// readMemory refuses what no config can give; less than that is the config's to give.
func (r *ModuleReport) readMemory(m *sandbox.Manifest) {
	if m.Memories == 0 {
		return
	}
	r.Memory = &ModuleMemory{Pages: m.MemoryMin}
	if m.HasMax {
		r.Memory.MaxPages = &m.MemoryMax
	}
	first := pages(m.MemoryMin)
	if first > config.DefaultLimits().Memory {
		r.Memory.Limit = config.ShowSize(first)
	}
	if first > config.MaxMemory && len(r.Refusals) == 0 {
		r.Refusals = append(r.Refusals, fmt.Sprintf("the memory starts with %d pages, %s: limits.memory is at most %s",
			m.MemoryMin, config.ShowSize(first), config.ShowSize(config.MaxMemory)))
	}
}

func importsOf(m *sandbox.Manifest) *ModuleImports {
	byModule, out := map[string][]string{}, &ModuleImports{}
	for _, i := range m.Imports {
		other := ModuleOther{i.Module, i.Name, string(i.Kind), i.String()}
		switch {
		case i.Offered && !slices.Contains(byModule[i.Module], i.Name):
			byModule[i.Module] = append(byModule[i.Module], i.Name)
		case !i.Offered && !slices.Contains(out.NotOffered, other):
			out.NotOffered = append(out.NotOffered, other)
		}
	}
	for _, names := range byModule {
		slices.Sort(names)
	}
	slices.SortFunc(out.NotOffered, func(a, b ModuleOther) int { return strings.Compare(a.Shown, b.Shown) })
	out.Toolhost = byModule[ownModule]
	delete(byModule, ownModule)
	for _, k := range capabilities.Kinds() {
		if names := byModule[k.Name]; len(names) > 0 {
			out.Capabilities = append(out.Capabilities, ModuleKind{k.Name, names})
		}
		delete(byModule, k.Name)
	}
	for _, names := range byModule { // what is offered beside the offer is WASI's
		out.WASI = append(out.WASI, names...)
	}
	return out
}

func exportsOf(m *sandbox.Manifest) *ModuleExports {
	out := &ModuleExports{}
	for _, e := range m.ABI {
		state := "ok"
		switch {
		case e.Fault != nil && e.Given:
			state = "wrong"
		case e.Fault != nil:
			state = "missing"
		case !e.Given:
			state = "absent"
		}
		out.ABI = append(out.ABI, ModuleExport{e.Name, state})
	}
	for _, e := range m.Exports {
		if !slices.ContainsFunc(m.ABI, func(a sandbox.ABIExport) bool { return a.Name == e.Name }) {
			out.Others = append(out.Others, ModuleOther{Name: e.Name, Kind: string(e.Kind), Shown: e.String()})
		}
	}
	return out
}

// needsOf names the grants that a load would miss (holdAgainstGrants).
func needsOf(m *sandbox.Manifest, shown string) *ModuleNeeds {
	n := &ModuleNeeds{Effect: "read"}
	for _, k := range capabilities.Kinds() {
		if slices.ContainsFunc(m.Imports, func(i sandbox.Import) bool { return i.Module == k.Name && i.Kind == sandbox.Function }) {
			n.Kinds = append(n.Kinds, k.Name)
		}
	}
	if slices.Contains(m.Modules(), "outbox") { // the one kind that writes
		n.Effect = "write"
	}
	n.Config = toolConfig(n, shown)
	return n
}

// ordinaryPath is what a config's string can hold as it stands. A path from the
// root is of one machine, and no config takes it.
var ordinaryPath = regexp.MustCompile(`^[A-Za-z0-9._-][A-Za-z0-9._/-]*$`)

// toolConfig writes the tool's section. The plugin's folder is named where the
// file lies in one whose name a tool could have.
func toolConfig(n *ModuleNeeds, shown string) string {
	name, folder := "NAME", "plugins/NAME"
	if dir := path.Dir(shown); path.Base(shown) == ModuleFile && config.IsName(path.Base(dir)) {
		name = path.Base(dir)
		folder = "plugins/" + name
		if ordinaryPath.MatchString(dir) {
			folder = dir
		}
	}
	var b strings.Builder
	line := func(text, why string) { fmt.Fprintf(&b, "%-36s # %s\n", text, why) }
	fmt.Fprintf(&b, "[tools.%s]\n", name)
	line(fmt.Sprintf("plugin = %q", folder), "with contract.json, seen from the config's folder")
	fmt.Fprintf(&b, "effect = %q\n", n.Effect)
	line("callers = []", "the roles that may call it; so far nobody")
	if n.Effect == effectWrite {
		line(`approve = { role = "NAME" }`, "who must agree, a role of [directory]")
	}
	if len(n.Kinds) > 0 {
		grants, why := []string{"NAME = {}"}, "the name of a capability of kind "+n.Kinds[0]
		if len(n.Kinds) > 1 {
			grants, why = nil, "the names of capabilities of these kinds"
			for _, kind := range n.Kinds {
				grants = append(grants, "NAME_OF_"+strings.ToUpper(kind)+" = {}")
			}
		}
		line("grants = { "+strings.Join(grants, ", ")+" }", why)
	}
	return b.String()
}
