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
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	before := byte('{')
	for _, name := range namesOf(m) {
		w.member(before, name)
		before = ','
		if err := w.any(m[name]); err != nil {
			return because("member "+name, err)
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
	before := byte('{')
	for _, name := range namesOf(m) {
		w.member(before, name)
		before = ','
		w.b = appendString(w.b, m[name])
	}
	w.close(before)
	return nil
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

func namesOf[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	if len(names) > 1 {
		slices.Sort(names)
	}
	return names
}

// mapped writes a map of any other type.
func (w *writer) mapped(p *plan, m reflect.Value) error {
	if m.IsNil() {
		w.add("null")
		return nil
	}
	type member struct {
		name  string
		value reflect.Value
	}
	members := make([]member, 0, m.Len())
	for all := m.MapRange(); all.Next(); {
		name, err := nameOf(all.Key())
		if err != nil {
			return err
		}
		members = append(members, member{name, all.Value()})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	before := byte('{')
	value := reflect.New(p.elem.typ)
	for _, m := range members {
		w.member(before, m.name)
		before = ','
		value.Elem().Set(m.value)
		if err := w.value(p.elem, placeOf(value), false); err != nil {
			return because("member "+m.name, err)
		}
	}
	w.close(before)
	return nil
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
	switch kindOf(key.Type()) {
	case kindInt:
		return strconv.FormatInt(key.Int(), 10), nil
	case kindUint:
		return strconv.FormatUint(key.Uint(), 10), nil
	default:
		return "", failed("a map with keys of type " + key.Type().String() + " cannot be written as JSON: give them a method MarshalText")
	}
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
	d := reader{b: raw, depth: w.depth}
	if err := d.skip(); err != nil {
		return err
	}
	if err := d.end(); err != nil {
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
