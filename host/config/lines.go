package config

import (
	"bytes"
	"errors"
	"sort"

	"github.com/pelletier/go-toml/v2/unstable"
)

// maxDepth bounds the parts of a key and the nesting of a value. The deepest
// key of the grammar has five parts.
const maxDepth = 16

// maxKeys bounds the parts of all keys together: a decoder takes 15 s for the
// 115,000 keys that fit into 1 MiB, and the time grows with the square.
const maxKeys = 20_000

// liner builds the tree of a file from pelletier's AST. It is lenient about
// what the AST does not check (a key set twice, a table that is a scalar too):
// the decoders refuse these.
type liner struct {
	starts  []int // offsets at which the lines begin
	root    *node
	current *node // the table of the last header
	keys    int   // parts of keys so far
	deep    int   // the line of something nested too deeply, or 0
}

// lines gives the tree of data with the line of each key, without values.
func (r *reader) lines(data []byte) (*node, bool) {
	l := &liner{starts: lineStarts(data), root: newTable(1)}
	l.current = l.root
	var p unstable.Parser
	p.Reset(data)
	for l.deep == 0 && l.keys <= maxKeys && p.NextExpression() {
		l.expression(p.Expression())
	}
	switch {
	case l.deep > 0:
		r.report(l.deep, "nested deeper than %d levels", maxDepth)
		return nil, false
	case l.keys > maxKeys:
		r.report(0, "the file has more than %d keys", maxKeys)
		return nil, false
	}
	if err := p.Error(); err != nil {
		line := 0
		var syntax *unstable.ParserError
		if errors.As(err, &syntax) {
			line = l.line(p.Range(syntax.Highlight))
		}
		r.report(line, "not valid TOML: %s", clean(err.Error()))
		return nil, false
	}
	return l.root, true
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i := 0; ; {
		next := bytes.IndexByte(data[i:], '\n')
		if next < 0 {
			return starts
		}
		i += next + 1
		starts = append(starts, i)
	}
}

func (l *liner) line(at unstable.Range) int {
	return sort.SearchInts(l.starts, int(at.Offset)+1)
}

func newTable(line int) *node { return &node{line: line, table: map[string]*node{}} }

func (l *liner) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.Table, unstable.ArrayTable:
		l.header(e)
	case unstable.KeyValue:
		l.assign(l.current, e, 0)
	default: // comments
	}
}

// header makes the table of [a.b] or [[a.b]] the current one.
func (l *liner) header(e *unstable.Node) {
	table := l.root
	parts := l.path(e)
	for i, part := range parts {
		if i < len(parts)-1 || e.Kind == unstable.Table {
			table = enter(table, part)
			continue
		}
		list := child(table, part)
		list.table, list.isList = nil, true
		table = newTable(part.line)
		list.list = append(list.list, table)
	}
	// A table that [a.b] implied gets the line of its own header.
	if len(parts) > 0 {
		table.line = parts[len(parts)-1].line
	}
	l.current = table
}

// assign puts the value of a possibly dotted key into table.
func (l *liner) assign(table *node, e *unstable.Node, depth int) {
	parts := l.path(e)
	if len(parts) == 0 {
		return
	}
	for _, part := range parts[:len(parts)-1] {
		table = enter(table, part)
	}
	last := parts[len(parts)-1]
	slot := child(table, last)
	*slot = *l.value(e.Value(), last.line, depth+1)
}

// value gives the tree of a value. The AST has no position for an array, so
// what has none takes the line of what it stands in.
func (l *liner) value(e *unstable.Node, line, depth int) *node {
	if depth > maxDepth {
		l.deep = line
		return &node{line: line}
	}
	switch e.Kind {
	case unstable.Array:
		list := &node{line: line, isList: true}
		for it := e.Children(); it.Next(); {
			item := it.Node()
			at := line
			if item.Kind != unstable.Array {
				at = l.line(item.Raw)
			}
			list.list = append(list.list, l.value(item, at, depth+1))
		}
		return list
	case unstable.InlineTable:
		table := newTable(line)
		for it := e.Children(); it.Next(); {
			l.assign(table, it.Node(), depth)
		}
		return table
	default:
		return &node{line: line}
	}
}

// part is one part of a dotted key.
type part struct {
	key  string
	line int
}

func (l *liner) path(e *unstable.Node) []part {
	var parts []part
	for it := e.Key(); it.Next(); {
		at := l.line(it.Node().Raw)
		if len(parts) == maxDepth {
			l.deep = at
			return nil
		}
		l.keys++
		parts = append(parts, part{key: string(it.Node().Data), line: at})
	}
	return parts
}

// child gives the node of a key in table, a new one if there is none.
func child(table *node, p part) *node {
	if table.table == nil {
		table.table = map[string]*node{}
	}
	n := table.table[p.key]
	if n == nil {
		n = &node{line: p.line}
		table.table[p.key] = n
		table.keys = append(table.keys, p.key)
	}
	return n
}

// enter is child for a key that leads to a table: of a list, its last one.
func enter(table *node, p part) *node {
	n := child(table, p)
	if n.isList && len(n.list) > 0 {
		return n.list[len(n.list)-1]
	}
	if n.table == nil {
		n.table = map[string]*node{}
	}
	return n
}
