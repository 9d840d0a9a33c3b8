package config

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	pelletier "github.com/pelletier/go-toml/v2"
)

// How bytes become a tree of nodes:
//
//   1. the bytes themselves: size, UTF-8, no hidden characters
//   2. pelletier's AST gives the tree and its lines (lines.go), and bounds the
//      depth: BurntSushi recurses without a bound and is quadratic in the parts
//      of a dotted key
//   3. BurntSushi gives the values
//   4. pelletier decodes the file once more, and both must have read the same
//
// BurntSushi decodes into a map, never into structs: there it would take FUEL
// for fuel, stop at the first wrong type and give unknown keys no line.

// node is one TOML value and where it stands. It is a table, a list or a scalar.
type node struct {
	line   int
	table  map[string]*node // not nil: a table
	keys   []string         // of a table, in file order
	list   []*node
	isList bool
	scalar any // string, int64, bool, float64 or time.Time
}

// parse gives the root table of data, or reports why there is none.
func (r *reader) parse(data []byte) (root *node, ok bool) {
	// Neither library should panic on bytes. Both have "this cannot happen"
	// panics, though, and a config must never bring the host down.
	defer func() {
		if recover() != nil {
			r.report(0, "not valid TOML: the reader failed on this file")
			root, ok = nil, false
		}
	}()
	if len(data) > maxFileBytes {
		r.report(0, "the file is larger than 1 MiB")
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // some editors of Windows write it
	if !r.plain(data) {
		return nil, false
	}
	if root, ok = r.lines(data); !ok {
		return nil, false
	}
	values, ok := r.decode(data)
	if !ok {
		return nil, false
	}
	if !fill(root, values) {
		r.report(0, "not valid TOML: two readers give the file different keys")
		return nil, false
	}
	return root, true
}

// plain refuses bytes that are no text, and characters that a reviewer cannot see.
func (r *reader) plain(data []byte) bool {
	line := 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			r.report(line, "not valid UTF-8")
			return false
		case c == '\n':
			line++
		case c == '\t', c == '\r' && i+1 < len(data) && data[i+1] == '\n':
		case hidden(c):
			r.report(line, "the character %U may not stand in this file", c)
			return false
		}
		i += size
	}
	return true
}

// decode reads the values twice and gives them if both readings are the same.
func (r *reader) decode(data []byte) (map[string]any, bool) {
	var first, second map[string]any
	if _, err := toml.Decode(string(data), &first); err != nil {
		line, text := 0, err.Error()
		var parse toml.ParseError
		if errors.As(err, &parse) {
			line, text = parse.Position.Line, parse.Message
		}
		r.report(line, "not valid TOML: %s", clean(text))
		return nil, false
	}
	if err := pelletier.Unmarshal(data, &second); err != nil {
		line := 0
		var decode *pelletier.DecodeError
		if errors.As(err, &decode) {
			line, _ = decode.Position()
		}
		r.report(line, "not valid TOML: %s", clean(strings.TrimPrefix(err.Error(), "toml: ")))
		return nil, false
	}
	if !same(first, second) {
		r.report(0, "not valid TOML: two readers give the file different values")
		return nil, false
	}
	return first, true
}

// same compares what the two libraries read. Floats and dates are not compared:
// no key takes one, so that either is a fault later.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !same(value, other) {
				return false
			}
		}
		return true
	case string, int64, bool:
		return a == b
	}
	if list, ok := items(a); ok {
		other, ok := items(b)
		if !ok || len(list) != len(other) {
			return false
		}
		for i := range list {
			if !same(list[i], other[i]) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any, []map[string]any, string, int64, bool:
		return false
	}
	return true
}

// items gives the elements of either form that a list may have.
func items(value any) ([]any, bool) {
	switch value := value.(type) {
	case []any:
		return value, true
	case []map[string]any:
		list := make([]any, len(value))
		for i := range value {
			list[i] = value[i]
		}
		return list, true
	}
	return nil, false
}

// fill puts the values into the tree that has the lines. It is false when the
// two do not have the same shape.
func fill(n *node, value any) bool {
	if table, ok := value.(map[string]any); ok {
		if n.table == nil || len(n.table) != len(table) {
			return false
		}
		for key, value := range table {
			child := n.table[key]
			if child == nil || !fill(child, value) {
				return false
			}
		}
		return true
	}
	if list, ok := items(value); ok {
		if !n.isList || len(n.list) != len(list) {
			return false
		}
		for i := range list {
			if !fill(n.list[i], list[i]) {
				return false
			}
		}
		return true
	}
	n.scalar = value
	return n.table == nil && !n.isList
}
