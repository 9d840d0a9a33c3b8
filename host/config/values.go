package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/decimal"
	"github.com/toolhost/toolhost/host/nearest"
)

// Value is something that rules compare with and that differs by role.
type Value struct {
	Place
	Name  string
	Type  string // decimal, integer, text, boolean or duration
	Roles map[string]RoleValue

	lines keyLines
}

// At is Database.At for a value.
func (v Value) At(key string) Place { return v.lines.at(v.Place, key) }

// RoleValue is a value as one role has it; the field of its type is set.
type RoleValue struct {
	Number   decimal.Number // decimal and integer; "unlimited" too
	Text     string
	Boolean  bool
	Duration time.Duration
	Shown    string // as the file has it
}

const unlimited = "unlimited"

func valueTypes() []string { return []string{"decimal", "integer", "text", "boolean", "duration"} }

// values reads [values.X].
func (s section) values() []Value {
	var list []Value
	for _, table := range s.each("values") {
		table.known([]string{"type", "roles"})
		v := Value{Place: table.place(), Name: table.plainName(), lines: table.lines(), Roles: map[string]RoleValue{}}
		table.require("type", `type = "decimal"`)
		kind, ok := table.text("type")
		if ok && !slices.Contains(valueTypes(), kind) {
			table.fault("type", "no type %s%s; known here: %s", quote(kind), nearest.DidYouMean(kind, valueTypes()), strings.Join(valueTypes(), ", "))
			ok = false
		}
		v.Type = kind
		table.require("roles", `roles = { staff = "100.00", owner = "unlimited" }`)
		if roles, found := table.child("roles", table.at("roles")); found && ok {
			v.Roles = roles.roleValues(kind)
		}
		list = append(list, v)
	}
	return list
}

func (s section) roleValues(kind string) map[string]RoleValue {
	values := map[string]RoleValue{}
	for _, role := range s.node.keys {
		if s.r.matches(word{text: role, line: s.node.table[role].line}, s.at(role), roleName) {
			values[role] = s.roleValue(role, kind)
		}
	}
	return values
}

// roleValue reads a value of the type. Numbers are texts, as a float of TOML
// would be a binary one; an integer may be one of TOML's.
func (s section) roleValue(role, kind string) RoleValue {
	n := s.node.table[role]
	switch value := n.scalar.(type) {
	case bool:
		if kind == "boolean" {
			return RoleValue{Boolean: value, Shown: strconv.FormatBool(value)}
		}
	case int64:
		if kind == "integer" {
			return RoleValue{Number: decimal.Int(value), Shown: strconv.FormatInt(value, 10)}
		}
	case string:
		if v, ok := s.roleText(role, kind); ok {
			return v
		}
		return RoleValue{}
	}
	s.fault(role, "found %s, expected %s", found(n), map[string]string{
		"decimal": `a decimal in a string, like "100.00", or "unlimited"`, "integer": `an integer, or "unlimited"`,
		"text": "a string", "boolean": "true or false", "duration": `a duration, like "36h" or "14d"`,
	}[kind])
	return RoleValue{}
}

var wholeForm = regexp.MustCompile(`^-?[0-9]+$`)

func (s section) roleText(role, kind string) (RoleValue, bool) {
	text, ok := s.text(role)
	if !ok {
		return RoleValue{}, false
	}
	switch kind {
	case "text":
		return RoleValue{Text: text, Shown: text}, true
	case "duration":
		d, sound := longDuration(text)
		if !sound {
			s.fault(role, `%s is no duration; write whole numbers of d, h, m and s, like "14d" or "1h30m"`, quote(text))
		}
		return RoleValue{Duration: d, Shown: text}, sound
	case "boolean":
		s.fault(role, "found a string, expected true or false")
		return RoleValue{}, false
	case "decimal", "integer":
		if text == unlimited {
			return RoleValue{Number: decimal.Unlimited(), Shown: text}, true
		}
		n, err := decimal.Parse(text)
		if err == nil && (kind == "decimal" || wholeForm.MatchString(text)) {
			return RoleValue{Number: n, Shown: text}, true
		}
	}
	example := `"100.00"`
	if kind == "integer" {
		example = "100"
	}
	s.fault(role, "%s is no %s; write one like %s, or \"unlimited\"", quote(text), kind, example)
	return RoleValue{}, false
}

var longDurationForm = regexp.MustCompile(`^(?:([0-9]{1,5})d)?((?:[0-9]{1,6}h)?(?:[0-9]{1,6}m)?(?:[0-9]{1,6}s)?)$`)

// longDuration reads a duration of business data: "14d", "1d12h", "90m".
func longDuration(text string) (time.Duration, bool) {
	m := longDurationForm.FindStringSubmatch(text)
	if m == nil || text == "" {
		return 0, false
	}
	days, err := strconv.Atoi(m[1])
	if m[1] != "" && err != nil {
		return 0, false
	}
	rest := time.Duration(0)
	if m[2] != "" {
		if rest, err = time.ParseDuration(m[2]); err != nil {
			return 0, false
		}
	}
	sum := time.Duration(days)*24*time.Hour + rest // five digits of days fit alone
	return sum, sum >= rest
}

// rolesHaveValues reports each role that a value is set for and that no tool's
// callers name: a misspelt one would leave the right one without.
func (r *reader) rolesHaveValues(values []Value, tools []Tool) {
	if r.badCallers {
		return
	}
	callers := callersOf(tools)
	for _, v := range values {
		for _, role := range slices.Sorted(maps.Keys(v.Roles)) {
			if !slices.Contains(callers, role) {
				r.report(v.At("roles").Line, "[values.%s] roles: %s is in no tool's callers%s", v.Name, quote(role), nearest.DidYouMean(role, callers))
			}
		}
	}
}
