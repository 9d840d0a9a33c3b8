package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/toolhost/toolhost/host/nearest"
)

// What is wrong with a rule, in the words of docs/rules.md: the parser and the
// checker speak of tokens and of CEL's types, and not of what to do.

// faultsOf gives what they found. Of the errors of syntax the first is told: the
// others follow from it.
func (e *Env) faultsOf(issues *cel.Issues) []Fault {
	var out []Fault
	syntax := false
	for _, found := range issues.Errors() {
		text, isSyntax := strings.CutPrefix(found.Message, "Syntax error: ")
		if isSyntax && syntax {
			continue
		}
		if syntax = syntax || isSyntax; isSyntax {
			text = syntaxMessage(text)
		} else {
			text = e.checkMessage(text)
		}
		if wrong, ok := macroMessage(text); ok {
			return []Fault{{Line: found.Location.Line(), Column: found.Location.Column() + 1, Text: wrong}}
		}
		fault := Fault{Line: found.Location.Line(), Column: found.Location.Column() + 1, Text: text}
		if !slices.Contains(out, fault) {
			out = append(out, fault)
		}
	}
	return out
}

var (
	quoted = regexp.MustCompile(`'([^']*)'`)
	unread = regexp.MustCompile(`^token recognition error at: '(.*)'$`)
)

// syntaxMessage says what the parser stumbled over.
func syntaxMessage(text string) string {
	token := ""
	if m := unread.FindStringSubmatch(text); m != nil {
		token = m[1]
	} else if m := quoted.FindStringSubmatch(text); m != nil {
		token = m[1]
	}
	switch {
	case token == "<EOF>":
		return "it ends where something must follow"
	case strings.Contains(text, "token recognition") && strings.Contains(token, `\`):
		return `a backslash in a text is written twice, like "\\d", or the text as r"\d"`
	case strings.Contains(text, "token recognition") && strings.HasPrefix(token, "="):
		return "= compares nothing; write =="
	case strings.Contains(text, "token recognition") && (strings.HasPrefix(token, `"`) || strings.HasPrefix(token, `'`)):
		return "a text has no closing quote"
	}
	if word, ok := map[string]string{"and": "&&", "AND": "&&", "or": "||", "OR": "||", "not": "!", "NOT": "!", "<>": "!="}[token]; ok {
		return fmt.Sprintf("%q is nothing here; write %s", token, word)
	}
	text, _, _ = strings.Cut(text, " expecting ")
	if token != "" {
		return fmt.Sprintf("%q does not belong here", token)
	}
	return text
}

// checkMessage says what the checker found.
func (e *Env) checkMessage(text string) string {
	text, _, _ = strings.Cut(text, " (in container")
	if m := noOverload.FindStringSubmatch(text); m != nil {
		return takesNot(m[1], m[2])
	}
	if m := undeclared.FindStringSubmatch(text); m != nil {
		return e.nothingOf(m[1])
	}
	if m := undefined.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("there is no field %q", m[1])
	}
	if strings.HasPrefix(text, "invalid int literal") {
		return "a whole number of more than 18 digits needs a point: end it with .0"
	}
	if strings.HasPrefix(text, "invalid argument to has()") {
		return "has takes a field, such as has(args.reason)"
	}
	if m := expected.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s is expected here, and not %s", article(typeName(m[1])), article(typeName(m[2])))
	}
	return text
}

var (
	noOverload = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '(.*)'$`)
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']+)'`)
	undefined  = regexp.MustCompile(`^undefined field '([^']+)'`)
	expected   = regexp.MustCompile(`^expected type '([^']+)' but found '([^']+)'`)
	operator   = regexp.MustCompile(`^_([^_]+)_$`)
)

// macroMessage is for a loop that there is not, whose variable the checker would
// then not know either.
func macroMessage(text string) (string, bool) {
	m := loopName.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return fmt.Sprintf("there is no such %s; of a list there are all, exists, exists_one and sum(x, x.amount)", m[1]), true
}

var loopName = regexp.MustCompile(`^there is no "(map|filter|sum)"`)

// takesNot says which types do not go together, and what to write where that is
// known. types is "(number, string)", or "date.(zone)" for what stands before a dot.
func takesNot(name, types string) string {
	if m := operator.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	name = strings.Trim(name, "@_")
	if name == "?_:" {
		name = "a ? b : c"
	}
	target, list, member := strings.Cut(types, ".(")
	if !member {
		target, list = "", strings.TrimPrefix(types, "(")
	}
	names := splitTypes(strings.TrimSuffix(list, ")"))
	if member {
		names = append([]string{typeName(target)}, names...)
	}
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = article(n)
	}
	return fmt.Sprintf("%s does not take %s%s", name, strings.Join(shown, " and "), remedy(name, names))
}

// splitTypes takes "number, list(string)" apart.
func splitTypes(list string) []string {
	var names []string
	depth, from := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			if name := strings.TrimSpace(list[from:i]); name != "" {
				names = append(names, typeName(name))
			}
			from = i + 1
		}
	}
	return names
}

// typeName is a type of CEL in our words.
func typeName(t string) string {
	switch t {
	case "string":
		return "text"
	case "bool":
		return "boolean"
	case "timestamp", "google.protobuf.Timestamp":
		return "time"
	case "google.protobuf.Duration":
		return "duration"
	case "null", "null_type":
		return "null"
	}
	if strings.HasPrefix(t, "list(") {
		return "list"
	}
	if name, ok := strings.CutPrefix(t, hidden); ok {
		return "the whole of " + name
	}
	return t
}

func article(name string) string {
	if name == "null" || strings.HasPrefix(name, "the ") {
		return name
	}
	return "a " + name
}

// remedy is what to write instead.
func remedy(name string, types []string) string {
	has := func(kinds ...string) bool {
		for _, k := range kinds {
			if !slices.ContainsFunc(types, func(t string) bool { return t == k || strings.HasPrefix(t, k+" ") }) {
				return false
			}
		}
		return true
	}
	switch {
	case has("null"):
		return "; has(x) tells whether there is a value"
	case has("the"):
		return "; name one of its fields"
	case name == "matches" && !has("pattern"):
		return "; the pattern must be a literal"
	case name == "date" && has("date"):
		return "; it is a date already"
	case name == "date":
		return `; write date("2026-10-15"), date(now) or date(now, "Europe/Paris")`
	case name == "getDayOfWeek" && has("date"):
		return "; a date has no zone: write getDayOfWeek()"
	case name == "getHours" || name == "getDayOfWeek":
		return `; of a time in a zone: now.` + name + `("Europe/Paris")`
	case has("date", "time"):
		return `; a time is of some day in each zone: date(now, "Europe/Paris")`
	case has("date", "text"):
		return `; write date("2026-10-15")`
	case has("duration", "number"):
		return "; write days(31), hours(48) or minutes(15)"
	case has("number", "text"):
		return "; a number stands without quotes, a text in quotes"
	case has("list"):
		return "; ask a list by size, all, exists, exists_one or sum"
	case has("text") && strings.ContainsAny(name, "<>"):
		return "; texts have no order"
	}
	return ""
}

// nothingOf says of a name that it is nothing, and what might be meant.
func (e *Env) nothingOf(name string) string {
	vars := Type{Fields: e.vars}.Names()
	if slices.Contains(vars, name) {
		return "a rule makes no maps and no objects"
	}
	switch name {
	case "int", "uint", "double", "string", "bool", "bytes", "dyn", "type":
		return fmt.Sprintf("there is no %s: nothing is converted, and every number is a number", name)
	case "_[_]":
		return "there is no index; ask a list by all, exists, exists_one or sum"
	}
	known := append(vars, "has", "all", "exists", "exists_one", "timestamp", "duration")
	for _, f := range library() {
		if f.name[0] >= 'a' && !slices.Contains(known, f.name) {
			known = append(known, f.name)
		}
	}
	return fmt.Sprintf("there is no %q%s; a rule sees %s, and the functions of docs/rules.md", name, nearest.DidYouMean(name, known), strings.Join(vars, ", "))
}
