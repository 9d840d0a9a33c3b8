package config

import (
	"regexp"
	"strings"
)

// pattern is a form that names have, and how a fault says so.
type pattern struct {
	form *regexp.Regexp
	what string
}

func newPattern(what, form string) pattern {
	return pattern{form: regexp.MustCompile(form), what: what + " " + form}
}

// Read only. Each is anchored: a name is matched whole.
var (
	configName    = newPattern("a name", `^[a-z][a-z0-9_-]{0,63}$`)
	roleName      = newPattern("a role", `^[a-z][a-z0-9_]{0,31}$`)
	plainName     = newPattern("a name", `^[a-z][a-z0-9_]{0,63}$`) // of what rules name
	attributeName = newPattern("an attribute name", `^[a-z][a-z0-9_]{0,31}$`)
	sqlName       = newPattern("an SQL name", `^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	memberName    = newPattern("a member's name", `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	headerForm    = newPattern("a header's name", `^[A-Za-z][A-Za-z0-9-]{0,63}$`)
	clauseCode    = newPattern("a code", `^[a-z][a-z0-9_]{2,39}$`)
)

// IsName says whether a tool or a capability can have the name.
func IsName(name string) bool { return configName.form.MatchString(name) }

// matches reports a name that does not have the form of p.
func (r *reader) matches(w word, at string, p pattern) bool {
	if p.form.MatchString(w.text) {
		return true
	}
	r.report(w.line, "%s: %s is not %s", at, quote(w.text), p.what)
	return false
}

// itemName gives the X of a section like [tools.X], and reports one that does not have the form of a name.
func (s section) itemName() string {
	s.r.matches(word{text: s.key, line: s.node.line}, s.path, configName)
	return s.key
}

// plainName is itemName for what CEL has to name: without "-".
func (s section) plainName() string {
	s.r.matches(word{text: s.key, line: s.node.line}, s.path, plainName)
	return s.key
}

// lookAlike folds what the eye takes for the same: a model, or a reviewer, that
// reads one name for the other must not reach another tool. Letters that join
// into another one come last, so that 1 and l have become one by then.
func lookAlike(name string) string {
	single := strings.NewReplacer("0", "o", "1", "l", "i", "l", "-", "_").Replace(name)
	return strings.NewReplacer("rn", "m", "vv", "w").Replace(single)
}

// sessionFields are the values that every session has a place for.
func sessionFields() []string { return []string{"subject", "tenant", "role", "id"} }
