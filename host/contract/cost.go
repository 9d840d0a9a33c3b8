package contract

import (
	"regexp/syntax"
	"strconv"

	"github.com/toolhost/toolhost/host/strictjson"
)

// What a schema may cost. A small file can name a definition twice in each of
// twenty others, or repeat a group a thousand times: checking one value, or
// only loading, would then take seconds and gigabytes.

const (
	maxCost    = 5000      // schemas that checking one value can visit, each $ref followed
	maxPattern = 2000      // instructions of a compiled pattern
	maxScan    = 4_000_000 // instructions times characters of the text
	maxBound   = 1<<31 - 1 // of maxLength and its like; beyond, they would wrap
)

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
		switch keyword {
		case "properties", "$defs", "dependentSchemas":
			for name, child := range v.Members() {
				out = append(out, subschema{keyword, "/" + keyword + "/" + escape(name), child})
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for i, child := range v.Items() {
				out = append(out, subschema{keyword, "/" + keyword + "/" + strconv.Itoa(i), child})
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			out = append(out, subschema{keyword, "/" + keyword, v})
		}
	}
	return out
}

// cost counts the schemas that a value can meet, each $ref as often as it is
// named; a definition is counted once and remembered.
func (w *walker) cost(s strictjson.Value) int {
	n := 1
	if ref, ok := s.Get("$ref"); ok {
		text, _ := ref.Text()
		if _, known := w.costs[text]; !known {
			w.costs[text] = 0 // a cycle is refused elsewhere
			if target, ok := w.resolve(ref); ok {
				w.costs[text] = w.cost(target)
			}
		}
		n += w.costs[text]
	}
	for _, b := range subschemas(s) {
		if b.keyword != "$defs" {
			n += w.cost(b.schema)
		}
		if n > maxCost {
			return maxCost + 1
		}
	}
	return min(n, maxCost+1)
}

// patternCost is about how many instructions a pattern compiles to. It is
// counted on the parsed form, in which nothing is repeated yet.
func patternCost(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n = min(n+patternCost(sub), maxPattern+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpRepeat:
		n *= max(re.Max, re.Min+1, 1)
	default:
	}
	return min(n, maxPattern+1)
}

// bound reads a keyword such as maxLength; noBound where it is not there.
func bound(s strictjson.Value, keyword string) int {
	v, _ := s.Get(keyword)
	text, _ := v.Text()
	n, err := strconv.Atoi(text)
	if v.Kind() != strictjson.Number || err != nil || n < 0 || n > maxBound {
		return noBound
	}
	return n
}
