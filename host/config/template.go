package config

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/nearest"
)

// Space is where a reference takes its value from.
type Space string

// The spaces that a reference can name.
const (
	SpaceSession  Space = "session"  // the session of the call
	SpaceArgs     Space = "args"     // the parsed arguments of the call
	SpaceFacts    Space = "facts"    // what the host fetched for the rules: {facts.order.total}
	SpaceValues   Space = "values"   // the values of the session's role
	SpaceReply    Space = "reply"    // the final answer that a rule is about: {reply.order.order_id}
	SpaceApproval Space = "approval" // the approval of a write: id, approver and time
	SpaceRow      Space = "row"      // the row of an outbox that is delivered
	SpaceEnv      Space = "env"      // the environment of the host; resolved at load
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
	env  string // the variable of the environment whose value text is
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

// Shown gives what Render does, with the names of variables of the environment
// in the place of their values.
func (t Template) Shown(resolve func(Ref) (string, bool)) (string, bool) {
	named := Template{source: t.source}
	for _, p := range t.parts {
		if p.env != "" {
			p.text = Ref{SpaceEnv, p.env}.String()
		}
		named.parts = append(named.parts, p)
	}
	return named.Render(resolve)
}

var reference = regexp.MustCompile(`^([a-z]+)\.([A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63})?)$`)

// bareReference is a reference that lacks its braces. As literal text it would
// match no row, or show a model the name of the value.
var bareReference = regexp.MustCompile(`^(?:(?:session|args|values|approval|row|env)\.[A-Za-z_][A-Za-z0-9_-]{0,63}|(?:facts|reply)\.[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63})?)$`)

// template reads the string at key. A reference to a space that is not in
// takes is a fault; so is a brace that belongs to no reference, and, where the
// key takes any, a reference without its braces.
func (s section) template(key string, takes ...Space) (Template, bool) {
	source, ok := s.text(key)
	if !ok {
		return Template{}, false
	}
	if len(takes) > 0 && bareReference.MatchString(source) {
		s.fault(key, "%s is literal text; write %s for the value", quote(source), quote("{"+source+"}"))
		return Template{}, false
	}
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
		ref, after, found := cutReference(rest[open:])
		if !found {
			s.fault(key, "%s holds a brace that names no value; a reference looks like {session.tenant}", quote(source))
			return Template{}, false
		}
		p, good := s.resolve(key, ref, takes)
		t.parts = append(t.parts, p)
		rest, ok = after, ok && good
	}
	return t, ok
}

// cutReference takes the reference off the front of text, which begins with a brace.
func cutReference(text string) (ref Ref, after string, ok bool) {
	inner, after, ok := strings.Cut(text, "}")
	if !ok || !strings.HasPrefix(inner, "{") {
		return Ref{}, "", false
	}
	m := reference.FindStringSubmatch(inner[1:])
	if m == nil {
		return Ref{}, "", false
	}
	return Ref{Space: Space(m[1]), Name: m[2]}, after, true
}

// resolve checks one reference. What the environment gives becomes literal text.
func (s section) resolve(key string, ref Ref, takes []Space) (piece, bool) {
	shown := quote(ref.String())
	switch ref.Space {
	case SpaceSession, SpaceArgs, SpaceEnv, SpaceFacts, SpaceValues, SpaceReply, SpaceApproval, SpaceRow:
	default:
		s.fault(key, "%s names no value%s; a reference begins with session, args, facts, values, approval, row or env",
			shown, nearest.DidYouMean(string(ref.Space), []string{"session", "args", "facts", "values", "approval", "row", "env"}))
		return piece{}, false
	}
	if !slices.Contains(takes, ref.Space) {
		s.fault(key, "%s may not stand here; this key takes %s", shown, showSpaces(takes))
		return piece{}, false
	}
	if strings.Contains(ref.Name, ".") && ref.Space != SpaceFacts && ref.Space != SpaceReply {
		s.fault(key, "%s names no value; only a column of a fact has two names, like {facts.order.total}", shown)
		return piece{}, false
	}
	switch ref.Space {
	case SpaceSession:
		return piece{ref: ref}, s.namesSession(key, ref)
	case SpaceEnv:
		value, ok := s.variable(key, ref.Name)
		return piece{text: value, env: ref.Name}, ok
	case SpaceApproval:
		if !slices.Contains(approvalFields(), ref.Name) {
			s.fault(key, "%s is no value of an approval (%s)%s", shown, strings.Join(approvalFields(), ", "), nearest.DidYouMean(ref.Name, approvalFields()))
			return piece{}, false
		}
		return piece{ref: ref}, true
	default:
		return piece{ref: ref}, true
	}
}

// approvalFields are the values that an approval has.
func approvalFields() []string { return []string{"id", "approver", "time"} }

// variable gives the value of an environment variable. No fault shows it.
func (s section) variable(key, name string) (string, bool) {
	value, ok := "", false
	if s.r.env != nil {
		value, ok = s.r.env(name)
	}
	switch {
	case !ok:
		s.fault(key, "the environment variable %s is not set", name)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, hidden):
		s.fault(key, "the environment variable %s holds a control character or is not valid UTF-8", name)
		ok = false
	}
	return value, ok
}

// namesSession reports a reference for which no session can have a value.
func (s section) namesSession(key string, ref Ref) bool {
	names := append(slices.Clone(s.r.attributes), sessionFields()...)
	if s.r.anySession || slices.Contains(names, ref.Name) {
		return true
	}
	hint := nearest.Name(ref.Name, names)
	if hint != "" {
		hint = "; did you mean " + quote(Ref{Space: SpaceSession, Name: hint}.String()) + "?"
	}
	s.fault(key, "%s is no session value (%s)%s", quote(ref.String()), strings.Join(names, ", "), hint)
	return false
}

func showSpaces(spaces []Space) string {
	if len(spaces) == 0 {
		return "no reference"
	}
	list := make([]string, len(spaces))
	for i, space := range spaces {
		list[i] = "{" + string(space) + ".x}"
	}
	return strings.Join(list, " or ")
}
