package pdk

import (
	"encoding/base64"
	"reflect"
	"strconv"
)

// Unmarshal fills what v points at from one JSON text, as encoding/json does; the package's comment
// has what differs. A text that is no JSON fills nothing.
func Unmarshal(text []byte, v any) error {
	if err := check(text); err != nil {
		return err
	}
	return (&reader{b: text}).fill(v)
}

// check reads a text for nothing else than to know that it is JSON.
func check(text []byte) error {
	d := reader{b: text}
	if err := d.skip(); err != nil {
		return err
	}
	return d.end()
}

// unmarshal is Unmarshal of bytes that nobody writes again.
func unmarshal(text []byte, v any) error {
	return (&reader{b: text, kept: true}).fill(v)
}

func (d *reader) fill(v any) error {
	if v == nil {
		return errNoPointer
	}
	p, at := planFor(v), pointerIn(v)
	if p.kind != kindPointer || at == nil {
		return errNoPointer
	}
	if err := d.value(p.elem, at); err != nil {
		return err
	}
	return d.end()
}

var errNoPointer = failed("what is filled must be a pointer that is not nil")

// value reads the next value into a place.
func (d *reader) value(p *plan, at place) error {
	c := d.peek()
	if p.methods&(readsJSON|readsText) != 0 {
		if done, err := d.byMethod(p, at, c); done {
			return err
		}
	}
	if c == 'n' {
		return d.null(p, at)
	}
	switch p.kind {
	case kindBool:
		return d.boolean(p, at, c)
	case kindInt, kindUint, kindFloat:
		return d.numberInto(p, at, c)
	case kindString:
		return d.stringInto(p, at, c)
	case kindNumber:
		return d.digitsInto(p, at, c)
	case kindRow:
		return d.row(rowAt(at))
	case kindPointer:
		return d.value(p.elem, d.pointee(p.elem, at))
	case kindStruct:
		return d.object(p, at, c)
	case kindAnys, kindStrings, kindMap:
		return d.mapInto(p, at, c)
	case kindBytes, kindSlice:
		return d.slice(p, at, c)
	case kindArray:
		return d.array(p, at, c)
	case kindAny, kindInterface:
		return d.dynamic(p, at)
	default:
		return d.misfit(p, c)
	}
}

// misfit says what does not fit into a type.
func (d *reader) misfit(p *plan, c byte) error {
	what := "a number"
	switch c {
	case '{':
		what = "an object"
	case '[':
		what = "an array"
	case '"':
		what = "a string"
	case 't', 'f':
		what = "true or false"
	case 0:
		return d.unexpected("a value")
	}
	if p.kind == kindUnsupported {
		return failed("a field of type " + p.typ.String() + ` cannot be read from JSON: give it the tag json:"-" or a method UnmarshalJSON`)
	}
	return failed(what + " at byte " + strconv.Itoa(d.i) + " does not fit " + p.typ.String())
}

// null empties what can be nil and leaves all else as it is.
func (d *reader) null(p *plan, at place) error {
	if p.kind == kindRow {
		return d.row(rowAt(at))
	}
	if p.kind == kindAny || p.kind == kindInterface {
		if inner := heldPointer(p, at); inner.IsValid() && inner.Type().Elem().Kind() == reflect.Pointer {
			return d.value(planOf(inner.Type().Elem()), placeOf(inner))
		}
	}
	if err := d.word("null"); err != nil {
		return err
	}
	switch p.kind {
	case kindPointer, kindMap, kindAnys, kindStrings, kindSlice, kindBytes, kindAny, kindInterface:
		valueAt(p.typ, at).SetZero()
	default:
	}
	return nil
}

// pointee gives what a pointer points at, which is made where it is nil.
func (d *reader) pointee(elem *plan, at place) place {
	to := target(at)
	if to == nil {
		to = placeOf(reflect.New(elem.typ))
		setTarget(at, to)
	}
	return to
}

func (d *reader) boolean(p *plan, at place, c byte) error {
	switch c {
	case 't':
		*boolAt(at) = true
		return d.word("true")
	case 'f':
		*boolAt(at) = false
		return d.word("false")
	default:
		return d.misfit(p, c)
	}
}

func (d *reader) stringInto(p *plan, at place, c byte) error {
	if c != '"' {
		return d.misfit(p, c)
	}
	text, err := d.text()
	if err == nil {
		*stringAt(at) = text
	}
	return err
}

// isDigit says whether a number begins so.
func isDigit(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

func (d *reader) numberInto(p *plan, at place, c byte) error {
	if !isDigit(c) {
		return d.misfit(p, c)
	}
	begin := d.i
	raw, err := d.number()
	if err != nil {
		return err
	}
	switch bits := int(p.size) * 8; p.kind {
	case kindInt:
		var n int64
		n, err = strconv.ParseInt(textOf(raw), 10, bits)
		setUint(at, p.size, uint64(n))
	case kindUint:
		var n uint64
		n, err = strconv.ParseUint(textOf(raw), 10, bits)
		setUint(at, p.size, n)
	default:
		var f float64
		f, err = strconv.ParseFloat(textOf(raw), bits)
		setFloat(at, p.size, f)
	}
	if err != nil {
		return failed("the number " + string(raw) + " at byte " + strconv.Itoa(begin) + " does not fit " + p.typ.String())
	}
	return nil
}

// digitsInto reads a Number, which may stand in a string.
func (d *reader) digitsInto(p *plan, at place, c byte) error {
	if c == '"' {
		text, err := d.text()
		if err == nil && !numeric(text) {
			err = failed("the text " + strconv.Quote(text) + " is no number")
		}
		if err == nil {
			*stringAt(at) = text
		}
		return err
	}
	if !isDigit(c) {
		return d.misfit(p, c)
	}
	text, err := d.digits()
	if err == nil {
		*stringAt(at) = text
	}
	return err
}

func (d *reader) digits() (string, error) {
	raw, err := d.number()
	if d.kept {
		return textOf(raw), err
	}
	return string(raw), err
}

// object reads a struct. The members of most texts come in the order of the fields, so that the next
// field is looked at first. Members that are no field are checked and left out.
func (d *reader) object(p *plan, at place, c byte) error {
	if c != '{' {
		return d.misfit(p, c)
	}
	next := 0
	more, err := d.open('}')
	for more && err == nil {
		name, err := d.name()
		if err != nil {
			return err
		}
		if next = p.find(name, next); next < 0 {
			err = d.skip()
		} else {
			err = d.field(&p.fields[next], at)
		}
		next++
		if err != nil {
			return err
		}
		if more, err = d.more('}'); err != nil {
			return err
		}
	}
	return err
}

// find gives the field of a name, or -1.
func (p *plan) find(name []byte, next int) int {
	if next < len(p.fields) && p.fields[next].name == string(name) {
		return next
	}
	if i, ok := p.byName[string(name)]; ok {
		return i
	}
	return -1
}

func (d *reader) field(f *field, at place) error {
	for _, h := range f.hops {
		at = inside(at, h.offset)
		if target(at) == nil && h.hidden {
			return failed("field " + f.name + ": the embedded pointer to " + h.to.String() + " is nil, and its type is not exported")
		}
		at = d.pointee(&plan{typ: h.to}, at)
	}
	at = inside(at, f.offset)
	var err error
	if f.quoted {
		err = d.quoted(f.plan, at)
	} else {
		err = d.value(f.plan, at)
	}
	if err != nil {
		return because("field "+f.name, err)
	}
	return nil
}

// quoted reads the value of a field with the option string: a string that holds the JSON of the value.
func (d *reader) quoted(p *plan, at place) error {
	switch c := d.peek(); c {
	case 'n':
		return d.null(p, at)
	case '"':
		text, err := d.text()
		if err != nil {
			return err
		}
		inner := reader{b: []byte(text), kept: true}
		if text == "" || text[0] <= ' ' {
			return inner.unexpected("a value in a string")
		}
		if err := inner.value(p, at); err != nil {
			return err
		}
		if inner.i != len(text) {
			return inner.unexpected("the end")
		}
		return nil
	default:
		return failed(`the tag's option "string" wants a string at byte ` + strconv.Itoa(d.i))
	}
}

// slice reads an array, or base64 into bytes. As in encoding/json, elements that are there are filled on.
func (d *reader) slice(p *plan, at place, c byte) error {
	if p.kind == kindBytes && c == '"' {
		return d.base64(at)
	}
	if c != '[' {
		return d.misfit(p, c)
	}
	elem := p.elem
	if elem == nil { // of bytes, which are written as numbers here
		elem = planOf(p.typ.Elem())
	}
	v, n := valueAt(p.typ, at), 0
	more, err := d.open(']')
	for ; more && err == nil; n++ {
		if n >= v.Cap() {
			v.Grow(1)
		}
		if n >= v.Len() {
			v.SetLen(n + 1)
		}
		first, _ := elements(at)
		if err := d.value(elem, inside(first, uintptr(n)*elem.size)); err != nil {
			return because("element "+strconv.Itoa(n), err)
		}
		more, err = d.more(']')
	}
	if n == 0 {
		v.Set(reflect.MakeSlice(p.typ, 0, 0))
	}
	v.SetLen(n)
	return err
}

func (d *reader) base64(at place) error {
	text, err := d.text()
	if err != nil {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		*bytesAt(at) = data
	}
	return err
}

// array fills an array. What is too much is left out, and what is missing is zero.
func (d *reader) array(p *plan, at place, c byte) error {
	if c != '[' {
		return d.misfit(p, c)
	}
	n := 0
	more, err := d.open(']')
	for ; more && err == nil; n++ {
		if n < p.length {
			err = d.value(p.elem, inside(at, uintptr(n)*p.elem.size))
		} else {
			err = d.skip()
		}
		if err != nil {
			return because("element "+strconv.Itoa(n), err)
		}
		more, err = d.more(']')
	}
	for ; n < p.length; n++ {
		valueAt(p.elem.typ, inside(at, uintptr(n)*p.elem.size)).SetZero()
	}
	return err
}
