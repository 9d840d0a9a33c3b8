package pdk

import (
	"reflect"
	"unsafe"
)

// This file is the one that uses unsafe to read and write values. Its rules:
//
//   - A place is the address of a whole value of the type that its plan was made of. It comes from
//     reflect (New, NewAt, UnsafePointer) or from another place by the offset of a field or the size of
//     an element, which reflect gave too. It is never made of a number.
//   - Memory that may hold pointers is allocated by reflect with its type, so that the collector knows
//     what is in it.
//   - A value is read and written with its own width and kind; a named type has the layout of its kind.
//   - An interface is two words: the address of its type's description, which is told apart from others
//     and nothing else, and the pointer that it holds if it holds one.
//   - A text that is made of bytes without a copy is made only of bytes that nobody writes again.
//
// The tests run under -race and -gcflags=all=-d=checkptr too.

// place is where a value lies.
type place = unsafe.Pointer

// words are those of an interface that has no methods.
type words struct{ typ, value place }

// typeOf tells the type of what an interface holds; nil for nil.
func typeOf(v any) place { return (*words)(unsafe.Pointer(&v)).typ }

// pointerIn is the pointer that an interface holds.
func pointerIn(v any) place { return (*words)(unsafe.Pointer(&v)).value }

// slotOf spreads types over so many slots.
func slotOf(typ place, slots uintptr) uintptr { return (uintptr(typ) >> 5) % slots }

// placeOf is what a pointer points at.
func placeOf(pointer reflect.Value) place { return pointer.UnsafePointer() }

// valueAt gives the value at a place to reflect; it can be set.
func valueAt(t reflect.Type, at place) reflect.Value { return reflect.NewAt(t, at).Elem() }

// pointerAt gives a value's own pointer, as an interface that has the methods of *T.
func pointerAt(t reflect.Type, at place) any { return reflect.NewAt(t, at).Interface() }

func inside(at place, offset uintptr) place { return unsafe.Add(at, offset) }

func stringAt(at place) *string             { return (*string)(at) }
func boolAt(at place) *bool                 { return (*bool)(at) }
func bytesAt(at place) *[]byte              { return (*[]byte)(at) }
func anyAt(at place) *any                   { return (*any)(at) }
func rowAt(at place) *Row                   { return (*Row)(at) }
func anysAt(at place) *map[string]any       { return (*map[string]any)(at) }
func stringsAt(at place) *map[string]string { return (*map[string]string)(at) }

// target is what the pointer at a place points at, or nil.
func target(at place) place { return *(*place)(at) }

func setTarget(at, to place) { *(*place)(at) = to }

// elements are the first element of the slice at a place and how many there are. A slice of any type
// has its length where one of bytes has it.
func elements(at place) (first place, n int) {
	s := *(*[]byte)(at)
	return place(unsafe.SliceData(s)), len(s)
}

func intAt(at place, size uintptr) int64 {
	switch size {
	case 1:
		return int64(*(*int8)(at))
	case 2:
		return int64(*(*int16)(at))
	case 4:
		return int64(*(*int32)(at))
	default:
		return *(*int64)(at)
	}
}

func uintAt(at place, size uintptr) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(at))
	case 2:
		return uint64(*(*uint16)(at))
	case 4:
		return uint64(*(*uint32)(at))
	default:
		return *(*uint64)(at)
	}
}

func floatAt(at place, size uintptr) float64 {
	if size == 4 {
		return float64(*(*float32)(at))
	}
	return *(*float64)(at)
}

// setUint writes the lowest bytes of a number; a signed one is written so too.
func setUint(at place, size uintptr, n uint64) {
	switch size {
	case 1:
		*(*uint8)(at) = uint8(n)
	case 2:
		*(*uint16)(at) = uint16(n)
	case 4:
		*(*uint32)(at) = uint32(n)
	default:
		*(*uint64)(at) = n
	}
}

func setFloat(at place, size uintptr, f float64) {
	if size == 4 {
		*(*float32)(at) = float32(f)
		return
	}
	*(*float64)(at) = f
}

// textOf is a text of these bytes, which nobody writes again.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
