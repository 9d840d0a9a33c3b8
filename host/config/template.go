package config

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Space is where a reference takes its value from.
type Space string

const (
	SpaceSession Space = "session" // the session of the call
	SpaceArgs    Space = "args"    // the parsed arguments of the call
	SpaceEnv     Space = "env"     // the environment of the host; resolved at load
)

// Ref names one value: {session.customer}.
type Ref struct {
	Space Space
	Name  string
}

// String gives the reference as the file has it.
func (r Ref) String() string { return "{" + string(r.Space) + "." + r.Name + "}" }

// Template is literal text with references in it. The zero Template stands for
// "the file has none" and renders to nothing, so that it can match nothing.
type Template struct {
	source string
	parts  []piece
}

// piece is literal text, or a reference if ref has a space.
type piece struct {
	text string
	ref  Ref
}

// IsZero says that the file has no such template.
func (t Template) IsZero() bool { return len(t.parts) == 0 }

// String gives the text of the file. It never holds the value of an
// environment variable, only its name.
func (t Template) String() string { return t.source }

// Refs gives the references that are left to resolve at a call, in order.
func (t Template) Refs() []Ref {
	var refs []Ref
	for _, p := range t.parts {
		if p.ref.Space != "" {
			refs = append(refs, p.ref)
		}
	}
	return refs
}

// Literal gives the text of a template that needs no value. Variables of the
// environment stand in it with their values. It is false for the zero Template
// and for one with references.
func (t Template) Literal() (string, bool) {
	return t.Render(func(Ref) (string, bool) { return "", false })
}

// Render gives the text with the value of each reference in its place. A value
// is never parsed again. It is false for the zero Template, and when resolve
// has no value for a reference.
func (t Template) Render(resolve func(Ref) (string, bool)) (string, bool) {
	if t.IsZero() {
		return "", false
	}
	var b strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.ref.Space != "" {
			value, ok := resolve(p.ref)
			if !ok {
				return "", false
			}
			text = value
		}
		b.WriteString(text)
	}
	return b.String(), true
}

var reference = regexp.MustCompile(`^([a-z]+)\.([A-Za-z_][A-Za-z0-9_-]{0,63})$`)

// template reads the string at key. A reference to a space that is not in
// takes is a fault; so is a brace that belongs to no reference.
func (s section) template(key string, takes ...Space) (Template, bool) {
	source, ok := s.text(key)
	if !ok {
		return Template{}, false
	}
	line, at := s.node.table[key].line, s.at(key)
	t := Template{source: source}
	for rest := source; rest != ""; {
		open := strings.IndexAny(rest, "{}")
		if open < 0 {
			t.parts = append(t.parts, piece{text: rest})
			break
		}
		if open > 0 {
			t.parts = append(t.parts, piece{text: rest[:open]})
		}
		end := strings.IndexByte(rest[open:], '}')
		var m []string
		if rest[open] == '{' && end > 0 {
			m = reference.FindStringSubmatch(rest[open+1 : open+end])
		}
		if m == nil {
			s.r.report(line, "%s: %s holds a brace that names no value; a reference looks like {session.tenant}", at, quote(source))
			return Template{}, false
		}
		rest = rest[open+end+1:]
		p, good := s.r.resolve(Ref{Space: Space(m[1]), Name: m[2]}, word{text: at, line: line}, takes)
		ok = ok && good
		t.parts = append(t.parts, p)
	}
	return t, ok
}

// resolve checks one reference. What the environment gives becomes literal text.
func (r *reader) resolve(ref Ref, at word, takes []Space) (piece, bool) {
	fault := func(format string, args ...any) (piece, bool) {
		r.report(at.line, at.text+": "+format, args...)
		return piece{}, false
	}
	switch ref.Space {
	case SpaceSession, SpaceArgs, SpaceEnv:
	case "facts", "values", "approval":
		return fault("%s", notEnforced(quote(ref.String())))
	default:
		spaces := []string{"session", "args", "env"}
		return fault("%s names no value%s; a reference begins with session, args or env",
			quote(ref.String()), didYouMean(string(ref.Space), spaces))
	}
	if !slices.Contains(takes, ref.Space) {
		return fault("%s may not stand here; %s", quote(ref.String()), whatMayStand(takes))
	}
	switch ref.Space {
	case SpaceSession:
		return piece{ref: ref}, r.sessionValue(ref, at)
	case SpaceEnv:
		value, ok := r.variable(ref.Name)
		switch {
		case !ok:
			return fault("the environment variable %s is not set", ref.Name)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, hidden):
			return fault("the environment variable %s holds a control character or is not valid UTF-8", ref.Name)
		}
		return piece{text: value}, true
	}
	return piece{ref: ref}, true
}

func (r *reader) variable(name string) (string, bool) {
	if r.env == nil {
		return "", false
	}
	return r.env(name)
}

// sessionValue reports a name that no session can have a value for.
func (r *reader) sessionValue(ref Ref, at word) bool {
	names := append(slices.Clone(r.attributes), sessionFields()...)
	if r.anySession || slices.Contains(names, ref.Name) {
		return true
	}
	r.report(at.line, "%s: %s is no session value (%s)%s", at.text, quote(ref.String()),
		strings.Join(names, ", "), didYouMean(ref.Name, names))
	return false
}

func whatMayStand(takes []Space) string {
	if len(takes) == 0 {
		return "only literal text may"
	}
	list := make([]string, len(takes))
	for i, space := range takes {
		list[i] = "{" + string(space) + ".x}"
	}
	return "only literal text and " + strings.Join(list, " and ") + " may"
}
