package rules

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Kind is what a value is. The zero Kind is nothing that a rule can use.
type Kind uint8

// The kinds of values.
const (
	Unusable Kind = iota
	Text
	Number   // an exact decimal; integers too
	Boolean  //
	Date     // a day without time or zone
	Time     // a point in time
	Duration //
	List
	Object
)

func (k Kind) String() string {
	return [...]string{"unusable", "text", "number", "boolean", "date", "time", "duration", "list", "object"}[k]
}

// Type says what values a rule meets at one place.
type Type struct {
	Kind   Kind
	Name   string  // Object: unique within one Env
	Why    string  // Unusable: why no rule can use it
	Most   int     // Text: characters, List: items, at most
	Item   *Type   // List
	Fields []Field // Object
	Lacks  string  // Object: what an absent member is: "it was not given"; "": nothing is known
}

// Field is one member of an object. It may be absent in a value whatever the
// type says: reading it is then an error.
type Field struct {
	Name string
	Type Type
}

// Field finds a field of an object.
func (t Type) Field(name string) (Type, bool) {
	i := slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return t.Fields[i].Type, true
}

// Names gives the names of an object's fields.
func (t Type) Names() []string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	return names
}

// The opaque types of CEL that stand for ours.
var (
	numberType  = cel.OpaqueType("number")
	dateType    = cel.OpaqueType("date")
	patternType = cel.OpaqueType("pattern") // of a literal regular expression
	zoneType    = cel.OpaqueType("zone")    // of a literal time zone
)

// cel gives the type as the checker takes it.
func (t Type) cel() *cel.Type {
	switch t.Kind {
	case Text:
		return cel.StringType
	case Number:
		return numberType
	case Boolean:
		return cel.BoolType
	case Date:
		return dateType
	case Time:
		return cel.TimestampType
	case Duration:
		return cel.DurationType
	case List:
		return cel.ListType(t.Item.cel())
	case Object:
		return cel.ObjectType(hidden + t.Name)
	default:
		return cel.NullType
	}
}

// hidden begins the name that an object type has for CEL: by "facts.order" a
// rule would name the type and not the value.
const hidden = "@"

// A provider knows the object types of one Env. Everything else that CEL would
// find through it is not there: no enums, no constructors, no type names.
type provider struct{ objects map[string]Type }

func newProvider(vars []Field) (*provider, error) {
	p := &provider{objects: map[string]Type{}}
	for _, v := range vars {
		if err := p.add(v.Type); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *provider) add(t Type) error {
	if t.Kind == List {
		return p.add(*t.Item)
	}
	if t.Kind != Object {
		return nil
	}
	if _, twice := p.objects[hidden+t.Name]; twice || t.Name == "" {
		return fmt.Errorf("two object types are called %q", t.Name)
	}
	p.objects[hidden+t.Name] = t
	for _, f := range t.Fields {
		if err := p.add(f.Type); err != nil {
			return err
		}
	}
	return nil
}

func (p *provider) EnumValue(name string) ref.Val { return types.NewErr("no enum %q", name) }

func (p *provider) FindIdent(string) (ref.Val, bool) { return nil, false }

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; !ok {
		return nil, false
	}
	return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	t, ok := p.objects[name]
	return t.Names(), ok
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	t, ok := p.objects[name].Field(field)
	if !ok || t.Kind == Unusable { // Compile tells why, see fields
		return nil, false
	}
	return &types.FieldType{
		Type:    t.cel(),
		IsSet:   func(of any) bool { return of.(*object).has(field) },
		GetFrom: func(of any) (any, error) { return of.(*object).get(field) },
	}, true
}

func (p *provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("no %q can be made", name)
}
