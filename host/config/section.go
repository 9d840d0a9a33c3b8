package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/nearest"
)

// reader collects the faults of one file while it is read.
type reader struct {
	file     string
	dir      string
	env      func(string) (string, bool)
	reserved []string
	faults   []Fault

	attributes []string // that {session.x} may name
	anySession bool     // the attributes have a fault of their own, so no name is held against them
	badLimits  bool     // [limits] has faults, so no tool's limits are held against it
	own        ownPaths // what nothing else in the file may reach
	badCallers bool     // some tool's callers could not be read, so the directory's roles are not held against them
}

// section is a table of the file and how faults name it.
type section struct {
	r    *reader
	node *node
	key  string // of the table in the one around it
	path string // "", "[tools.get_order]" or "[tools.get_order] limits"
	one  bool   // a fault that shows the value names the section alone: one clause of a scope, say
}

// at says where the value of a key stands: "[limits] time".
func (s section) at(key string) string {
	if s.one {
		return s.path
	}
	return s.named(key)
}

// keyAt is at for a fault that shows no value, so that it must name the key.
func (s section) keyAt(key string) string {
	if s.one {
		return s.path + ": " + showKey(key)
	}
	return s.at(key)
}

// named gives a key with the section that it stands in.
func (s section) named(key string) string {
	switch {
	case s.path == "":
		return showKey(key)
	case strings.HasSuffix(s.path, "]"):
		return s.path + " " + showKey(key)
	}
	return s.path + "." + showKey(key)
}

// fault reports what is wrong with a key that is there.
func (s section) fault(key, format string, args ...any) {
	s.r.report(s.node.table[key].line, "%s: %s", s.at(key), fmt.Sprintf(format, args...))
}

// place is where the section begins.
func (s section) place() Place { return Place{File: s.r.file, Line: s.node.line} }

// keyLines are the lines of the keys of a section.
type keyLines map[string]int

func (s section) lines() keyLines {
	lines := keyLines{}
	for _, key := range s.node.keys {
		lines[key] = s.node.table[key].line
	}
	return lines
}

// at gives the place of a key of the section that begins at p.
func (l keyLines) at(p Place, key string) Place {
	if line, ok := l[key]; ok {
		p.Line = line
	}
	return p
}

func (s section) has(key string) bool { return s.node.table[key] != nil }

// known reports each key that is not in keys.
func (s section) known(keys []string) {
	for _, key := range s.node.keys {
		if !slices.Contains(keys, key) {
			s.r.report(s.node.table[key].line, "%s: unknown key%s; known here: %s",
				s.named(key), nearest.DidYouMean(key, keys), strings.Join(keys, ", "))
		}
	}
}

// require reports a key that is not there, with an example of it.
func (s section) require(key, example string) {
	if !s.has(key) {
		s.r.report(s.node.line, "%s: missing; for example %s", s.keyAt(key), example)
	}
}

// child gives a table within the section. It is false, with a fault, when the
// key holds something else, and false without one when there is no such key.
func (s section) child(key, path string) (section, bool) {
	n := s.node.table[key]
	if n == nil {
		return section{}, false
	}
	if n.table == nil {
		s.r.report(n.line, "%s: found %s, expected a table", path, found(n))
		return section{}, false
	}
	return section{r: s.r, node: n, key: key, path: path}, true
}

// childOrEmpty is child, with an empty table in place of one that is not there:
// a section whose keys all have defaults.
func (s section) childOrEmpty(key, path string) (section, bool) {
	if !s.has(key) {
		return section{r: s.r, node: newTable(0), key: key, path: path}, true
	}
	return s.child(key, path)
}

// with gives a section that has the one key, to read an element of an array as
// if it stood there alone.
func (s section) with(key string, n *node) section {
	table := newTable(s.node.line)
	table.table[key] = n
	table.keys = []string{key}
	return section{r: s.r, node: table, key: s.key, path: s.path, one: s.one}
}

// each gives the tables within [key], in file order: those of [tools], say.
func (s section) each(key string) []section {
	group, ok := s.child(key, "["+key+"]")
	if !ok {
		return nil
	}
	var tables []section
	for _, name := range group.node.keys {
		if t, ok := group.child(name, "["+key+"."+showKey(name)+"]"); ok {
			tables = append(tables, t)
		}
	}
	return tables
}

// tables gives the tables of the list at key, and reports what else stands in
// it; what says how one looks.
func (s section) tables(key, what string) []section {
	var list []section
	for _, item := range s.node.table[key].list {
		if item.table == nil {
			s.r.report(item.line, "%s: found %s, expected %s", s.at(key), found(item), what)
			continue
		}
		list = append(list, section{r: s.r, node: item, key: key, path: s.at(key)})
	}
	return list
}

// word is a string of the file and its line.
type word struct {
	text string
	line int
}

// text gives the string at key. It is false when the key is not there or has a fault.
func (s section) text(key string) (string, bool) {
	n := s.node.table[key]
	if n == nil {
		return "", false
	}
	return s.r.text(n, s.keyAt(key))
}

const maxText = 1000 // characters of one string; the longest are words for the model

func (r *reader) text(n *node, at string) (string, bool) { return r.textOf(n, at, maxText, "") }

// lengthy is text for what may have lines: a condition, JSON.
func (s section) lengthy(key string, most int) (string, bool) {
	n := s.node.table[key]
	if n == nil {
		return "", false
	}
	plain := *n
	if text, ok := n.scalar.(string); ok {
		plain.scalar = strings.ReplaceAll(text, "\r\n", "\n") // a Windows file means the same
	}
	return s.r.textOf(&plain, s.keyAt(key), most, "\n\t")
}

// textOf reads a string of at most so many characters, none of them a control
// character but those of kept.
func (r *reader) textOf(n *node, at string, most int, kept string) (string, bool) {
	text, ok := n.scalar.(string)
	switch {
	case !ok:
		r.report(n.line, "%s: found %s, expected a string", at, found(n))
		return "", false
	case text == "":
		r.report(n.line, "%s: an empty string; write a value or remove the key", at)
		return "", false
	case utf8.RuneCountInString(text) > most:
		r.report(n.line, "%s: longer than %d characters", at, most)
		return "", false
	case strings.ContainsFunc(text, func(c rune) bool { return hidden(c) && !strings.ContainsRune(kept, c) }):
		r.report(n.line, "%s: %s holds a control character", at, quote(text))
		return "", false
	}
	return text, true
}

// words gives the array of strings at key, without those that have a fault; a
// string that stands there twice has one.
func (s section) words(key string) []word {
	n := s.node.table[key]
	if n == nil {
		return nil
	}
	if !n.isList {
		s.fault(key, "found %s, expected an array of strings", found(n))
		return nil
	}
	list := make([]word, 0, len(n.list))
	seen := map[string]bool{}
	for _, item := range n.list {
		text, ok := s.r.text(item, s.at(key))
		switch {
		case !ok:
		case seen[text]:
			s.r.report(item.line, "%s: %s stands twice", s.at(key), quote(text))
		default:
			seen[text] = true
			list = append(list, word{text: text, line: item.line})
		}
	}
	return list
}

// names is words, each of which must have the form of p.
func (s section) names(key string, p pattern) []string {
	words := s.words(key)
	names := make([]string, 0, len(words))
	for _, w := range words {
		if s.r.matches(w, s.at(key), p) {
			names = append(names, w.text)
		}
	}
	return names
}

// name is text, which must have the form of p.
func (s section) name(key string, p pattern) (string, bool) {
	text, ok := s.text(key)
	if !ok {
		return "", false
	}
	return text, s.r.matches(word{text: text, line: s.node.table[key].line}, s.at(key), p)
}

// integer gives the integer at key, which must be from low to high.
func (s section) integer(key string, low, high int64) (int, bool) {
	n := s.node.table[key]
	if n == nil {
		return 0, false
	}
	value, ok := n.scalar.(int64)
	switch {
	case !ok:
		s.fault(key, "found %s, expected an integer", found(n))
	case value < low || value > high:
		s.fault(key, "%d is out of bounds, from %d to %d", value, low, high)
		ok = false
	}
	return int(value), ok
}

// found says what type a value has, in the words of a fault.
func found(n *node) string {
	switch {
	case n.table != nil:
		return "a table"
	case n.isList:
		return "an array"
	}
	switch n.scalar.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	}
	return "a date or time"
}
