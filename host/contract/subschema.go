package contract

import (
	"strconv"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Where schemas stand inside a schema. What walks, counts or rebuilds a schema
// asks here.

// A shape is how a keyword holds schemas.
type shape int

const (
	holdsNone  shape = iota // data, or a bound
	holdsOne                // a schema
	holdsList               // an array of them
	holdsNamed              // an object of them
)

func shapeOf(keyword string) shape {
	switch keyword {
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
		return holdsOne
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return holdsList
	case "properties", "$defs", "dependentSchemas":
		return holdsNamed
	default:
		return holdsNone
	}
}

// A subschema is a schema inside another one.
type subschema struct {
	keyword string
	pointer string // from the outer schema
	schema  strictjson.Value
}

// subschemas lists everything in a schema that is a schema again.
func subschemas(s strictjson.Value) []subschema {
	var out []subschema
	for keyword, v := range s.Members() {
		at := "/" + keyword
		switch shapeOf(keyword) {
		case holdsOne:
			out = append(out, subschema{keyword, at, v})
		case holdsList:
			for i, child := range v.Items() {
				out = append(out, subschema{keyword, at + "/" + strconv.Itoa(i), child})
			}
		case holdsNamed:
			for name, child := range v.Members() {
				out = append(out, subschema{keyword, at + "/" + escape(name), child})
			}
		case holdsNone:
		}
	}
	return out
}

// stripped is a schema as models see it: without our own keywords, wherever a
// schema stands. A property of that name, and data in enum or const, stay.
func stripped(s strictjson.Value) strictjson.Value {
	if s.Kind() != strictjson.Object {
		return s // true and false
	}
	return s.Without(ownKeywords()...).Map(func(keyword string, v strictjson.Value) strictjson.Value {
		switch shapeOf(keyword) {
		case holdsOne:
			return stripped(v)
		case holdsList, holdsNamed:
			return v.Map(func(_ string, child strictjson.Value) strictjson.Value { return stripped(child) })
		default:
			return v
		}
	})
}
