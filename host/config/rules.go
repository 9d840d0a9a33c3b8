package config

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones are there on every machine

	"github.com/toolhost/toolhost/host/nearest"
)

// Fact is something that a tool's rules may know, fetched by the host: a row of
// a records capability (Key), or the sum or count of rows (Where).
type Fact struct {
	Place
	Name   string
	From   string
	Key    Template // literal text, arguments and session values; zero: a sum or a count
	Sum    string   // the column that is summed; empty: another form
	Count  bool
	Where  []Condition // in file order
	Within Window      // of a sum or count; zero: of all times

	lines keyLines
}

// At is Database.At for a fact.
func (f Fact) At(key string) Place { return f.lines.at(f.Place, key) }

// Condition narrows a sum or a count to the rows whose Column is Is.
type Condition struct {
	Place
	Column string
	Is     Template
}

// Window narrows a sum or a count to the rows of the last days, today included.
type Window struct {
	Column string         // a date
	Days   int            // 1: today alone
	Zone   *time.Location // whose today it is
}

// Rule is one condition that must be true for a call to go on.
type Rule struct {
	Place
	Name     string
	Require  string   // CEL; the host compiles it
	Words    Template // for the model: literal text, arguments and facts; zero: the host's own
	Reason   Template // for the record: everything; zero: the rule's name alone
	Examples []Example

	lines keyLines
}

// At is Database.At for a rule.
func (r Rule) At(key string) Place { return r.lines.at(r.Place, key) }

// Example is a decision that a rule must give.
type Example struct {
	Place
	Expect  string // allow, refuse or error
	Args    string // JSON
	Session map[string]string
	Facts   map[string]any // string, int64, bool and map[string]any
	Now     string         // RFC 3339; empty: the example does not say
}

const (
	maxRules    = 32 // of a tool
	maxFacts    = 16
	maxExamples = 50 // of a rule
	maxRequire  = 2000
)

// facts reads [tools.X.facts].
func (s section) facts(top section) []Fact {
	table, ok := s.child("facts", s.at("facts"))
	if !ok {
		return nil
	}
	if len(table.node.keys) > maxFacts {
		s.fault("facts", "%d facts, at most %d", len(table.node.keys), maxFacts)
	}
	var list []Fact
	for _, name := range table.node.keys {
		fact, ok := table.child(name, table.at(name))
		if !ok {
			continue
		}
		list = append(list, fact.fact(top))
	}
	return list
}

func (s section) fact(top section) Fact {
	s.known([]string{"from", "key", "sum", "count", "where", "within"})
	f := Fact{Place: s.place(), Name: s.plainName(), lines: s.lines()}
	s.require("from", `from = "orders"`)
	if name, ok := s.text("from"); ok {
		f.From = name
		s.refers("from", "capability", name, top, "capabilities")
	}
	f.Key, _ = s.template("key", SpaceArgs, SpaceSession)
	f.Sum, _ = s.name("sum", sqlName)
	if n := s.node.table["count"]; n != nil {
		f.Count = n.scalar == true
		if !f.Count {
			s.fault("count", "can only be true")
		}
	}
	forms := 0
	for _, key := range []string{"key", "sum", "count"} {
		if s.has(key) {
			forms++
		}
	}
	switch {
	case forms != 1:
		s.r.report(s.node.line, `%s: needs one of key = "{args.x}" (a row), sum = "column" and count = true`, s.path)
	case s.has("key") && (s.has("where") || s.has("within")):
		s.r.report(s.node.line, "%s: a row is named by its key alone, without where and within", s.path)
	}
	f.Where = s.where()
	f.Within = s.within()
	return f
}

func (s section) within() Window {
	table, ok := s.child("within", s.at("within"))
	if !ok {
		return Window{}
	}
	table.known([]string{"column", "days", "zone"})
	w := Window{Zone: time.UTC}
	table.require("column", `column = "refunded_on"`)
	w.Column, _ = table.name("column", sqlName)
	table.require("days", "days = 1, which is today")
	w.Days, _ = table.integer("days", 1, 3660)
	if zone, ok := table.text("zone"); ok {
		location, err := time.LoadLocation(zone)
		if err != nil || zone == "Local" {
			table.fault("zone", `%s is no time zone like "Europe/Paris"`, quote(zone))
		}
		w.Zone = location
	}
	return w
}

func (s section) where() []Condition {
	table, ok := s.child("where", s.at("where"))
	if !ok {
		return nil
	}
	var list []Condition
	for _, column := range table.node.keys {
		line := table.node.table[column].line
		c := Condition{Place: Place{File: s.r.file, Line: line}, Column: column}
		s.r.matches(word{text: column, line: line}, table.at(column), sqlName)
		c.Is, _ = table.template(column, SpaceArgs, SpaceSession)
		list = append(list, c)
	}
	return list
}

// rules reads [[tools.X.rules]].
func (s section) rules() []Rule {
	return readRules(s, section.rule, func(r Rule) (string, int) { return r.Name, r.Line })
}

// readRules reads the tables at rules, each with a name of its own.
func readRules[R any](s section, read func(section) R, called func(R) (name string, line int)) (list []R) {
	n := s.node.table["rules"]
	if n == nil {
		return nil
	}
	if !n.isList {
		s.fault("rules", "found %s, expected tables [[%s.rules]]", found(n), strings.Trim(s.path, "[]"))
		return nil
	}
	if len(n.list) > maxRules {
		s.fault("rules", "%d rules, at most %d", len(n.list), maxRules)
	}
	lines := map[string]int{}
	for _, item := range s.tables("rules", "a table with name and require") {
		r := read(item)
		name, line := called(r)
		if first, twice := lines[name]; twice && name != "" {
			s.r.report(line, "%s: the name %s stands in line %d too", s.at("rules"), quote(name), first)
		} else {
			lines[name] = line
		}
		list = append(list, r)
	}
	return list
}

func (s section) rule() Rule {
	s.known([]string{"name", "require", "words", "reason", "examples"})
	r := Rule{Place: s.place(), lines: s.lines()}
	s.require("name", `name = "still_refundable"`)
	if name, ok := s.name("name", plainName); ok {
		r.Name = name
		s.path += "." + name
	}
	s.require("require", `require = "args.amount <= values.refund_limit"`)
	r.Require, _ = s.lengthy("require", maxRequire)
	r.Words, _ = s.template("words", SpaceArgs, SpaceFacts)
	r.Reason, _ = s.template("reason", SpaceArgs, SpaceFacts, SpaceSession, SpaceValues)
	s.require("examples", `examples = [{ expect = "allow", args = '{"x":1}' }, { expect = "refuse", args = '{"x":2}' }]`)
	r.Examples = readExamples(s, "{ expect, args }", section.example, func(e Example) string { return e.Expect })
	return r
}

// readExamples reads the tables at examples, some that are allowed and some that
// are refused.
func readExamples[E any](s section, members string, read func(section) E, expects func(E) string) (list []E) {
	n := s.node.table["examples"]
	if n == nil {
		return nil
	}
	if !n.isList || len(n.list) > maxExamples {
		s.fault("examples", "found %s, expected an array of at most %d %s", found(n), maxExamples, members)
		return nil
	}
	before := len(s.r.faults)
	for _, item := range s.tables("examples", members) {
		list = append(list, read(item))
	}
	if len(s.r.faults) > before {
		return list // what one was to expect nobody knows
	}
	for _, expect := range []string{"allow", "refuse"} {
		if !slices.ContainsFunc(list, func(e E) bool { return expects(e) == expect }) {
			s.fault("examples", "none has expect = %q; a rule shows what it allows and what it refuses", expect)
		}
	}
	return list
}

func (s section) example() Example {
	s.known([]string{"expect", "args", "session", "facts", "now"})
	e := Example{Place: s.place(), Expect: s.expect()}
	s.require("args", `args = '{"order_id":"LK-702219"}'`)
	e.Args, _ = s.lengthy("args", maxRequire)
	e.Session = s.exampleSession()
	if facts, ok := s.child("facts", s.at("facts")); ok {
		e.Facts = facts.plain()
	}
	e.Now, _ = s.text("now")
	return e
}

// expect reads what an example is to give.
func (s section) expect() string {
	s.require("expect", `expect = "allow"`)
	expect, ok := s.text("expect")
	if known := []string{"allow", "refuse", "error"}; ok && !slices.Contains(known, expect) {
		s.fault("expect", "%s is not one of %s%s", quote(expect), strings.Join(known, ", "), nearest.DidYouMean(expect, known))
	}
	return expect
}

// exampleSession reads who asks in an example.
func (s section) exampleSession() map[string]string {
	values := map[string]string{}
	if session, ok := s.child("session", s.at("session")); ok {
		for _, name := range session.node.keys {
			session.namesSession(name, Ref{Space: SpaceSession, Name: name})
			values[name] = session.sessionValue(name)
		}
	}
	return values
}

// plain gives the section's values as they stand in the file. A float is a
// fault: it would be a binary one.
func (s section) plain() map[string]any {
	out := map[string]any{}
	for _, key := range s.node.keys {
		n := s.node.table[key]
		switch value := n.scalar.(type) {
		case string, int64, bool:
			out[key] = value
		default:
			if n.table != nil {
				inner, _ := s.child(key, s.at(key))
				out[key] = inner.plain()
				continue
			}
			s.fault(key, "found %s, expected a string, an integer, a boolean or a table; write a decimal in a string", found(n))
		}
	}
	return out
}
