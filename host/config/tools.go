package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/nearest"
)

// StatusTool is the name of the host's own tool.
const StatusTool = "approval_status"

// tools reads [tools.X].
func (s section) tools(limits Limits, of Instances) []Tool {
	var list []Tool
	shapes := map[string]section{}
	tables := s.each("tools")
	if group := s.node.table["tools"]; group != nil {
		s.r.badCallers = group.table == nil || len(tables) < len(group.keys)
	}
	for _, table := range tables {
		shape := lookAlike(table.key)
		if shape == lookAlike(StatusTool) {
			table.r.report(table.node.line, "%s: %s is the host's own tool; choose another name", table.path, StatusTool)
		}
		if other, ok := shapes[shape]; ok {
			s.r.report(table.node.line, "%s: the name looks like %s (line %d); the two cannot both load",
				table.path, other.path, other.node.line)
		} else {
			shapes[shape] = table
		}
		list = append(list, table.tool(s, limits, of))
	}
	return list
}

func (s section) tool(top section, limits Limits, of Instances) Tool {
	s.known(
		[]string{"plugin", "effect", "callers", "approve", "not_available", "limits", "instances", "grants", "facts", "rules"})
	t := Tool{Place: s.place(), Name: s.itemName(), lines: s.lines()}
	t.Plugin = s.plugin()
	t.Effect = s.effect()
	t.Callers = s.callers()
	t.Approve = s.approve(t.Effect)
	t.NotAvailable, _ = s.template("not_available", SpaceArgs)
	t.Limits = s.toolLimits(limits)
	t.Instances = s.toolInstances(of)
	t.Grants = s.grants(top)
	t.Facts = s.facts(top)
	t.Rules = s.rules()
	return t
}

// callers reads the roles that may call the tool.
func (s section) callers() []string {
	before := len(s.r.faults)
	s.require("callers", `callers = ["staff"], or [] for nobody`)
	callers := s.names("callers", roleName)
	s.r.badCallers = s.r.badCallers || len(s.r.faults) > before
	return callers
}

// plugin reads the folder of the plugin. It may lead out of the config's folder
// (a config in a folder of its own shares plugins), but only in relative steps:
// an absolute path is of one machine.
func (s section) plugin() string {
	s.require("plugin", `plugin = "plugins/get_order"`)
	t, ok := s.template("plugin")
	if !ok {
		return ""
	}
	folder, _ := t.Literal()
	switch {
	case filepath.IsAbs(folder) || strings.HasPrefix(folder, "/"):
		s.fault("plugin", "%s is absolute; write a folder relative to this file", quote(folder))
	case strings.Contains(folder, `\`):
		s.fault("plugin", `%s holds a \; write / between folders`, quote(folder))
		return ""
	}
	return s.r.path(folder)
}

func (s section) effect() string {
	s.require("effect", `effect = "read"`)
	effect, ok := s.text("effect")
	if effects := []string{"read", "write"}; ok && !slices.Contains(effects, effect) {
		s.fault("effect", `no effect %s%s; write "read" or "write"`, quote(effect), nearest.DidYouMean(effect, effects))
	}
	return effect
}

// grants reads what the tool reaches. No grants, and an empty table of them, are nothing.
func (s section) grants(top section) []Grant {
	table, ok := s.child("grants", s.at("grants"))
	if !ok {
		if s.has("grants") {
			return []Grant{{Place: s.lines().at(s.place(), "grants")}}
		}
		return nil
	}
	var list []Grant
	for _, name := range table.node.keys {
		n := table.node.table[name]
		g := Grant{Place: Place{File: s.r.file, Line: n.line}, Capability: name}
		s.r.grantable(n, s.at("grants"), name, top.node.table["capabilities"])
		before := len(s.r.faults)
		if grant, ok := table.child(name, table.at(name)); ok {
			grant.known([]string{"only"})
			g.Only = grant.only()
		}
		if g.Only == nil && len(s.r.faults) > before {
			g.Capability = "" // whether it was to have an only, nobody knows
		}
		list = append(list, g)
	}
	return list
}

// grantable reports a grant of a capability that is not there. Where
// [capabilities] is no table, any may be.
func (r *reader) grantable(grant *node, at, name string, capabilities *node) {
	var known []string
	if capabilities != nil {
		if capabilities.table == nil || capabilities.table[name] != nil {
			return
		}
		known = capabilities.keys
	}
	r.report(grant.line, "%s: no capability %s%s", at, quote(name), nearest.DidYouMean(name, known))
}

// only reads the argument that a grant is narrowed to.
func (s section) only() *Ref {
	t, ok := s.template("only", SpaceArgs)
	if !ok {
		return nil
	}
	refs := t.Refs()
	if len(t.parts) != 1 || len(refs) != 1 {
		s.fault("only", "%s is not exactly one {args.x}", quote(t.String()))
		return nil
	}
	return &refs[0]
}
