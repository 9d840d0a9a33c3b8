package config

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/toolhost/toolhost/host/nearest"
)

// databases reads [databases.X].
func (s section) databases() []Database {
	var list []Database
	for _, table := range s.each("databases") {
		table.known([]string{"url"})
		table.require("url", `url = "sqlite:var/desk.db"`)
		d := Database{Place: table.place(), Name: table.itemName(), lines: table.lines()}
		url, ok := table.template("url", SpaceEnv)
		d.Shown = url.String()
		if ok {
			text, _ := url.Literal()
			d.File, d.Hash = table.databaseFile(url), hashOf(text)
		}
		list = append(list, d)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// databaseFile gives the file of a url like "sqlite:var/desk.db". Faults show
// the text of the file, as the url may hold a secret of the environment.
func (s section) databaseFile(url Template) string {
	text, _ := url.Literal()
	scheme, file, _ := strings.Cut(text, ":")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		s.fault("url", "postgres is not supported by this version of toolhost, only sqlite:FILE")
	case scheme != "sqlite" || file == "":
		s.fault("url", "%s is no database; write sqlite:FILE", quote(url.String()))
	case strings.HasPrefix(file, "//"):
		s.fault("url", "%s: write sqlite:FILE without // before the file", quote(url.String()))
	case strings.ContainsAny(file, "?#%"):
		// A driver could take what follows for options, "mode=rwc" for one.
		s.fault("url", "%s: the file may not hold ?, # or %%", quote(url.String()))
	case file == ":memory:":
		s.fault("url", "%s: a database in memory is empty at every start; write sqlite:FILE", quote(url.String()))
	default:
		return s.r.path(file)
	}
	return ""
}

// path gives a path of the file as an absolute one.
func (r *reader) path(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(r.dir, name)
}

// database gives the database that the section names.
func (s section) database(top section) string {
	s.require("database", `database = "desk"`)
	name, ok := s.text("database")
	if !ok {
		return ""
	}
	s.refers("database", "database", name, top, "databases")
	return name
}

// refers reports a name for which there is no [group.name]. An entry that has
// faults of its own is there, and a group that is no table may have any.
func (s section) refers(key, noun, name string, top section, group string) {
	var names []string
	if n := top.node.table[group]; n != nil {
		if n.table == nil || n.table[name] != nil {
			return
		}
		names = n.keys
	}
	s.fault(key, "no %s %s%s", noun, quote(name), nearest.DidYouMean(name, names))
}

// directory reads [directory].
func (s section) directory() *Directory {
	table, ok := s.child("directory", "[directory]")
	if !ok {
		return nil
	}
	table.known([]string{"database", "table", "roles"})
	d := &Directory{Place: table.place(), Database: table.database(s), lines: table.lines()}
	table.require("table", `table = "people"`)
	d.Table, _ = table.name("table", sqlName)
	table.require("roles", `roles = ["staff"]`)
	d.Roles = table.names("roles", roleName)
	if n := table.node.table["roles"]; n != nil && n.isList && len(n.list) == 0 {
		table.fault("roles", "a directory of no roles decides nothing; name them or remove [directory]")
	}
	return d
}

// rolesAreCallers reports each role of the directory that no tool's callers
// name. A misspelt one would leave the right one to what the session says.
func (r *reader) rolesAreCallers(d *Directory, tools []Tool) {
	if d == nil || r.badCallers {
		return
	}
	callers := callersOf(tools)
	for _, t := range tools {
		if t.Approve != nil {
			callers = append(callers, t.Approve.Role)
		}
	}
	for _, role := range d.Roles {
		if !slices.Contains(callers, role) {
			r.report(d.At("roles").Line, "[directory] roles: %s is in no tool's callers or approve, so that the directory would decide nothing for it%s",
				quote(role), nearest.DidYouMean(role, callers))
		}
	}
}

// callersOf are the roles that may call any of the tools.
func callersOf(tools []Tool) []string {
	var callers []string
	for _, t := range tools {
		callers = append(callers, t.Callers...)
	}
	return callers
}
