package pdk

import (
	"encoding/base64"
	"reflect"
	"strconv"
)

// Marshal writes a value as JSON, as encoding/json does without its escapes of <, > and &, which are
// for web pages.
func Marshal(v any) ([]byte, error) {
	var w writer
	if err := w.any(v); err != nil {
		return nil, err
	}
	return w.b, nil
}

// writer writes one JSON text.
type writer struct {
	b     []byte
	depth int // of values that hold values, and are begun
}

func (w *writer) add(s string) { w.b = append(w.b, s...) }

// any writes a value of any type. The types that come most often need no plan.
func (w *writer) any(v any) error {
	switch v := v.(type) {
	case nil:
		w.add("null")
	case string:
		w.b = appendString(w.b, v)
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case int:
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	case Row:
		w.row(v)
	case entry:
		return w.value(v.plan, v.value, false)
	case map[string]any:
		if err := w.enter(); err != nil {
			return err
		}
		err := w.anys(v)
		w.depth--
		return err
	default:
		return w.planned(planFor(v), v)
	}
	return nil
}

// planned writes a value by its plan. What is no pointer is copied, so that it lies at a place.
func (w *writer) planned(p *plan, v any) error {
	if p.kind != kindPointer {
		copied := reflect.New(p.typ)
		copied.Elem().Set(reflect.ValueOf(v))
		return w.value(p, placeOf(copied), false)
	}
	at := pointerIn(v)
	if at == nil {
		w.add("null")
		return nil
	}
	return w.value(p.elem, at, true)
}

// enter goes into a value that holds others.
func (w *writer) enter() error {
	if w.depth++; w.depth > mostDepth {
		return errDepth
	}
	return nil
}

// value writes the value at a place. As in encoding/json, methods of *T count for what can be
// addressed alone.
func (w *writer) value(p *plan, at place, addressable bool) error {
	if p.methods&(writesJSON|writesText|pointerJSON|pointerText) != 0 {
		if done, err := w.byMethod(p, at, addressable); done {
			return err
		}
	}
	switch p.kind {
	case kindString:
		w.b = appendString(w.b, *stringAt(at))
		return nil
	case kindBool, kindInt, kindUint, kindFloat, kindNumber:
		return w.scalar(p, at)
	case kindRow:
		w.row(*rowAt(at))
		return nil
	case kindBytes:
		w.bytes(*bytesAt(at))
		return nil
	case kindAny:
		return w.any(*anyAt(at))
	case kindUnsupported:
		return failed("a value of type " + p.typ.String() + ` cannot be written as JSON: give its field the tag json:"-" or it a method MarshalJSON`)
	default:
		if err := w.enter(); err != nil {
			return err
		}
		err := w.holder(p, at, addressable)
		w.depth--
		return err
	}
}

// holder writes a value that holds others.
func (w *writer) holder(p *plan, at place, addressable bool) error {
	switch p.kind {
	case kindPointer:
		to := target(at)
		if to == nil {
			w.add("null")
			return nil
		}
		return w.value(p.elem, to, true)
	case kindStruct:
		return w.object(p, at, addressable)
	case kindSlice:
		first, n := elements(at)
		if first == nil {
			w.add("null")
			return nil
		}
		return w.array(p.elem, first, n, true)
	case kindArray:
		return w.array(p.elem, at, p.length, addressable)
	case kindMap:
		return w.mapped(p, valueAt(p.typ, at))
	case kindAnys:
		return w.anys(*anysAt(at))
	case kindStrings:
		return w.strings(*stringsAt(at))
	default: // an interface that has methods
		v := valueAt(p.typ, at)
		if v.IsNil() {
			w.add("null")
			return nil
		}
		return w.any(v.Elem().Interface())
	}
}

func (w *writer) scalar(p *plan, at place) (err error) {
	switch p.kind {
	case kindBool:
		w.b = strconv.AppendBool(w.b, *boolAt(at))
	case kindInt:
		w.b = strconv.AppendInt(w.b, intAt(at, p.size), 10)
	case kindUint:
		w.b = strconv.AppendUint(w.b, uintAt(at, p.size), 10)
	case kindFloat:
		w.b, err = appendFloat(w.b, floatAt(at, p.size), int(p.size)*8)
	case kindNumber:
		w.b, err = appendNumber(w.b, *stringAt(at))
	default:
		w.b = appendString(w.b, *stringAt(at))
	}
	return err
}

func (w *writer) row(r Row) {
	if len(r.raw) == 0 {
		w.add("null")
		return
	}
	w.b = append(w.b, r.raw...)
}

func (w *writer) bytes(data []byte) {
	if data == nil {
		w.add("null")
		return
	}
	w.add(`"`)
	w.b = base64.StdEncoding.AppendEncode(w.b, data)
	w.add(`"`)
}

func (w *writer) object(p *plan, at place, addressable bool) error {
	before := byte('{')
	for i := range p.fields {
		f := &p.fields[i]
		value := f.find(at)
		if value == nil || f.optional && f.leftOut(value) {
			continue
		}
		addressable := addressable || f.hops != nil
		w.b = append(append(w.b, before), f.prefix...)
		before = ','
		var err error
		if f.quoted {
			err = w.quoted(f.plan, value, addressable)
		} else {
			err = w.value(f.plan, value, addressable)
		}
		if err != nil {
			return because("field "+f.name, err)
		}
	}
	w.close(before)
	return nil
}

// find gives where a field's value lies behind embedded pointers, or nil if one of them is nil.
func (f *field) find(at place) place {
	for _, h := range f.hops {
		if at = target(inside(at, h.offset)); at == nil {
			return nil
		}
	}
	return inside(at, f.offset)
}

func (f *field) leftOut(at place) bool {
	return f.omitEmpty && f.plan.empty(at) || f.isZero != nil && f.isZero(at)
}

// empty says whether omitempty leaves a value out.
func (p *plan) empty(at place) bool {
	switch p.kind {
	case kindString, kindNumber:
		return *stringAt(at) == ""
	case kindSlice, kindBytes:
		_, n := elements(at)
		return n == 0
	case kindBool, kindInt, kindUint, kindFloat, kindPointer, kindAny, kindInterface:
		return valueAt(p.typ, at).IsZero()
	case kindMap, kindAnys, kindStrings:
		return valueAt(p.typ, at).Len() == 0
	case kindArray:
		return p.length == 0
	default:
		return false
	}
}

// quoted writes a value into a string, for the option string; what a method writes stays as it is.
func (w *writer) quoted(p *plan, at place, addressable bool) error {
	if p.kind == kindPointer {
		if at = target(at); at == nil {
			w.add("null")
			return nil
		}
		p, addressable = p.elem, true
	}
	if done, err := w.byMethod(p, at, addressable); done {
		return err
	}
	var inner writer
	if err := inner.scalar(p, at); err != nil {
		return err
	}
	w.b = appendString(w.b, textOf(inner.b))
	return nil
}

func (w *writer) array(elem *plan, first place, n int, addressable bool) error {
	w.add("[")
	for i := range n {
		if i > 0 {
			w.add(",")
		}
		if err := w.value(elem, inside(first, uintptr(i)*elem.size), addressable); err != nil {
			return because("element "+strconv.Itoa(i), err)
		}
	}
	w.add("]")
	return nil
}
