package pdk

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// anys writes a map by the order of its names.
func (w *writer) anys(m map[string]any) error {
	if m == nil {
		w.add("null")
		return nil
	}
	var few [4]member
	all := few[:0]
	for name, value := range m {
		all = append(all, member{name, value})
	}
	return w.members(all)
}

// member is one of a map.
type member struct {
	name  string
	value any
}

// members writes an object, by the order of its names.
func (w *writer) members(all []member) error {
	if len(all) > 1 {
		slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	before := byte('{')
	for i := range all {
		w.member(before, all[i].name)
		before = ','
		if err := w.any(all[i].value); err != nil {
			return because("member "+all[i].name, err)
		}
	}
	w.close(before)
	return nil
}

func (w *writer) strings(m map[string]string) error {
	if m == nil {
		w.add("null")
		return nil
	}
	all := make([]member, 0, len(m))
	for name, value := range m {
		all = append(all, member{name, value})
	}
	return w.members(all)
}

// member writes a name, and what parts it from what was before.
func (w *writer) member(before byte, name string) {
	w.b = appendString(append(w.b, before), name)
	w.b = append(w.b, ':')
}

// close ends an object, which is empty if its brace is still to come.
func (w *writer) close(before byte) {
	if before == '{' {
		w.b = append(w.b, before)
	}
	w.b = append(w.b, '}')
}

// mapped writes a map of any other type.
func (w *writer) mapped(p *plan, m reflect.Value) error {
	if !p.keys.written {
		return failed("a map with keys of type " + p.typ.Key().String() + " cannot be written as JSON: give them a method MarshalText")
	}
	if m.IsNil() {
		w.add("null")
		return nil
	}
	all := make([]member, 0, m.Len())
	for entries := m.MapRange(); entries.Next(); {
		name, err := nameOf(entries.Key())
		if err != nil {
			return err
		}
		value := reflect.New(p.elem.typ)
		value.Elem().Set(entries.Value())
		all = append(all, member{name, entry{p.elem, placeOf(value)}})
	}
	return w.members(all)
}

// entry is a value of a map and how it is written.
type entry struct {
	plan  *plan
	value place
}

// nameOf makes a member's name of a map's key.
func nameOf(key reflect.Value) (string, error) {
	if key.Kind() == reflect.String {
		return key.String(), nil
	}
	if w, ok := key.Interface().(textWriter); ok {
		if key.Kind() == reflect.Pointer && key.IsNil() {
			return "", nil
		}
		text, err := w.MarshalText()
		return string(text), err
	}
	if key.CanInt() {
		return strconv.FormatInt(key.Int(), 10), nil
	}
	return strconv.FormatUint(key.Uint(), 10), nil
}

// byMethod lets a value write itself, if it has a method for that. JSON that it gives is checked, and
// white space between its parts is left out.
func (w *writer) byMethod(p *plan, at place, addressable bool) (done bool, err error) {
	byJSON := p.methods&writesJSON != 0 || p.methods&pointerJSON != 0 && addressable
	byText := p.methods&writesText != 0 || p.methods&pointerText != 0 && addressable
	if !byJSON && !byText {
		return false, nil
	}
	v := methodsAt(p, at)
	switch {
	case v == nil:
		w.add("null")
	case byJSON:
		err = w.written(v.(jsonWriter))
	default:
		var text []byte
		text, err = v.(textWriter).MarshalText()
		w.b = appendString(w.b, textOf(text))
	}
	if err != nil {
		err = because("write a "+p.typ.String(), err)
	}
	return true, err
}

// methodsAt gives what has the methods of a value: its pointer, or what an interface holds.
func methodsAt(p *plan, at place) any {
	if p.kind == kindInterface {
		return valueAt(p.typ, at).Interface()
	}
	return pointerAt(p.typ, at)
}

func (w *writer) written(v jsonWriter) error {
	raw, err := v.MarshalJSON()
	if err != nil {
		return err
	}
	return w.compact(raw)
}

// compact adds checked JSON without white space between its parts.
func (w *writer) compact(raw []byte) error {
	if err := check(raw); err != nil {
		return err
	}
	w.b = appendCompact(w.b, raw)
	return nil
}

// appendCompact adds JSON without white space between its parts.
func appendCompact(b, raw []byte) []byte {
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '\\':
			b = append(b, c)
			i++
			c = raw[i]
		case c == '"':
			quoted = !quoted
		case c <= ' ' && !quoted:
			continue
		}
		b = append(b, c)
	}
	return b
}
