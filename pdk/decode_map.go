package pdk

import (
	"reflect"
	"strconv"
)

// mapInto reads an object into a map, beside what is in it.
func (d *reader) mapInto(p *plan, at place, c byte) error {
	switch {
	case c != '{':
		return d.misfit(p, c)
	case p.kind == kindAnys:
		return d.anys(anysAt(at))
	case p.kind == kindStrings:
		return d.strings(stringsAt(at))
	case !p.keys.read:
		return failed("a map with keys of type " + p.typ.Key().String() + " cannot be read from JSON: give them a method UnmarshalText")
	}
	m := valueAt(p.typ, at)
	if m.IsNil() {
		m.Set(reflect.MakeMap(p.typ))
	}
	value := reflect.New(p.elem.typ)
	more, err := d.open('}')
	for more && err == nil {
		name, err := d.name()
		if err != nil {
			return err
		}
		key, err := keyOf(p.typ.Key(), string(name))
		if err != nil {
			return err
		}
		value.Elem().SetZero()
		if err := d.value(p.elem, placeOf(value)); err != nil {
			return because("member "+key.String(), err)
		}
		m.SetMapIndex(key, value.Elem())
		if more, err = d.more('}'); err != nil {
			return err
		}
	}
	return err
}

// keyOf makes a map's key of a member's name.
func keyOf(t reflect.Type, name string) (reflect.Value, error) {
	key := reflect.New(t)
	if reader, ok := key.Interface().(textReader); ok {
		err := reader.UnmarshalText([]byte(name))
		return key.Elem(), err
	}
	key = key.Elem()
	switch kindOf(t) {
	case kindString, kindNumber:
		key.SetString(name)
		return key, nil
	case kindInt:
		if n, err := strconv.ParseInt(name, 10, t.Bits()); err == nil {
			key.SetInt(n)
			return key, nil
		}
	case kindUint:
		if n, err := strconv.ParseUint(name, 10, t.Bits()); err == nil {
			key.SetUint(n)
			return key, nil
		}
	default:
	}
	return key, failed("the name " + strconv.Quote(name) + " does not fit a key of type " + t.String())
}

func (d *reader) anys(to *map[string]any) error { return membersInto(d, to, (*reader).any) }

func (d *reader) strings(to *map[string]string) error {
	return membersInto(d, to, (*reader).stringOrNull)
}

// membersInto reads an object's members into a map, each by read.
func membersInto[V any](d *reader, to *map[string]V, read func(*reader) (V, error)) error {
	if *to == nil {
		*to = map[string]V{}
	}
	more, err := d.open('}')
	for more && err == nil {
		name, err := d.memberName()
		if err != nil {
			return err
		}
		value, err := read(d)
		if err != nil {
			return because("member "+name, err)
		}
		(*to)[name] = value
		if more, err = d.more('}'); err != nil {
			return err
		}
	}
	return err
}

// stringOrNull reads a value of a map of strings; null is "".
func (d *reader) stringOrNull() (string, error) {
	switch c := d.peek(); c {
	case 'n':
		return "", d.word("null")
	case '"':
		return d.text()
	default:
		return "", d.misfit(&plan{kind: kindString, typ: reflect.TypeFor[string]()}, c)
	}
}

// memberName is a name that is kept.
func (d *reader) memberName() (string, error) {
	name, err := d.name()
	if d.kept {
		return textOf(name), err
	}
	return string(name), err
}

// any reads what has no type: a string, a Number, true or false, nil, a map[string]any or an []any.
func (d *reader) any() (any, error) {
	switch c := d.peek(); c {
	case '{':
		var m map[string]any
		err := d.anys(&m)
		return m, err
	case '[':
		return d.anySlice()
	case '"':
		text, err := d.text()
		return text, err
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	default:
		text, err := d.digits()
		return Number(text), err
	}
}

func (d *reader) anySlice() (any, error) {
	all := []any{}
	more, err := d.open(']')
	for more && err == nil {
		var value any
		if value, err = d.any(); err != nil {
			return nil, because("element "+strconv.Itoa(len(all)), err)
		}
		all = append(all, value)
		more, err = d.more(']')
	}
	return all, err
}

// dynamic reads into an interface: into what its pointer points at if it holds one, else what has no type.
func (d *reader) dynamic(p *plan, at place) error {
	if inner := heldPointer(p, at); inner.IsValid() {
		return d.value(planOf(inner.Type().Elem()), placeOf(inner))
	}
	if p.kind == kindInterface {
		return d.misfit(p, d.peek())
	}
	value, err := d.any()
	if err == nil {
		*anyAt(at) = value
	}
	return err
}

// heldPointer is the pointer in an interface, if it is one and not nil.
func heldPointer(p *plan, at place) reflect.Value {
	if p.kind == kindAny && *anyAt(at) == nil {
		return reflect.Value{}
	}
	if inner := valueAt(p.typ, at).Elem(); inner.Kind() == reflect.Pointer && !inner.IsNil() {
		return inner
	}
	return reflect.Value{}
}

// byMethod lets a type read itself, if it has a method for what comes.
func (d *reader) byMethod(p *plan, at place, c byte) (done bool, err error) {
	switch {
	case p.methods&readsJSON != 0:
		raw, err := d.raw()
		if err != nil {
			return true, err
		}
		return true, pointerAt(p.typ, at).(jsonReader).UnmarshalJSON(raw)
	case c == 'n':
		return false, nil
	case c != '"':
		return true, d.misfit(p, c)
	default:
		text, err := d.text()
		if err != nil {
			return true, err
		}
		return true, pointerAt(p.typ, at).(textReader).UnmarshalText([]byte(text))
	}
}
