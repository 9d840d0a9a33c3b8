package contract

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/nearest"
	"github.com/toolhost/toolhost/host/strictjson"
)

// JSON Schema is a conjunction: every keyword of a schema can only take away.
// So a schema is bounded as soon as one thing in it is bounded: its type with
// that type's limits, a list of values, a bounded $ref, or bounded branches of
// anyOf or oneOf. A schema that stands where it decides alone what may come
// must be bounded; one that only narrows another (under allOf, not, if, ...)
// need not.
type position bool

const (
	decides position = true
	narrows position = false
)

// A walker checks one schema of a contract.
type walker struct {
	*loader
	root  strictjson.Value // what $ref points into
	base  string           // pointer of root in the file
	input bool             // x-tidy and x-words are for arguments only
	refs  []string         // $ref being followed, so that a cycle ends

	planned map[string]*plan // by $ref
	costs   map[string]int   // by $ref
}

// Keywords that JSON Schema has and a contract may not use, with the reason.
func refusedKeywords() map[string]string {
	return map[string]string{
		"default":               "toolhost fills in nothing; say in the description what a missing value means",
		"patternProperties":     "it would open the object; name the properties",
		"unevaluatedProperties": `close the object with "additionalProperties": false`,
		"unevaluatedItems":      `use "items": false after prefixItems`,
		"$id":                   "a contract is one file with one name",
		"$anchor":               `refer by "#/$defs/NAME"`,
		"$dynamicRef":           `refer by "#/$defs/NAME"`,
		"$dynamicAnchor":        `refer by "#/$defs/NAME"`,
		"$vocabulary":           "the vocabulary is that of 2020-12",
		"contentEncoding":       "it is never asserted; use a pattern",
		"contentMediaType":      "it is never asserted; use a pattern",
		"contentSchema":         "it is never asserted; use a pattern",
		"definitions":           "that was draft 7; use $defs",
		"dependencies":          "that was draft 7; use dependentRequired",
	}
}

func knownKeywords() []string {
	return []string{
		"$schema", "$defs", "$ref", "$comment", "title", "description", "examples", "deprecated", "type", "enum", "const",
		"properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
		"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains",
		"minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"anyOf", "oneOf", "allOf", "not", "if", "then", "else",
	}
}

// besideRef lists what may stand beside a $ref, with our own keywords.
func besideRef() []string {
	return []string{"$ref", "title", "description", "$comment", "examples", "deprecated"}
}

// top checks the whole of one schema and gives its plan.
func (w *walker) top(schema strictjson.Value) *plan {
	if defs, ok := schema.Get("$defs"); ok {
		for name, def := range defs.Members() {
			w.schema(def, w.base+"/$defs/"+escape(name), decides, false)
		}
	}
	w.schema(schema, w.base, decides, false)
	if w.cost(schema) > maxCost {
		w.fault(w.base, "checking one value could take more than %d steps; name definitions less often, and bound lists and patterned texts lower", maxCost)
	}
	return w.plan(schema, w.base)
}

// schema checks one schema and what stands in it; property says that it is the
// schema of a named property.
func (w *walker) schema(s strictjson.Value, at string, pos position, property bool) {
	switch s.Kind() {
	case strictjson.Object:
	case strictjson.True:
		if pos == decides {
			w.fault(at, "accepts anything; give a type with its bounds")
		}
		return
	case strictjson.False:
		return
	default:
		w.fault(at, "must be a schema (an object)")
		return
	}
	w.keywords(s, at, property)
	w.values(s, at)
	if pos == decides {
		w.bounded(s, at)
	}
	w.children(s, at, pos)
}

// keywords refuses what is unknown, ours in a wrong place, or not to be had.
func (w *walker) keywords(s strictjson.Value, at string, property bool) {
	for name := range s.Members() {
		here := at + "/" + escape(name)
		why, refused := refusedKeywords()[name]
		switch {
		case refused:
			w.fault(here, "may not be used: %s", why)
		case slices.Contains(ownKeywords(), name):
			if !property {
				w.fault(here, "stands only at a named property")
			} else if name != "x-secret" && !w.input {
				w.fault(here, "is for arguments, not for results")
			}
		case !slices.Contains(knownKeywords(), name):
			w.fault(here, "unknown keyword%s", nearest.DidYouMean(name, slices.Concat(knownKeywords(), ownKeywords())))
		case (name == "$schema" || name == "$defs") && at != w.base:
			w.fault(here, "stands only at the top of the schema")
		case has(s, "$ref") && !slices.Contains(besideRef(), name):
			w.fault(here, "may not stand beside $ref; put it into the definition")
		}
	}
}

// values checks what the validator would take and we do not.
func (w *walker) values(s strictjson.Value, at string) {
	if v, ok := s.Get("$schema"); ok && !isText(v, "https://json-schema.org/draft/2020-12/schema") {
		w.fault(at+"/$schema", "must be https://json-schema.org/draft/2020-12/schema")
	}
	if v, ok := s.Get("$ref"); ok {
		if _, ok := w.resolve(v); !ok {
			w.fault(at+"/$ref", `must be "#/$defs/NAME" of this schema: a contract reaches nothing outside its file`)
		}
	}
	if v, ok := s.Get("format"); ok {
		if name, _ := v.Text(); !slices.Contains(formatNames(), name) {
			w.fault(at+"/format", "no format that toolhost asserts; known are %s", strings.Join(formatNames(), ", "))
		}
	}
	if v, ok := s.Get("pattern"); ok {
		w.pattern(v, at+"/pattern", textBound(s))
	}
	for _, keyword := range []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"} {
		if v, ok := s.Get(keyword); ok && v.Kind() == strictjson.Number && bound(s, keyword) == noBound {
			w.fault(at+"/"+keyword, "must be a whole number from 0 to %d", maxBound)
		}
	}
	w.names(s, at)
	properties, _ := s.Get("properties")
	if v, ok := s.Get("required"); ok && properties.Kind() == strictjson.Object {
		for _, item := range v.Items() {
			if name, _ := item.Text(); !has(properties, name) {
				w.fault(at+"/required", "asks for %q, which is no property, so that nothing could fit", name)
			}
		}
	}
}

const maxPatternText = 1000 // bytes of a pattern

func (w *walker) pattern(v strictjson.Value, at string, longest int) {
	text, _ := v.Text()
	if v.Kind() != strictjson.String || len(text) > maxPatternText {
		w.fault(at, "must be a string of at most %d bytes", maxPatternText)
		return
	}
	parsed, err := syntax.Parse(text, syntax.Perl) // as regexp.Compile does
	if err != nil {
		w.fault(at, "RE2 cannot compile it: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	if cost := patternCost(parsed); cost > maxPattern || cost*longest > maxScan {
		w.fault(at, "costs too much: about %d instructions for a text of up to %d characters, at most %d and together %d; write + or * and let maxLength count",
			cost, longest, maxPattern, maxScan)
	}
}

// names refuses properties that another reader could take for each other, and
// such as are our own keywords.
func (w *walker) names(s strictjson.Value, at string) {
	properties, _ := s.Get("properties")
	var seen []string
	for name := range properties.Members() {
		here := at + "/properties/" + escape(name)
		if slices.Contains(ownKeywords(), name) {
			w.fault(here, "is a keyword of toolhost; choose another name")
		}
		if i := slices.IndexFunc(seen, func(other string) bool { return strings.EqualFold(name, other) }); i >= 0 {
			w.fault(here, "differs from %q by case alone, which some readers do not see", seen[i])
		}
		seen = append(seen, name)
	}
}

// bounded is the rule at the head of this file.
func (w *walker) bounded(s strictjson.Value, at string) {
	if has(s, "enum") || has(s, "const") || has(s, "$ref") {
		return
	}
	types, ok := s.Get("type")
	if !ok {
		if !has(s, "anyOf") && !has(s, "oneOf") {
			w.fault(at, "accepts anything; give a type with its bounds, enum, const, $ref, anyOf or oneOf")
		}
		return
	}
	list := []strictjson.Value{types}
	if types.Kind() == strictjson.Array {
		list = list[:0]
		for _, t := range types.Items() {
			list = append(list, t)
		}
	}
	for _, t := range list {
		name, _ := t.Text()
		w.boundedType(s, at, name)
	}
}

func (w *walker) boundedType(s strictjson.Value, at, name string) {
	switch name {
	case "string":
		format, _ := s.Get("format")
		if date, _ := format.Text(); !has(s, "maxLength") && !slices.Contains(dateFormats(), date) {
			w.fault(at, "a string needs maxLength, enum, const or a date format")
		}
	case "number", "integer":
		if !has(s, "minimum") && !has(s, "exclusiveMinimum") {
			w.fault(at, "a number needs minimum or exclusiveMinimum")
		}
		if !has(s, "maximum") && !has(s, "exclusiveMaximum") {
			w.fault(at, "a number needs maximum or exclusiveMaximum")
		}
	case "array":
		if !has(s, "maxItems") {
			w.fault(at, "an array needs maxItems")
		}
		if !has(s, "items") {
			w.fault(at, "an array needs items")
		}
	case "object":
		if v, _ := s.Get("additionalProperties"); v.Kind() != strictjson.False {
			w.fault(at, `an object needs "additionalProperties": false`)
		}
		if !has(s, "properties") {
			w.fault(at, "an object needs properties ({} for none)")
		}
	}
}

// children walks what stands inside. Where the type has bounds of its own, the
// branches of anyOf and oneOf only narrow.
func (w *walker) children(s strictjson.Value, at string, pos position) {
	for _, b := range subschemas(s) {
		here, property := pos, false
		switch b.keyword {
		case "$defs":
			continue // top walks them
		case "properties":
			property = true
		case "items", "prefixItems", "additionalProperties":
		case "anyOf", "oneOf":
			if has(s, "type") || has(s, "enum") || has(s, "const") || has(s, "$ref") {
				here = narrows
			}
		default:
			here = narrows
		}
		w.schema(b.schema, at+b.pointer, here, property)
	}
}

// resolve finds what a $ref names: a definition of this schema, nothing else.
func (w *walker) resolve(ref strictjson.Value) (strictjson.Value, bool) {
	text, _ := ref.Text()
	name, ok := strings.CutPrefix(text, "#/$defs/")
	if !ok || strings.ContainsAny(name, "/~%") {
		return strictjson.Value{}, false
	}
	defs, _ := w.root.Get("$defs")
	return defs.Get(name)
}

func has(s strictjson.Value, name string) bool {
	_, ok := s.Get(name)
	return ok
}
