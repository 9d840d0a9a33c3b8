package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/contract"
	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/strictjson"
)

// A tool is all that the host holds of one tool. It does not change after load.
type tool struct {
	config.Tool
	contractFile string // as places show it
	moduleFile   string
	contract     *contract.Contract
	wasm         []byte // until it is compiled
	manifest     *sandbox.Manifest
	module       *sandbox.Module
	grants       []*grant
	policy       Policy
}

// A grant is one capability given to one tool, with what narrows it.
type grant struct {
	config.Grant
	kind    capabilities.Kind
	records *capabilities.Records
	table   string
	columns []string
	clauses []config.Clause
	only    string // the argument that names the one row; "": all within scope

	// The reasons of a refusal, written at load: to choose one costs the same
	// whichever it is (I6).
	missing string
	failing []string // by clause
}

// reasons writes missing and failing.
func (g *grant) reasons() {
	g.missing = g.Capability + ": no row has this key"
	for _, c := range g.clauses {
		g.failing = append(g.failing, g.Capability+": the row's "+c.Column+" is not "+shownValue(c.Is))
	}
}

// Tool is what a model sees of a tool, and its effect.
type Tool struct {
	Name        string
	Title       string // "" where the contract has none
	Description string
	Effect      string           // "read" or "write"
	Input       strictjson.Value // JSON Schema 2020-12, without toolhost's own keywords
	Output      strictjson.Value // the plugin's result, without the envelope
}

// Report is what check says of one loaded tool.
type Report struct {
	Name    string
	Module  string   // digest
	Size    int      // bytes of the module
	Imports []string // of functions that toolhost offers, sorted
	WASI    int      // how many functions of WASI it imports: clocks, random, output
	Callers []string // the roles that may call it
	Decided []string // those of them that the directory gives and takes
	Reaches []string
	Codes   []string // that the config names itself
	Stale   bool     // a source file beside the module is newer than it
}

// Reports gives a report of each tool, in the order of the config.
func (h *Host) Reports() []Report {
	var out []Report
	for _, ct := range h.config.Tools {
		t := h.tools[ct.Name]
		r := Report{Name: t.Name, Module: t.manifest.Digest, Size: t.manifest.Size, Callers: t.Callers}
		for _, role := range t.Callers {
			if h.directory != nil && h.directory.decides(role) {
				r.Decided = append(r.Decided, role)
			}
		}
		r.Imports, r.WASI = t.imports()
		r.Stale = t.stale()
		for _, g := range t.grants {
			r.Reaches = append(r.Reaches, g.sentence())
			for _, c := range g.clauses {
				if !slices.Contains(r.Codes, c.Else) {
					r.Codes = append(r.Codes, c.Else)
				}
			}
		}
		out = append(out, r)
	}
	return out
}

// stale tells whether a Go source beside the module is newer than the module.
func (t *tool) stale() bool {
	module, err := os.Stat(filepath.Join(t.Plugin, ModuleFile))
	sources, _ := filepath.Glob(filepath.Join(t.Plugin, "*.go"))
	return err == nil && slices.ContainsFunc(sources, func(name string) bool {
		source, err := os.Stat(name)
		return err == nil && source.ModTime().After(module.ModTime())
	})
}

// shownValue is what a clause compares with; literal text is quoted, so that it
// is not taken for a reference.
func shownValue(t config.Template) string {
	if len(t.Refs()) == 0 {
		return strconv.Quote(t.String())
	}
	return t.String()
}

func (t *tool) imports() (own []string, wasi int) {
	offered := t.manifest.Modules()
	seen := map[string]bool{} // a module may import a name twice
	for _, i := range t.manifest.Imports {
		name := i.Module + "." + i.Name
		switch {
		case seen[name]:
		case slices.Contains(offered, i.Module):
			own = append(own, name)
		default:
			wasi++
		}
		seen[name] = true
	}
	slices.Sort(own)
	return own, wasi
}

// sentence says what a grant reaches, in words that a reviewer can sign.
func (g *grant) sentence() string {
	s := g.Capability + ": " + count(len(g.columns), "column") + " of " + g.table + " (" + strings.Join(g.columns, ", ") + ")"
	if g.only != "" {
		s += ", the one row named by " + g.only
	}
	if len(g.clauses) == 0 {
		return s + ", for everyone"
	}
	var within []string
	for _, c := range g.clauses {
		within = append(within, c.Column+" = "+shownValue(c.Is))
	}
	return s + ", where " + strings.Join(within, " and ")
}
