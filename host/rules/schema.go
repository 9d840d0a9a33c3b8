package rules

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/strictjson"
)

// FromSchema gives the type of the values that a JSON Schema lets through, as
// a contract has it: closed, bounded, and with $ref only inward and never back
// to itself. null is an absent value. Where values of several kinds may come
// the type is Unusable and says so.
func FromSchema(name string, schema strictjson.Value) Type {
	return schemaReader{root: schema}.typeOf(name, schema)
}

type schemaReader struct{ root strictjson.Value }

func unusable(why string) Type { return Type{Why: why} }

const severalKinds = "may be of several kinds, and a rule needs one"

func (r schemaReader) typeOf(name string, s strictjson.Value) Type {
	if ref, ok := s.TextAt("$ref"); ok {
		return r.typeOf(name, r.resolve(ref))
	}
	kinds, known := r.kinds(s)
	if !known {
		return r.branches(name, s)
	}
	kind, ok := single(kinds)
	if !ok {
		return unusable(severalKinds)
	}
	switch kind {
	case "string":
		return textOf(s)
	case "integer", "number":
		return Type{Kind: Number}
	case "boolean":
		return Type{Kind: Boolean}
	case "array":
		return r.listOf(name, s)
	case "object":
		return r.objectOf(name, s)
	}
	return unusable(severalKinds)
}

func (r schemaReader) resolve(ref string) strictjson.Value {
	at := r.root
	for token := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		at, _ = at.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return at
}

// kinds are the names of the types that a schema's own keywords let through.
func (r schemaReader) kinds(s strictjson.Value) (kinds []string, known bool) {
	if t, ok := s.Get("type"); ok {
		if one, ok := t.Text(); ok {
			return []string{one}, true
		}
		for _, item := range t.Items() {
			one, _ := item.Text()
			kinds = append(kinds, one)
		}
		return kinds, true
	}
	if c, ok := s.Get("const"); ok {
		return []string{kindOf(c)}, true
	}
	if e, ok := s.Get("enum"); ok {
		for _, item := range e.Items() {
			kinds = append(kinds, kindOf(item))
		}
		return kinds, true
	}
	return nil, false
}

func kindOf(v strictjson.Value) string { return v.Kind().String() }

// single is the one kind besides null; integers are numbers.
func single(kinds []string) (string, bool) {
	one := ""
	for _, k := range kinds {
		if k == "integer" {
			k = "number"
		}
		if k == "null" || k == one {
			continue
		}
		if one != "" {
			return "", false
		}
		one = k
	}
	return one, one != ""
}

// branches is the type that all branches of anyOf or oneOf share, null left out.
func (r schemaReader) branches(name string, s strictjson.Value) Type {
	var out Type
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, ok := s.Get(keyword)
		if !ok {
			continue
		}
		for _, branch := range list.Items() {
			if kinds, known := r.kinds(branch); known && len(kinds) == 1 && kinds[0] == "null" {
				continue
			}
			t := r.typeOf(name, branch)
			switch {
			case out.Kind == Unusable && out.Why == "":
				out = t
			case t.Kind != out.Kind || t.Kind == Object || t.Kind == List:
				return unusable(severalKinds)
			}
			out.Most = max(out.Most, t.Most)
		}
		if out.Kind == Unusable {
			return unusable(severalKinds)
		}
		return out
	}
	return unusable("has no type in its schema")
}

// textOf is a text with its greatest length, a day or a point in time.
func textOf(s strictjson.Value) Type {
	switch format, _ := s.TextAt("format"); format {
	case "date":
		return Type{Kind: Date}
	case "date-time":
		return Type{Kind: Time}
	}
	t := Type{Kind: Text}
	if most, ok := number64(s, "maxLength"); ok {
		t.Most = most
	}
	constant, _ := s.Get("const")
	values, _ := s.Get("enum")
	longest := func(v strictjson.Value) {
		text, _ := v.Text()
		t.Most = max(t.Most, utf8.RuneCountInString(text))
	}
	longest(constant)
	for _, v := range values.Items() {
		longest(v)
	}
	return t
}

func number64(s strictjson.Value, key string) (int, bool) {
	v, _ := s.Get(key)
	text, _ := v.Text()
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func (r schemaReader) listOf(name string, s strictjson.Value) Type {
	items, ok := s.Get("items")
	most, bounded := number64(s, "maxItems")
	if !ok || !bounded || items.Kind() != strictjson.Object {
		return unusable("is a list whose items have no one type")
	}
	if _, tuple := s.Get("prefixItems"); tuple {
		return unusable("is a list whose items have no one type")
	}
	item := r.typeOf(name, items)
	if item.Kind == Unusable {
		return item
	}
	return Type{Kind: List, Most: most, Item: &item}
}

func (r schemaReader) objectOf(name string, s strictjson.Value) Type {
	t := Type{Kind: Object, Name: name, Lacks: "it was not given"}
	properties, ok := s.Get("properties")
	if !ok {
		return unusable("is an object without named members")
	}
	for field, child := range properties.Members() {
		t.Fields = append(t.Fields, Field{Name: field, Type: r.typeOf(name+"."+field, child)})
	}
	return t
}
