package pdk

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is one member that a struct has in JSON, its own or one of a struct within it.
type field struct {
	name      string
	prefix    string  // the name in quotes and a colon
	hops      []hop   // the embedded pointers on the way
	offset    uintptr // from the struct, or from where the last hop leads
	plan      *plan
	optional  bool // it may be left out
	omitEmpty bool
	isZero    func(place) bool // where it is left out if zero, else nil
	quoted    bool             // the value stands in a string

	index  []int // as reflect counts: which of two of a name wins
	tagged bool
}

// hop is a pointer to an embedded struct.
type hop struct {
	offset uintptr
	to     reflect.Type
	hidden bool // its type is not exported: a nil one cannot be filled
}

// level is a struct whose fields are looked at.
type level struct {
	typ    reflect.Type
	index  []int
	hops   []hop
	offset uintptr
}

// fieldsOf gives the members of a struct by the rules of encoding/json: fields of embedded structs
// count as the struct's own, one nearer hides one deeper, one with a tag those of equal depth, and of
// those that are left equal none is there.
func fieldsOf(t reflect.Type) []field {
	var all []field
	seen := map[reflect.Type]bool{}
	for next := []level{{typ: t}}; len(next) > 0; {
		times := map[reflect.Type]int{}
		for _, l := range next {
			times[l.typ]++
		}
		var deeper []level
		for _, l := range next {
			if seen[l.typ] {
				continue
			}
			seen[l.typ] = true
			own, embedded := l.fields()
			all = append(all, own...)
			if times[l.typ] > 1 { // each of them is there twice, so that neither counts
				all = append(all, own...)
			}
			deeper = append(deeper, embedded...)
		}
		next = deeper
	}
	all = visible(all)
	for i := range all {
		all[i].plan = planned(t.FieldByIndex(all[i].index).Type)
	}
	return all
}

// fields gives a level's own members, and the structs that are embedded in it.
func (l level) fields() (own []field, embedded []level) {
	for i := range l.typ.NumField() {
		sf := l.typ.Field(i)
		name, options, skip := tagOf(sf)
		if skip {
			continue
		}
		index := append(slices.Clone(l.index), i)
		if name == "" && sf.Anonymous && structOf(sf.Type) != nil {
			embedded = append(embedded, l.embed(sf, index))
			continue
		}
		tagged := name != ""
		if !tagged {
			name = sf.Name
		}
		f := field{
			name: name, prefix: `"` + name + `":`, index: index, tagged: tagged,
			hops: l.hops, offset: l.offset + sf.Offset,
			omitEmpty: slices.Contains(options, "omitempty"),
			quoted:    slices.Contains(options, "string") && quotable(sf.Type),
		}
		if slices.Contains(options, "omitzero") {
			f.isZero = zeroOf(sf.Type)
		}
		f.optional = f.omitEmpty || f.isZero != nil
		own = append(own, f)
	}
	return own, embedded
}

// embed goes into an embedded struct.
func (l level) embed(sf reflect.StructField, index []int) level {
	deeper := level{typ: structOf(sf.Type), index: index, hops: l.hops, offset: l.offset + sf.Offset}
	if sf.Type.Kind() == reflect.Pointer {
		deeper.hops = append(slices.Clone(l.hops), hop{deeper.offset, deeper.typ, !sf.IsExported()})
		deeper.offset = 0
	}
	return deeper
}

// structOf is the struct that a type is, or that it is an unnamed pointer to.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// tagOf reads a field's tag, and says whether the field has no part in JSON.
func tagOf(sf reflect.StructField) (name string, options []string, skip bool) {
	tag := sf.Tag.Get("json")
	hidden := !sf.IsExported() && (!sf.Anonymous || structOf(sf.Type) == nil)
	if hidden || tag == "-" {
		return "", nil, true
	}
	name, rest, _ := strings.Cut(tag, ",")
	if strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		name = ""
	}
	return name, strings.Split(rest, ","), false
}

// quotable says whether the option string means something for a type.
func quotable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	switch kindOf(t) {
	case kindBool, kindInt, kindUint, kindFloat, kindString, kindNumber:
		return true
	default:
		return false
	}
}

type zeroer interface{ IsZero() bool }

// zeroOf tells whether a value is left out by omitzero: by its method IsZero, if it has one.
func zeroOf(t reflect.Type) func(place) bool {
	zero := reflect.TypeFor[zeroer]()
	switch {
	case t.Kind() == reflect.Pointer && t.Implements(zero), t.Kind() == reflect.Interface && t.Implements(zero):
		return func(at place) bool {
			v := valueAt(t, at)
			return v.IsNil() || v.Kind() == reflect.Interface && v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil() ||
				v.Interface().(zeroer).IsZero()
		}
	case reflect.PointerTo(t).Implements(zero):
		return func(at place) bool { return pointerAt(t, at).(zeroer).IsZero() }
	default:
		return func(at place) bool { return valueAt(t, at).IsZero() }
	}
}

// visible leaves of all members of one name the one that counts, in the order of the fields.
func visible(all []field) []field {
	order(all, func(a, b *field) bool {
		return cmp.Or(strings.Compare(a.name, b.name), rank(a, b), slices.Compare(a.index, b.index)) < 0
	})
	var left []field
	for i := 0; i < len(all); {
		same := i + 1
		for same < len(all) && all[same].name == all[i].name {
			same++
		}
		if same == i+1 || rank(&all[i], &all[i+1]) != 0 {
			left = append(left, all[i])
		}
		i = same
	}
	order(left, func(a, b *field) bool { return slices.Compare(a.index, b.index) < 0 })
	return left
}

// order sorts by insertion, which is enough for the fields of a struct and less code than package slices.
func order(all []field, before func(a, b *field) bool) {
	for i := range all {
		for j := i; j > 0 && before(&all[j], &all[j-1]); j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
}

// rank compares two members of a name: the nearer first, then the one with a tag.
func rank(a, b *field) int {
	switch c := cmp.Compare(len(a.index), len(b.index)); {
	case c != 0 || a.tagged == b.tagged:
		return c
	case a.tagged:
		return -1
	default:
		return 1
	}
}
