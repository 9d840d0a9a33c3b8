package rules

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/toolhost/toolhost/host/decimal"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Value is one value of a Type. The zero Value is an absent one.
type Value struct{ v ref.Val }

// Absent tells whether there is no value.
func (v Value) Absent() bool { return v.v == nil }

// String is the value for a person: a text in quotes, a day as 2026-10-15.
func (v Value) String() string { return shower{}.show(v.v) }

// Plain is String without the quotes around a text, for words and reasons.
func (v Value) Plain() string {
	if s, ok := v.v.(types.String); ok {
		return string(s)
	}
	return v.String()
}

// TextValue is a text.
func TextValue(s string) Value { return Value{types.String(s)} }

// NumberValue is an exact decimal.
func NumberValue(n decimal.Number) Value { return Value{&number{n}} }

// BooleanValue is true or false.
func BooleanValue(b bool) Value { return Value{types.Bool(b)} }

// DurationValue is a length of time.
func DurationValue(d time.Duration) Value { return Value{types.Duration{Duration: d}} }

// TimeValue is a point in time.
func TimeValue(t time.Time) Value { return Value{types.Timestamp{Time: t.UTC()}} }

// ObjectValue is an object whose members are given by get: the zero Value
// where there is none. get is called when a rule reads a member.
func ObjectValue(t Type, get func(field string) (Value, error)) Value {
	return Value{&object{name: t.Name, lacks: t.Lacks, member: get}}
}

// ListValue is a list of values of one type. One that is absent makes it a list
// that cannot be read.
func ListValue(items []Value) Value {
	list := make([]ref.Val, 0, len(items))
	for i, item := range items {
		if item.Absent() {
			return Value{types.NewErr("item %d has no value", i)}
		}
		list = append(list, item.v)
	}
	return Value{types.NewRefValList(types.DefaultTypeAdapter, list)}
}

// FromJSON takes a JSON value for one of the type. null is an absent value. The
// error says what does not fit and never quotes the value.
func FromJSON(t Type, v strictjson.Value) (Value, error) {
	text, _ := v.Text()
	switch {
	case v.Kind() == strictjson.Null || v.Kind() == strictjson.Nothing:
		return Value{}, nil
	case t.Kind == Text && v.Kind() == strictjson.String:
		return TextValue(text), nil
	case t.Kind == Boolean && (v.Kind() == strictjson.True || v.Kind() == strictjson.False):
		return BooleanValue(v.Kind() == strictjson.True), nil
	case t.Kind == Number && v.Kind() == strictjson.Number:
		n, err := decimal.Parse(text)
		return NumberValue(n), err
	case t.Kind == Date && v.Kind() == strictjson.String:
		return DateValue(text)
	case t.Kind == Time && v.Kind() == strictjson.String:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return Value{}, errors.New("is no RFC 3339 time")
		}
		return TimeValue(at), nil
	case t.Kind == List && v.Kind() == strictjson.Array:
		return listFromJSON(t, v)
	case t.Kind == Object && v.Kind() == strictjson.Object:
		return ObjectValue(t, (&members{of: t, in: v}).get), nil
	}
	return Value{}, fmt.Errorf("is %s, where a %s should be", v.Kind(), t.Kind)
}

// members converts the members of a JSON object when they are first read, and
// each once: a rule can ask for a long list in a loop, and pays for its name.
type members struct {
	of Type
	in strictjson.Value

	mu   sync.Mutex
	read map[string]converted
}

type converted struct {
	value Value
	err   error
}

func (m *members) get(field string) (Value, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.read[field]
	if !ok {
		of, _ := m.of.Field(field)
		member, _ := m.in.Get(field)
		if c.value, c.err = FromJSON(of, member); c.err != nil {
			c = converted{err: fmt.Errorf("%s %w", field, c.err)}
		}
		if m.read == nil {
			m.read = map[string]converted{}
		}
		m.read[field] = c
	}
	return c.value, c.err
}

func listFromJSON(t Type, v strictjson.Value) (Value, error) {
	items := make([]ref.Val, 0, v.Len())
	for i, item := range v.Items() {
		value, err := FromJSON(*t.Item, item)
		if err != nil {
			return Value{}, fmt.Errorf("item %d %w", i, err)
		}
		if value.Absent() {
			return Value{}, fmt.Errorf("item %d is null", i)
		}
		items = append(items, value.v)
	}
	return Value{types.NewRefValList(types.DefaultTypeAdapter, items)}, nil
}

// DateValue is a day of the calendar, written 2026-10-15.
func DateValue(text string) (Value, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Value{}, errors.New("is no day like 2026-10-15")
	}
	return Value{date{day}}, nil
}

// Field gives a member of an object.
func (v Value) Field(name string) (Value, error) {
	o, ok := v.v.(*object)
	if !ok {
		return Value{}, errors.New("is no object")
	}
	member, err := o.member(name)
	var absent *AbsentError
	if errors.As(err, &absent) {
		return Value{}, nil
	}
	return member, err
}

// val is what our values have in common as values of CEL.
type val struct{}

func (val) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("no conversion to %s", to)
}

func (val) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("no conversion to %s", to.TypeName())
}

type number struct{ decimal.Number }

func (n *number) ConvertToNative(to reflect.Type) (any, error) { return val{}.ConvertToNative(to) }
func (n *number) ConvertToType(to ref.Type) ref.Val            { return val{}.ConvertToType(to) }
func (n *number) Type() ref.Type                               { return numberType }
func (n *number) Value() any                                   { return n }

func (n *number) Equal(other ref.Val) ref.Val {
	m, ok := other.(*number)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(n.Cmp(m.Number) == 0)
}

// date is midnight UTC of its day.
type date struct{ time.Time }

func (d date) ConvertToNative(to reflect.Type) (any, error) { return val{}.ConvertToNative(to) }
func (d date) ConvertToType(to ref.Type) ref.Val            { return val{}.ConvertToType(to) }
func (d date) Type() ref.Type                               { return dateType }
func (d date) Value() any                                   { return d }

func (d date) Equal(other ref.Val) ref.Val {
	e, ok := other.(date)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(d.Time.Equal(e.Time))
}

// constant is a literal that was made ready at load: a pattern, a zone.
type constant struct {
	val
	kind  ref.Type
	value any
	size  uint64 // for what it costs
}

func (c *constant) Type() ref.Type              { return c.kind }
func (c *constant) Value() any                  { return c.value }
func (c *constant) Equal(other ref.Val) ref.Val { return types.MaybeNoSuchOverloadErr(other) }

// object is what has fields.
type object struct {
	val
	name   string
	lacks  string
	member func(field string) (Value, error)
}

func (o *object) Type() ref.Type              { return types.NewObjectType(hidden + o.name) }
func (o *object) Value() any                  { return o }
func (o *object) Equal(other ref.Val) ref.Val { return types.MaybeNoSuchOverloadErr(other) }

// has tells whether a member has a value. One that cannot be read has: reading
// it is then the error.
func (o *object) has(field string) bool {
	v, err := o.member(field)
	var absent *AbsentError
	return err != nil && !errors.As(err, &absent) || err == nil && !v.Absent()
}

func (o *object) get(field string) (ref.Val, error) {
	v, err := o.member(field)
	if err == nil && v.Absent() {
		err = &AbsentError{Why: o.lacks}
	}
	var absent *AbsentError
	if errors.As(err, &absent) {
		return nil, &AbsentError{place: o.name + "." + field, Why: absent.Why}
	}
	return v.v, err
}

// AbsentError says that there is no value, and why. It is an error where a rule
// reads the value, and false where one asks for it by has().
type AbsentError struct {
	Why string // "it is NULL"; "": nothing is known

	place string
}

func (e *AbsentError) Error() string {
	if e.Why == "" {
		return e.place + " has no value"
	}
	return e.place + " has no value: " + e.Why
}

// A shower writes values for a person; hide, if set, takes out of a text what
// must not be shown.
type shower struct {
	hide   func(string) string
	hidden map[types.String]types.String // what was hidden before: a fact stands in many clauses
}

func (s shower) show(v ref.Val) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case types.String:
		return quote(string(s.without(v)))
	case *number:
		return v.String()
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case date:
		return v.Format(time.DateOnly)
	case types.Timestamp:
		return v.UTC().Format(time.RFC3339Nano)
	case types.Duration:
		return showDuration(v.Duration)
	case *types.Err:
		return "error: " + v.Error()
	case *object:
		return "an object"
	default:
		return s.list(v)
	}
}

func (s shower) without(v types.String) types.String {
	if s.hide == nil {
		return v
	}
	shown, ok := s.hidden[v]
	if !ok {
		shown = types.String(s.hide(string(v)))
		s.hidden[v] = shown
	}
	return shown
}

const mostQuoted = 200 // characters of a text

// quote cuts a text that would fill a screen, and looks no further.
func quote(s string) string {
	n := 0
	for i := range s {
		if n == mostQuoted {
			return strconv.Quote(s[:i]) + "..."
		}
		n++
	}
	return strconv.Quote(s)
}

// showDuration writes whole days as days.
func showDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day != 0 || d == 0 {
		return d.String()
	}
	if n := int64(d / day); n != 1 {
		return strconv.FormatInt(n, 10) + " days"
	}
	return "1 day"
}

const mostShown = 20 // items of a list

func (s shower) list(v ref.Val) string {
	list, ok := v.Value().([]ref.Val)
	if !ok {
		return "a " + v.Type().TypeName()
	}
	var shown []string
	for i, item := range list {
		if i == mostShown {
			shown = append(shown, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		shown = append(shown, s.show(item))
	}
	return "[" + strings.Join(shown, ", ") + "]"
}
