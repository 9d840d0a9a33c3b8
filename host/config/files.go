package config

import (
	"slices"
	"strings"
)

// Files is a folder whose files tools may read. Who reads it must deny when
// Everyone is false and Folder is empty; a loaded config never has both.
type Files struct {
	Root     string     // absolute and cleaned
	Shown    string     // as the file has it
	Everyone bool       // every session reaches every file of the root
	Folder   []Template // names that lead from the root to the session's folder: literal text and session values
	MaxBytes int64
	MaxFiles int
}

// FolderShown is the session's folder as the file has it.
func (f Files) FolderShown() string {
	names := make([]string, len(f.Folder))
	for i, t := range f.Folder {
		names[i] = t.String()
	}
	return strings.Join(names, "/")
}

const (
	defaultMaxFiles = 100
	maxMaxFiles     = 1000
)

const sayFolder = `files without a folder for each session must say so: scope = "everyone"`

func (s section) files() *Files {
	s.known([]string{"kind", "root", "folder", "scope", "access", "max_bytes", "max_files"})
	f := &Files{MaxBytes: defaultMaxBytes, MaxFiles: defaultMaxFiles}
	s.require("root", `root = "var/tickets"`)
	if t, ok := s.template("root"); ok {
		f.Shown, _ = t.Literal()
		f.Root = s.r.path(f.Shown)
	}
	f.Everyone = s.everyone()
	if t, ok := s.template("folder", SpaceSession); ok {
		f.Folder = s.folder(t)
	}
	switch {
	case !s.has("folder") && !s.has("scope"):
		s.r.report(s.node.line, "%s: missing; write folder = \"{session.ticket}\"; %s", s.at("folder"), sayFolder)
	case s.has("folder") && s.has("scope"):
		s.fault("scope", "a folder for each session stands there already; remove one of the two")
	}
	s.access()
	if v, ok := s.size("max_bytes", 1, maxBytes); ok {
		f.MaxBytes = v
	}
	if v, ok := s.integer("max_files", 1, maxMaxFiles); ok {
		f.MaxFiles = v
	}
	return f
}

func (s section) everyone() bool {
	text, ok := s.text("scope")
	if ok && text != "everyone" {
		s.fault("scope", `%s is no scope of files; write "everyone", or a folder for each session`, quote(text))
	}
	return ok && text == "everyone"
}

// access must be said: a later version has more than one.
func (s section) access() {
	s.require("access", `access = "read"`)
	access, ok := s.text("access")
	switch {
	case !ok, access == "read":
	case slices.Contains([]string{"write", "read-write"}, access):
		s.fault("access", "files that a tool may write are not in this version of toolhost; write \"read\"")
	default:
		s.fault("access", `no access %s; write "read"`, quote(access))
	}
}

// folder splits a template into names. Two values in one name could be cut in
// two ways, and one session's folder be another's.
func (s section) folder(t Template) []Template {
	names, values := t.split('/'), 0
	for _, name := range names {
		literal, isLiteral := name.Literal()
		refs := len(name.Refs())
		values += refs
		switch {
		case name.IsZero():
			s.fault("folder", "%s has an empty name in it; write plain names with one / between them", quote(t.String()))
			return nil
		case refs > 1:
			s.fault("folder", "%s puts two values into one name, so that two sessions could have one folder; write a / between them", quote(t.String()))
			return nil
		case isLiteral && (literal == "." || literal == ".."):
			s.fault("folder", "%s has the name %s in it; write plain names", quote(t.String()), literal)
			return nil
		}
	}
	switch {
	case strings.Contains(t.String(), `\`):
		s.fault("folder", `%s holds a \; write / between names`, quote(t.String()))
		return nil
	case values == 0:
		s.fault("folder", "%s is the same folder for every session; write it into root, with scope = \"everyone\"", quote(t.String()))
		return nil
	}
	return names
}

// split cuts a template at each separator in its literal text. A value is never cut.
func (t Template) split(separator byte) []Template {
	list := []Template{{}}
	add := func(p piece, source string) {
		last := &list[len(list)-1]
		last.parts, last.source = append(last.parts, p), last.source+source
	}
	for _, p := range t.parts {
		if p.ref.Space != "" {
			add(p, p.ref.String())
			continue
		}
		for i, text := range strings.Split(p.text, string(separator)) {
			if i > 0 {
				list = append(list, Template{})
			}
			if text != "" {
				add(piece{text: text}, text)
			}
		}
	}
	return list
}
