package contract

import (
	"regexp/syntax"
	"strconv"

	"github.com/toolhost/toolhost/host/strictjson"
)

// What a schema may cost. A small file can name a definition twice in each of
// twenty others, repeat a group a thousand times, or ask four thousand things of
// each item of a list: checking one value, or only loading, would then take
// seconds and gigabytes.

const (
	maxCost     = 20_000    // steps of checking one value, see cost
	maxPattern  = 2500      // instructions of a compiled pattern
	maxScan     = 4_000_000 // instructions of one pattern times characters of the text
	scanPerStep = 500       // of these count as one step
	anyLength   = 16384     // characters of a text whose schema gives no maxLength
	maxBound    = 1<<31 - 1 // of maxLength and its like; beyond, they would wrap
)

// cost counts the steps of checking one value: each schema that it meets, each
// $ref as often as it is named, what stands in items as often as there are
// items, and the instructions of patterns. A definition is counted once and
// remembered.
func (w *walker) cost(s strictjson.Value) int {
	n := 1 + w.scan(s)
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
		times := 1
		switch b.keyword {
		case "$defs":
			continue
		case "items", "contains":
			times = max(1, bound(s, "maxItems"))
		}
		n += min(w.cost(b.schema), maxCost+1) * min(times, maxCost+1)
		if n > maxCost {
			return maxCost + 1
		}
	}
	return min(n, maxCost+1)
}

// scan is what the pattern of a schema costs, in steps.
func (w *walker) scan(s strictjson.Value) int {
	v, _ := s.Get("pattern")
	text, _ := v.Text()
	parsed, err := syntax.Parse(text, syntax.Perl)
	if v.Kind() != strictjson.String || len(text) > maxPatternText || err != nil {
		return 0
	}
	return patternCost(parsed) * textBound(s) / scanPerStep
}

func textBound(s strictjson.Value) int {
	if n := bound(s, "maxLength"); n != noBound {
		return min(n, maxScan)
	}
	return anyLength
}

// patternCost is about how many instructions a pattern compiles to. It is
// counted on the parsed form, in which nothing is repeated yet.
func patternCost(re *syntax.Regexp) int {
	inner := 0
	for _, sub := range re.Sub {
		inner = min(inner+patternCost(sub), maxPattern+1)
	}
	n := inner
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpConcat:
	case syntax.OpRepeat:
		switch {
		case re.Max == re.Min:
			n = inner * re.Max
		case re.Max < 0:
			n = inner*max(re.Min, 1) + 1
		default:
			n = (inner+1)*re.Max - re.Min
		}
	default:
		n = inner + max(1, len(re.Sub))
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
