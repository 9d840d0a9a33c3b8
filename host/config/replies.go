package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/nearest"
)

// Reply is what the final answer of some roles' loops must be. A role has at
// most one form: neither a model nor a flag chooses which one its answer meets.
type Reply struct {
	Place
	Name        string
	Roles       []string
	Schema      string // the JSON Schema's file, absolute and cleaned
	ReplyChars  int    // Unicode code points of an answer
	TicketChars int    // of the text that a loop is about
	Rules       []ReplyRule

	lines keyLines
}

// At is Database.At for a reply.
func (r Reply) At(key string) Place { return r.lines.at(r.Place, key) }

// ReplyRule is one condition that must be true of a final answer. Its name is
// the code of the rejection.
type ReplyRule struct {
	Place
	Name     string
	Require  string   // CEL; the host compiles it
	Words    Template // for the model: literal text and members of the answer; zero: the host's own
	Reason   Template // for the record, session values too; zero: what of it is false
	Examples []ReplyExample

	lines keyLines
}

// At is Database.At for a rule.
func (r ReplyRule) At(key string) Place { return r.lines.at(r.Place, key) }

// ReplyExample is a decision that a rule must give.
type ReplyExample struct {
	Place
	Expect  string // allow, refuse or error
	Reply   string // JSON
	Ticket  string // empty: nothing stands in it
	Results string // JSON: {"get_order": [a result, ...]}; empty: no call returned anything
	Session map[string]string
}

const (
	defaultReplyChars  = 4000
	defaultTicketChars = 8000
	maxReplyChars      = 100_000
)

// replies reads [replies.X].
func (s section) replies() []Reply {
	var list []Reply
	for _, table := range s.each("replies") {
		list = append(list, table.reply())
	}
	owner := map[string]string{}
	for _, r := range list {
		for _, role := range r.Roles {
			if other, twice := owner[role]; twice {
				s.r.report(r.At("roles").Line, "[replies.%s] roles: %s has the form %s already; a role has one", showKey(r.Name), quote(role), other)
			}
			owner[role] = r.Name
		}
	}
	return list
}

func (s section) reply() Reply {
	s.known([]string{"roles", "schema", "reply_chars", "ticket_chars", "rules"})
	r := Reply{Place: s.place(), Name: s.itemName(), lines: s.lines(), ReplyChars: defaultReplyChars, TicketChars: defaultTicketChars}
	s.require("roles", `roles = ["customer"], whose loops end with it`)
	r.Roles = s.names("roles", roleName)
	r.Schema = s.schema()
	if n, ok := s.integer("reply_chars", 1, maxReplyChars); ok {
		r.ReplyChars = n
	}
	if n, ok := s.integer("ticket_chars", 1, maxReplyChars); ok {
		r.TicketChars = n
	}
	r.Rules = s.replyRules()
	return r
}

// schema reads the file of a JSON Schema, as plugin does a folder.
func (s section) schema() string {
	s.require("schema", `schema = "replies/ticket.json"`)
	t, ok := s.template("schema")
	if !ok {
		return ""
	}
	file, _ := t.Literal()
	if filepath.IsAbs(file) || strings.HasPrefix(file, "/") || strings.Contains(file, `\`) {
		s.fault("schema", "%s is no file relative to this one, with / between folders", quote(file))
		return ""
	}
	return s.r.path(file)
}

// replyRules reads [[replies.X.rules]].
func (s section) replyRules() []ReplyRule {
	return readRules(s, section.replyRule, func(r ReplyRule) (string, int) { return r.Name, r.Line })
}

func (s section) replyRule() ReplyRule {
	s.known([]string{"name", "require", "words", "reason", "examples"})
	r := ReplyRule{Place: s.place(), lines: s.lines()}
	s.require("name", `name = "order_not_in_ticket"`)
	if name, ok := s.name("name", clauseCode); ok {
		r.Name = name
		if slices.Contains(s.r.reserved, name) {
			s.fault("name", "%s is a code of the host's own; the name is the code of the rejection", quote(name))
		}
		s.path += "." + name
	}
	s.require("require", `require = "ticket.containsWord(reply.order.order_id)"`)
	r.Require, _ = s.lengthy("require", maxRequire)
	r.Words, _ = s.template("words", SpaceReply)
	r.Reason, _ = s.template("reason", SpaceReply, SpaceSession)
	s.require("examples", `examples = [{ expect = "allow", reply = '{"x":1}' }, { expect = "refuse", reply = '{"x":2}' }]`)
	r.Examples = readExamples(s, "{ expect, reply }", section.replyExample, func(e ReplyExample) string { return e.Expect })
	return r
}

func (s section) replyExample() ReplyExample {
	s.known([]string{"expect", "reply", "ticket", "results", "session"})
	e := ReplyExample{Place: s.place(), Expect: s.expect()}
	s.require("reply", `reply = '{"order":null}'`)
	e.Reply, _ = s.lengthy("reply", maxRequire)
	e.Ticket, _ = s.lengthy("ticket", maxRequire)
	e.Results, _ = s.lengthy("results", maxRequire)
	e.Session = s.exampleSession()
	return e
}

// repliesHaveCallers reports a role that may call no tool: most often it is
// misspelt, and answers would go out unchecked.
func (r *reader) repliesHaveCallers(replies []Reply, tools []Tool) {
	if r.badCallers {
		return
	}
	var known []string
	for _, t := range tools {
		known = append(known, t.Callers...)
	}
	for _, reply := range replies {
		for _, role := range reply.Roles {
			if !slices.Contains(known, role) {
				r.report(reply.At("roles").Line, "[replies.%s] roles: %s may call no tool, so that no loop of it ends%s", reply.Name, quote(role), nearest.DidYouMean(role, known))
			}
		}
	}
}
