package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Strict mode makes a provider's decoder follow the schema. It takes a part of
// JSON Schema, and a request with a strict tool outside of that part is rejected
// whole. So a tool is strict where its schema, as it stands, is known to be
// inside; nothing is taken out or rewritten to get there. The lists are of what
// is taken, so that a keyword that nobody thought of is not strict.
type strictRules struct {
	keywords []string
	formats  []string
	unions   bool // several types; anyOf is a keyword
}

// openAIStrict is what "Structured model outputs", sections "Supported schemas"
// and "Some type-specific keywords are not yet supported", take
// (https://developers.openai.com/api/docs/guides/structured-outputs). The page
// lists minLength and maxLength only as not for fine-tuned models; that others
// take them was measured: https://github.com/pydantic/pydantic-ai/pull/7400.
func openAIStrict() strictRules {
	return strictRules{
		keywords: []string{
			"$defs", "$ref", "title", "description", "type", "enum", "const", "anyOf",
			"properties", "required", "additionalProperties", "items", "minItems", "maxItems",
			"minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		},
		formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
		unions:  true,
	}
}

// anthropicStrict is what "JSON Schema limitations" takes
// (https://platform.claude.com/docs/en/build-with-claude/structured-outputs):
// no bounds of strings, numbers or lists. Optional properties and unions are
// taken too, but at most 24 and 16 of them in all strict tools of one request;
// they are left out here, so that no tool can spoil another's request.
func anthropicStrict() strictRules {
	return strictRules{
		keywords: []string{
			"$defs", "$ref", "title", "description", "type", "enum", "const",
			"properties", "required", "additionalProperties", "items", "pattern", "format",
		},
		formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
	}
}

// breach says what in a schema strict mode does not take, with its place; ""
// where it takes all.
func (r strictRules) breach(s strictjson.Value) string {
	why := ""
	eachSchema(s, "", func(at string, s strictjson.Value) bool {
		why = r.breachAt(at, s)
		return why == ""
	})
	return why
}

func (r strictRules) breachAt(at string, s strictjson.Value) string {
	if s.Kind() != strictjson.Object {
		return place(at) + ": is " + string(s.AppendJSON(nil)) + ", not a schema with a type"
	}
	for keyword, v := range s.Members() {
		here := at + "/" + pointerToken(keyword)
		switch {
		case !slices.Contains(r.keywords, keyword):
			return here + ": this keyword"
		case keyword == "type" && v.Kind() == strictjson.Array && !r.unions:
			return here + ": several types"
		case keyword == "format" && !slices.Contains(r.formats, textOf(v)):
			return here + ": this format"
		case keyword == "pattern" && !plainPattern(textOf(v)):
			return here + ": what not every engine reads alike"
		case keyword == "enum" && slices.ContainsFunc(itemsOf(v), compound), keyword == "const" && compound(v):
			return here + ": an object or array as a value"
		}
	}
	_, typed := s.Get("type")
	_, choice := s.Get("anyOf")
	_, ref := s.Get("$ref")
	switch {
	case ref && s.Len() > 1:
		return place(at) + ": something beside $ref"
	case !typed && !choice && !ref:
		return place(at) + ": a schema without type"
	}
	return r.openObject(at, s)
}

// openObject finds an object that leaves something to the model: strict mode
// wants every property to be required.
func (r strictRules) openObject(at string, s strictjson.Value) string {
	properties, ok := s.Get("properties")
	if !ok {
		return ""
	}
	required, _ := s.Get("required")
	for name := range properties.Members() {
		if !slices.ContainsFunc(itemsOf(required), func(v strictjson.Value) bool { return textOf(v) == name }) {
			return at + "/properties/" + pointerToken(name) + ": an optional property"
		}
	}
	if additional, _ := s.Get("additionalProperties"); additional.Kind() != strictjson.False {
		return place(at) + ": an object that is not closed"
	}
	return ""
}

// rejects says why the provider would reject a request with this tool, strict
// or not. Every one of these is a way to write the contract otherwise.
func (f Form) rejects(t host.Tool) []error {
	var faults []error
	fault := func(at, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: contract.json: /inputSchema%s: %s does not take %s", t.Name, at, f, fmt.Sprintf(format, args...)))
	}
	for _, keyword := range notAtTheTop(f) {
		if _, ok := t.Input.Get(keyword); ok {
			fault("/"+keyword, "%s at the top of a schema; say it inside a property", keyword)
		}
	}
	if f == FormGemini {
		eachSchema(t.Input, "", func(at string, s strictjson.Value) bool {
			if _, ok := s.Get("$ref"); ok {
				for keyword := range s.Members() {
					if !strings.HasPrefix(keyword, "$") {
						fault(at+"/"+pointerToken(keyword), "%s beside $ref; say it in the definition", keyword)
					}
				}
			}
			return true
		})
	}
	return faults
}

// notAtTheTop lists keywords that providers reject beside the top's "type":
// "object", in their own words of the error 400: OpenAI "schema must have type
// 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level",
// Anthropic "input_schema does not support oneOf, allOf, or anyOf at the top level".
func notAtTheTop(f Form) []string {
	switch f {
	case FormOpenAI:
		return []string{"oneOf", "anyOf", "allOf", "enum", "const", "not"}
	case FormAnthropic:
		return []string{"oneOf", "allOf", "anyOf"}
	default:
		return nil
	}
}

// eachSchema visits a schema and every schema in it, until f says false.
func eachSchema(s strictjson.Value, at string, f func(at string, s strictjson.Value) bool) bool {
	if !f(at, s) {
		return false
	}
	for keyword, v := range s.Members() {
		here := at + "/" + pointerToken(keyword)
		switch keyword {
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			if v.Kind() == strictjson.Object && !eachSchema(v, here, f) {
				return false
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for i, child := range v.Items() {
				if !eachSchema(child, here+"/"+strconv.Itoa(i), f) {
					return false
				}
			}
		case "properties", "$defs", "dependentSchemas":
			for name, child := range v.Members() {
				if !eachSchema(child, here+"/"+pointerToken(name), f) {
					return false
				}
			}
		}
	}
	return true
}

// plainPattern tells whether the usual engines read a pattern as RE2 does:
// groups, classes, repetition, and escapes that all of them have. (?...), \b, \p
// and [:class:] are not taken by every one.
func plainPattern(p string) bool {
	for i := 0; i < len(p); i++ {
		switch {
		case strings.HasPrefix(p[i:], "(?"), strings.HasPrefix(p[i:], "[:"):
			return false
		case p[i] != '\\':
			continue
		case i+1 == len(p):
			return false
		}
		i++
		if c := p[i]; (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') && !strings.ContainsRune("dwsDWSnrtfvx", rune(c)) {
			return false
		}
	}
	return true
}

func compound(v strictjson.Value) bool {
	return v.Kind() == strictjson.Object || v.Kind() == strictjson.Array
}

func itemsOf(v strictjson.Value) []strictjson.Value {
	var out []strictjson.Value
	for _, item := range v.Items() {
		out = append(out, item)
	}
	return out
}

func textOf(v strictjson.Value) string {
	s, _ := v.Text()
	return s
}

// pointerToken writes one reference token (RFC 6901, section 3).
func pointerToken(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// place names the whole of a schema.
func place(at string) string {
	if at == "" {
		return "/"
	}
	return at
}
