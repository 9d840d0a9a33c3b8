package contract

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/strictjson"
)

// A breach is the first place that quick finds.
type breach struct {
	place  []string
	reason string
}

// quick looks at the bounds of a plan before the validator does: texts and
// lists that are too long, and integers written with a fraction or an exponent (JSON Schema calls 2.0 an integer, the decoders of
// most languages do not). It walks the value once.
func (p *plan) quick(v strictjson.Value, at []string) *breach {
	if p == nil {
		return nil
	}
	text, _ := v.Text()
	switch {
	case v.Kind() == strictjson.String && p.maxLength != noBound && utf8.RuneCountInString(text) > p.maxLength:
		return &breach{at, "must have at most " + count(p.maxLength, "character")}
	case v.Kind() == strictjson.Array && p.maxItems != noBound && v.Len() > p.maxItems:
		return &breach{at, "must have at most " + count(p.maxItems, "item")}
	case v.Kind() == strictjson.Number && p.whole && strings.ContainsAny(text, ".eE"):
		return &breach{at, "must be a whole number, written without fraction or exponent"}
	}
	for name, child := range v.Members() {
		if b := p.names[name].quick(child, append(at, name)); b != nil {
			return b
		}
	}
	for i, child := range v.Items() {
		if b := p.items.quick(child, append(at, strconv.Itoa(i))); b != nil {
			return b
		}
	}
	return nil
}

const maxWholeDepth = 8 // $ref and branches that numbers follows

// wholeNumber tells whether a schema takes integers and no other numbers: by
// its type, by its list of values, or because each branch does.
func (w *walker) wholeNumber(s strictjson.Value) bool {
	integer, number := w.numbers(s, 0)
	return integer && !number
}

// numbers tells whether a schema takes integers, and whether it takes numbers
// that are none. Where that is too deep to see it takes both.
func (w *walker) numbers(s strictjson.Value, depth int) (integer, number bool) {
	if depth > maxWholeDepth {
		return true, true
	}
	note := func(i, n bool) { integer, number = integer || i, number || n }
	if ref, ok := s.Get("$ref"); ok {
		target, _ := w.resolve(ref)
		return w.numbers(target, depth+1)
	}
	if types, ok := s.Get("type"); ok {
		note(isText(types, "integer"), isText(types, "number"))
		for _, t := range types.Items() {
			note(isText(t, "integer"), isText(t, "number"))
		}
		return integer, number
	}
	noteValue := func(v strictjson.Value) {
		if text, _ := v.Text(); v.Kind() == strictjson.Number {
			whole := !strings.ContainsAny(text, ".eE")
			note(whole, !whole)
		}
	}
	constant, _ := s.Get("const")
	noteValue(constant)
	values, _ := s.Get("enum")
	for _, v := range values.Items() {
		noteValue(v)
	}
	for _, b := range subschemas(s) {
		if b.keyword == "anyOf" || b.keyword == "oneOf" {
			note(w.numbers(b.schema, depth+1))
		}
	}
	return integer, number
}
