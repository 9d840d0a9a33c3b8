package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	inspected    *sandbox.Inspected // until it is compiled
	manifest     *sandbox.Manifest
	module       *sandbox.Module
	grants       []*grant
	rules        ruleset
	policy       Policy
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
	Module  string // digest
	Policy  Policy
	Size    int      // bytes of the module
	Imports []string // of functions that toolhost offers, sorted
	WASI    int      // how many functions of WASI it imports: clocks, random, output
	Callers []string // the roles that may call it
	Decided []string // those of them that the directory gives and takes
	Effect  string   // "read" or "write"
	Approve string   // who must agree, for a person; "": nobody, a read runs at once
	Reaches []Reach
	Facts   []string // what the host looks up for the rules, a sentence each
	Rules   []RuleReport
	Values  []string // that the rules read, as the callers have them: "refund_limit: staff 100.00, owner unlimited"
	Codes   []string // that the config names itself
	State   []string // where its calls start, a sentence each
	Stale   bool     // a source file beside the module is newer than it
}

// RuleReport is what check says of one rule.
type RuleReport struct {
	Name     string
	Require  string
	Words    string // for the model; "" where the host's own are said
	Cost     uint64 // at most, of rules.MaxCost
	Examples int    // that came out as expected
	Place    config.Place
}

// Reach is what a tool can reach through one grant.
type Reach struct {
	Capability string
	Kind       string
	By         []string // the functions of the kind that the module imports; none: the gates alone use the grant
	Sentences  []string // what is reached, of whom and how far, for a reviewer
	Resolved   []byte   // JSON: all that decides it, as the policy's digest covers it
}

// Reports gives a report of each tool, in the order of the config.
func (h *Host) Reports() []Report {
	var out []Report
	for _, ct := range h.config.Tools {
		t := h.tools[ct.Name]
		r := Report{Name: t.Name, Effect: t.Effect, Policy: t.policy, Module: t.manifest.Digest, Size: t.manifest.Size, Callers: t.Callers}
		for _, role := range t.Callers {
			if h.directory != nil && h.directory.decides(role) {
				r.Decided = append(r.Decided, role)
			}
		}
		if t.Approve != nil {
			r.Approve = t.Approve.Sentence()
		}
		r.Imports, r.WASI = t.imports()
		r.Stale, r.State = t.stale(), stateOf(t.manifest).Sentences()
		for i := range t.rules.facts {
			r.Facts = append(r.Facts, t.rules.facts[i].sentence())
		}
		for _, v := range h.config.Values {
			if t.rules.reads("values", v.Name) {
				r.Values = append(r.Values, v.Name+": "+valuesOf(v, t.Callers))
			}
		}
		for _, rule := range t.rules.rules {
			r.Rules = append(r.Rules, RuleReport{
				Name: rule.Name, Require: rule.Require, Words: rule.Words.String(), Cost: rule.compiled.Cost, Examples: len(rule.Examples), Place: rule.At("require"),
			})
		}
		for _, g := range t.grants {
			r.Reaches = append(r.Reaches, Reach{
				Capability: g.Capability, Kind: g.kind.Name, By: g.by(r.Imports), Sentences: g.of.sentences(g.only), Resolved: h.resolved(g),
			})
			for _, code := range g.codes() {
				if !slices.Contains(r.Codes, code) {
					r.Codes = append(r.Codes, code)
				}
			}
		}
		out = append(out, r)
	}
	return out
}

// valuesOf are a value's roles, in the order of the callers.
func valuesOf(v config.Value, callers []string) string {
	var out []string
	for _, role := range callers {
		if set, ok := v.Roles[role]; ok {
			out = append(out, role+" "+set.Shown)
		}
	}
	return strings.Join(out, ", ")
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
