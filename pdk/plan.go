package pdk

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// plan is how the values of one type are read and written. It is made once for each type, by reflect.
type plan struct {
	kind    kind
	typ     reflect.Type
	size    uintptr // bytes of one value
	elem    *plan   // of what a pointer, slice, array or map holds
	length  int     // of an array
	fields  []field // of a struct
	byName  map[string]int
	methods methods
	keys    keys  // of a map
	of      place // what typeOf gives for a value of it
}

// kind is a row of what the reader and the writer tell apart.
type kind uint8

const (
	kindUnsupported kind = iota // JSON has nothing for it
	kindBool
	kindInt
	kindUint
	kindFloat
	kindString
	kindNumber
	kindRow
	kindBytes // a slice of bytes: base64
	kindSlice
	kindArray
	kindMap
	kindAnys    // map[string]any
	kindStrings // map[string]string
	kindStruct
	kindPointer
	kindAny
	kindInterface // of some methods
)

// methods are those of encoding/json and encoding that a type has.
type methods uint8

const (
	readsJSON   methods = 1 << iota // *T has UnmarshalJSON
	readsText                       // *T has UnmarshalText
	writesJSON                      // T has MarshalJSON
	writesText                      // T has MarshalText
	pointerJSON                     // *T has MarshalJSON
	pointerText                     // *T has MarshalText
)

// keys says what can be done with the keys of a map.
type keys struct{ read, written bool }

// keysOf looks at the type of a map's keys: texts, integers, and what is read or written as text.
func keysOf(t reflect.Type) keys {
	switch kindOf(t) {
	case kindString, kindNumber, kindInt, kindUint:
		return keys{true, true}
	default:
		return keys{reflect.PointerTo(t).Implements(reflect.TypeFor[textReader]()), t.Implements(reflect.TypeFor[textWriter]())}
	}
}

type (
	jsonReader interface{ UnmarshalJSON([]byte) error }
	textReader interface{ UnmarshalText([]byte) error }
	jsonWriter interface{ MarshalJSON() ([]byte, error) }
	textWriter interface{ MarshalText() ([]byte, error) }
)

// plans are those that were made. Some are made at once, as types name each other; all of them are
// whole when the lock is given back.
var (
	plansLock sync.Mutex
	plans     = map[reflect.Type]*plan{}
)

func planOf(t reflect.Type) *plan {
	plansLock.Lock()
	defer plansLock.Unlock()
	return planned(t)
}

// recent has plans by the type of what an interface held, where they are found in less time.
var recent [64]atomic.Pointer[plan]

// planFor gives the plan of what an interface holds, which is not nil.
func planFor(v any) *plan {
	of := typeOf(v)
	slot := &recent[slotOf(of, uintptr(len(recent)))]
	if p := slot.Load(); p != nil && p.of == of {
		return p
	}
	p := planOf(reflect.TypeOf(v))
	slot.Store(p)
	return p
}

// planned gives the plan of a type. It is kept before it is whole, for types that hold themselves.
func planned(t reflect.Type) *plan {
	if p := plans[t]; p != nil {
		return p
	}
	p := &plan{typ: t, size: t.Size(), kind: kindOf(t), of: typeOf(reflect.Zero(t).Interface())}
	plans[t] = p
	if p.kind != kindNumber && p.kind != kindRow {
		p.methods = methodsOf(t)
	}
	switch p.kind {
	case kindPointer, kindSlice, kindArray, kindMap:
		p.elem = planned(t.Elem())
	case kindStruct:
		p.fields = fieldsOf(t)
		p.byName = map[string]int{}
		for i, f := range p.fields {
			p.byName[f.name] = i
		}
	default:
	}
	if p.kind == kindArray {
		p.length = t.Len()
	}
	if p.kind == kindMap {
		p.keys = keysOf(t.Key())
	}
	return p
}

func kindOf(t reflect.Type) kind {
	switch t {
	case reflect.TypeFor[Row]():
		return kindRow
	case reflect.TypeFor[map[string]any]():
		return kindAnys
	case reflect.TypeFor[map[string]string]():
		return kindStrings
	}
	if isNumber(t) {
		return kindNumber
	}
	switch t.Kind() {
	case reflect.Bool:
		return kindBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return kindInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return kindUint
	case reflect.Float32, reflect.Float64:
		return kindFloat
	case reflect.String:
		return kindString
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return kindBytes
		}
		return kindSlice
	case reflect.Array:
		return kindArray
	case reflect.Map:
		return kindMap
	case reflect.Struct:
		return kindStruct
	case reflect.Pointer:
		return kindPointer
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return kindAny
		}
		return kindInterface
	default:
		return kindUnsupported
	}
}

// methodsOf looks for the methods. Those of a pointer are in the plan of what it points at.
func methodsOf(t reflect.Type) (m methods) {
	if t.Kind() == reflect.Pointer {
		return 0
	}
	pointer := reflect.PointerTo(t)
	for _, row := range []struct {
		has  bool
		what methods
	}{
		{pointer.Implements(reflect.TypeFor[jsonReader]()), readsJSON},
		{pointer.Implements(reflect.TypeFor[textReader]()), readsText},
		{t.Implements(reflect.TypeFor[jsonWriter]()), writesJSON},
		{t.Implements(reflect.TypeFor[textWriter]()), writesText},
		{pointer.Implements(reflect.TypeFor[jsonWriter]()), pointerJSON},
		{pointer.Implements(reflect.TypeFor[textWriter]()), pointerText},
	} {
		if row.has {
			m |= row.what
		}
	}
	return m
}
