package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/nearest"
)

// capabilities reads [capabilities.X]. A kind that this version does not have
// is one fault: what else its table holds is not looked at.
func (s section) capabilities() []Capability {
	kinds := []string{"records", "files", "fetch", "outbox"}
	var list []Capability
	for _, table := range s.each("capabilities") {
		c := Capability{Place: table.place(), Name: table.itemName(), lines: table.lines()}
		table.require("kind", `kind = "records"`)
		kind, ok := table.text("kind")
		if !ok {
			continue
		}
		c.Kind = kind
		switch kind {
		case "records":
			c.Records = table.records(s)
		case "files":
			c.Files = table.files()
		case "fetch":
			c.Fetch = table.fetch()
		case "outbox":
			c.Outbox = table.outbox(s)
		default:
			table.fault("kind", "no kind %s%s; known here: %s", quote(kind), nearest.DidYouMean(kind, kinds), strings.Join(kinds, ", "))
		}
		list = append(list, c)
	}
	return list
}

const (
	defaultMaxRows  = 100
	maxRows         = 1000
	defaultMaxBytes = 256 << 10
	maxBytes        = 1 << 20
)

func (s section) records(top section) *Records {
	s.known([]string{"kind", "database", "table", "key", "columns", "types", "scope", "max_rows", "max_bytes"})
	r := &Records{Database: s.database(top), MaxRows: defaultMaxRows, MaxBytes: defaultMaxBytes}
	s.require("table", `table = "orders"`)
	r.Table, _ = s.name("table", sqlName)
	s.require("key", `key = "order_id"`)
	r.Key, _ = s.name("key", sqlName)
	columns, sound := s.columns()
	r.Columns = columns
	r.Types = s.types(columns, sound)
	r.Everyone, r.Scope = s.scope()
	if v, ok := s.integer("max_rows", 1, maxRows); ok {
		r.MaxRows = v
	}
	if v, ok := s.size("max_bytes", 1, maxBytes); ok {
		r.MaxBytes = v
	}
	return r
}

// columns reads what may leave the table; sound says that it has no fault. SQL
// names fold case, so that Total and total would be one column under two names.
func (s section) columns() (names []string, sound bool) {
	before := len(s.r.faults)
	s.require("columns", `columns = ["order_id", "status"]`)
	names = s.names("columns", sqlName)
	seen := map[string]string{}
	for _, name := range names {
		folded := strings.ToLower(name)
		if other, ok := seen[folded]; ok {
			s.fault("columns", "%s and %s are one column to SQL", quote(other), quote(name))
		}
		seen[folded] = name
	}
	if n := s.node.table["columns"]; n != nil && n.isList && len(n.list) == 0 {
		s.fault("columns", "an empty array lets nothing leave; name the columns")
	}
	return names, len(s.r.faults) == before
}

// ColumnType is what the values of a column are.
type ColumnType struct {
	Name   string // text, integer, decimal, minor, json, date or boolean
	Places int    // of minor: how many decimal places the integer's minor units are
}

// String gives the type as the file has it: "decimal", "minor(2)".
func (t ColumnType) String() string {
	if t.Name == "minor" {
		return fmt.Sprintf("minor(%d)", t.Places)
	}
	return t.Name
}

var minorType = regexp.MustCompile(`^minor\(([0-9])\)$`)

func parseColumnType(text string) (ColumnType, bool) {
	if m := minorType.FindStringSubmatch(text); m != nil {
		return ColumnType{Name: "minor", Places: int(m[1][0] - '0')}, true
	}
	plain := []string{"text", "integer", "decimal", "json", "date", "boolean"}
	return ColumnType{Name: text}, slices.Contains(plain, text)
}

// types reads the declared types of columns. No name is held against columns
// that have a fault of their own.
func (s section) types(columns []string, sound bool) map[string]ColumnType {
	table, ok := s.child("types", s.at("types"))
	if !ok {
		return nil
	}
	types := map[string]ColumnType{}
	for _, column := range table.node.keys {
		if sound && !slices.Contains(columns, column) {
			table.fault(column, "%s is not in columns%s", quote(column), nearest.DidYouMean(column, columns))
			continue
		}
		text, ok := table.text(column)
		if !ok {
			continue
		}
		t, ok := parseColumnType(text)
		if !ok {
			known := []string{"text", "integer", "decimal", "minor(2)", "json", "date", "boolean"}
			table.fault(column, "no type %s%s; known here: %s", quote(text), nearest.DidYouMean(text, known), strings.Join(known, ", "))
		}
		types[column] = t
	}
	return types
}

const sayEveryone = `a table without scope must say so: scope = "everyone"`

// scope reads who reaches which rows: everyone all of them, or the clauses.
func (s section) scope() (everyone bool, clauses []Clause) {
	n := s.node.table["scope"]
	switch {
	case n == nil:
		s.r.report(s.node.line, "%s: missing; %s", s.at("scope"), sayEveryone)
	case n.scalar == "everyone":
		return true, nil
	case !n.isList:
		if text, ok := n.scalar.(string); ok {
			s.fault("scope", `%s is no scope; write "everyone" or an array of { column, is, else }`, quote(text))
		} else {
			s.fault("scope", `found %s, expected "everyone" or an array of { column, is, else }`, found(n))
		}
	case len(n.list) == 0:
		s.fault("scope", "an empty array narrows nothing; %s", sayEveryone)
	}
	if n == nil {
		return false, nil
	}
	for _, item := range s.tables("scope", "{ column, is, else }") {
		item.one = true
		clauses = append(clauses, item.clause())
	}
	return false, clauses
}

func (s section) clause() Clause {
	s.known([]string{"column", "is", "else"})
	c := Clause{Place: s.place()}
	s.require("column", `column = "tenant"`)
	c.Column, _ = s.name("column", sqlName)
	s.require("is", `is = "{session.tenant}"`)
	c.Is, _ = s.template("is", SpaceSession)
	s.require("else", `else = "other_customer"`)
	code, ok := s.name("else", clauseCode)
	if ok && slices.Contains(s.r.reserved, code) {
		s.fault("else", "%s is a code of the host itself; choose another", quote(code))
	}
	c.Else = code
	return c
}
