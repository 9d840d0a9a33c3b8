package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// What toolhost keeps for itself stands apart: from each other, so that who
// holds, copies or loses the records does not also hold, copy or lose what
// proves them, and from what others write. Paths are compared as they are
// written; where a link leads is for who opens them to see.

// ownPath is a path that is toolhost's own.
type ownPath struct {
	what  string // "the audit key"
	at    string // "[audit] key"
	line  int    // 0: the file does not have it
	shown string // as the file has it, or the default
	path  string // absolute and cleaned; empty: it could not be read, so nothing is held against it
}

// ownPaths are those of one config.
type ownPaths struct {
	state, folder, key, program ownPath
}

// ownPath reads the path at key.
func (s section) ownPath(key, what, otherwise string) ownPath {
	p := ownPath{what: what, at: s.at(key), shown: otherwise}
	if n := s.node.table[key]; n != nil {
		t, ok := s.template(key)
		if !ok {
			return p
		}
		p.shown, _ = t.Literal()
		p.line = n.line
	}
	p.path = s.r.path(p.shown)
	return p
}

func (p ownPath) String() string { return p.what + " " + quote(p.shown) }

// is, holds and within do not hold for a path that could not be read.
func (p ownPath) is(path string) bool { return p.path != "" && p.path == path }

func (p ownPath) holds(path string) bool { return p.path != "" && path != "" && Inside(path, p.path) }

func (p ownPath) within(folder string) bool {
	return p.is(folder) || p.path != "" && Inside(p.path, folder)
}

// Inside says that path lies below folder. It goes by the parts of the paths:
// var/audit-old does not lie in var/audit. Both are absolute.
func Inside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// apart reports what does not stand apart.
func (r *reader) apart(c *Config) {
	own := r.own
	r.apartFrom(own.key, own.folder)
	r.apartFrom(own.state, own.folder)
	r.apartFrom(own.state, own.key)
	for _, d := range c.Databases {
		if d.File != "" {
			r.databaseApart(d)
		}
	}
	for _, t := range c.Tools {
		if t.Plugin != "" {
			r.pluginApart(t)
		}
	}
	for _, f := range c.Capabilities {
		if f.Files != nil && f.Files.Root != "" {
			r.filesApart(f, c.NotToRead())
		}
	}
}

// apartFrom reports p if it is the other path or lies inside it. Of two paths
// at least one is in the file, as the defaults are apart; there the fault is.
func (r *reader) apartFrom(p, other ownPath) {
	at := p
	if p.line == 0 {
		at = other
	}
	switch {
	case other.is(p.path):
		r.report(at.line, "%s: %s is the path of %s too; each needs its own", at.at, p, other.what)
	case other.holds(p.path):
		r.report(at.line, "%s: %s lies inside %s; keep it elsewhere, so that it is not copied, changed or lost along with the records", at.at, p, other)
	}
}

// databaseApart reports a database that tools read and that is toolhost's own.
// Its url is shown as the file has it: it may hold values of the environment.
func (r *reader) databaseApart(d Database) {
	relation := ""
	for _, p := range []ownPath{r.own.state, r.own.key, r.own.folder} {
		if p.is(d.File) {
			relation = "is " + p.String()
		}
	}
	if r.own.folder.holds(d.File) {
		relation = "lies inside " + r.own.folder.String()
	}
	if relation != "" {
		r.report(d.At("url").Line, "[databases.%s] url: %s %s, which toolhost keeps for itself", showKey(d.Name), quote(d.Shown), relation)
	}
}

// pluginApart reports a plugin's folder in which something of toolhost stands,
// or the other way round. The program would run outside of any sandbox.
func (r *reader) pluginApart(t Tool) {
	relation := ""
	switch folder := r.own.folder; {
	case folder.is(t.Plugin):
		relation = "is " + folder.String()
	case folder.holds(t.Plugin):
		relation = "lies inside " + folder.String()
	default:
		own := []ownPath{folder, r.own.key, r.own.state, r.own.program}
		own = slices.DeleteFunc(own, func(p ownPath) bool { return !p.within(t.Plugin) })
		relation = holding(own)
	}
	if relation != "" {
		r.report(t.At("plugin").Line, "[tools.%s] plugin: the folder %s; a plugin's folder is somebody else's to write", showKey(t.Name), relation)
	}
}

// OwnPath is something that no tool may read as a file.
type OwnPath struct{ What, Path string }

// NotToRead gives what no root of files may hold: what is toolhost's own, what
// decides what tools may do, and the databases, of which tools see what their
// capabilities let through. A value of a session could lead to any of it.
func (c *Config) NotToRead() []OwnPath {
	list := []OwnPath{
		{"the config", c.Path},
		{"the audit folder", c.Audit.Folder},
		{"the audit key", c.Audit.Key},
		{"the state database", c.State},
	}
	if command := c.Audit.CheckpointCommand; len(command) > 0 {
		list = append(list, OwnPath{"the program of checkpoint_command", command[0]})
	}
	for _, a := range c.Approvers {
		list = append(list, OwnPath{"the token's hash of " + a.Subject, a.File})
	}
	for _, d := range c.Databases {
		list = append(list, OwnPath{"the database " + d.Name, d.File})
	}
	for _, t := range c.Tools {
		list = append(list, OwnPath{"the plugin of " + t.Name, t.Plugin})
	}
	return slices.DeleteFunc(list, func(p OwnPath) bool { return p.Path == "" })
}

// filesApart reports a root of files that lies inside the audit folder, or in
// which something stands that no tool may read.
func (r *reader) filesApart(capability Capability, own []OwnPath) {
	root, relation := capability.Files.Root, ""
	var held []string
	for _, p := range own {
		if p.Path == root || Inside(p.Path, root) {
			held = append(held, p.What)
		}
	}
	switch folder := r.own.folder; {
	case folder.holds(root):
		relation = "lies inside " + folder.String()
	case len(held) > 0:
		relation = "holds " + strings.Join(held, " and ")
	default:
		return
	}
	r.report(capability.At("root").Line, "[capabilities.%s] root: the folder %s, which no tool may read as a file", showKey(capability.Name), relation)
}

func holding(own []ownPath) string {
	var names []string
	for _, p := range own {
		names = append(names, p.String())
	}
	if len(names) == 0 {
		return ""
	}
	return "holds " + strings.Join(names, " and ")
}
