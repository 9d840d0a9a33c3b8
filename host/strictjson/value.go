package strictjson

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is what a Value is. The zero Kind is no value at all.
type Kind uint8

// The kinds of JSON value; True and False are told apart so that a Value
// needs no further field for them.
const (
	Nothing Kind = iota
	Null
	True
	False
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"nothing", "null", "boolean", "boolean", "number", "string", "array", "object"}[k]
}

// Value is one JSON value as it was read. It never changes after Read, so it
// can be shared between gates, guest and record. The zero Value is no value.
type Value struct {
	kind    Kind
	text    string   // String: its characters; Number: the decimal as written
	members []Member // Object: in the order of the text; Array: without names
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value Value
}

// Text makes a Value of kind String.
func Text(s string) Value { return Value{kind: String, text: s} }

// Kind tells what the value is.
func (v Value) Kind() Kind { return v.kind }

// Len is the number of members or items.
func (v Value) Len() int { return len(v.members) }

// Text gives the characters of a string or the decimal of a number as it was
// written; for any other kind it is empty and false.
func (v Value) Text() (string, bool) {
	return v.text, v.kind == String || v.kind == Number
}

// Members iterates over an object's members in the order of the text.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind != Object {
			return
		}
		for _, m := range v.members {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// Items iterates over an array's items.
func (v Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.kind != Array {
			return
		}
		for i, m := range v.members {
			if !yield(i, m.Value) {
				return
			}
		}
	}
}

// Get finds an object's member by its exact name.
func (v Value) Get(name string) (Value, bool) {
	if v.kind == Object {
		for _, m := range v.members {
			if m.Name == name {
				return m.Value, true
			}
		}
	}
	return Value{}, false
}

// TextAt gives the string that stands under a name; false where none does.
func (v Value) TextAt(name string) (string, bool) {
	if m, _ := v.Get(name); m.kind == String {
		return m.text, true
	}
	return "", false
}

// Map returns a copy in which every value of an object or array is what f
// gives for its name (arrays: "") and value. v itself stays as it is.
func (v Value) Map(f func(name string, v Value) Value) Value {
	out := Value{kind: v.kind, text: v.text}
	if v.members != nil {
		out.members = make([]Member, len(v.members))
	}
	for i, m := range v.members {
		out.members[i] = Member{Name: m.Name, Value: f(m.Name, m.Value)}
	}
	return out
}

// Without returns a copy of an object that lacks the named members.
func (v Value) Without(names ...string) Value {
	if v.kind != Object {
		return v
	}
	out := Value{kind: Object, members: make([]Member, 0, len(v.members))}
	for _, m := range v.members {
		if !slices.Contains(names, m.Name) {
			out.members = append(out.members, m)
		}
	}
	return out
}

// Any gives the value in the types that schema validators take: nil, bool,
// json.Number, string, []any and map[string]any.
func (v Value) Any() any {
	switch v.kind {
	case True, False:
		return v.kind == True
	case Number:
		return json.Number(v.text)
	case String:
		return v.text
	case Array:
		items := make([]any, len(v.members))
		for i, m := range v.members {
			items[i] = m.Value.Any()
		}
		return items
	case Object:
		members := make(map[string]any, len(v.members))
		for _, m := range v.members {
			members[m.Name] = m.Value.Any()
		}
		return members
	default:
		return nil
	}
}

// AppendJSON appends the value as JSON without white space: members in their
// order, numbers as they were written. The zero Value appends null.
func (v Value) AppendJSON(b []byte) []byte {
	switch v.kind {
	case True:
		return append(b, "true"...)
	case False:
		return append(b, "false"...)
	case Number:
		return append(b, v.text...)
	case String:
		return AppendString(b, v.text)
	case Array:
		b = append(b, '[')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.Value.AppendJSON(b)
		}
		return append(b, ']')
	case Object:
		return append(v.AppendMembers(append(b, '{')), '}')
	default:
		return append(b, "null"...)
	}
}

// AppendMembers appends an object's members without the braces, so that an
// envelope can hold them beside its own.
func (v Value) AppendMembers(b []byte) []byte {
	for i, m := range v.members {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, m.Name)
		b = append(b, ':')
		b = m.Value.AppendJSON(b)
	}
	return b
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD: what Read accepted has none.
func AppendString(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, s)
	_ = err // says only that U+FFFD was put in
	return b
}
