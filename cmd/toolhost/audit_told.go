package main

import (
	"cmp"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/strictjson"
)

// toldCall is a call as its entries and what is sealed of them tell it.
type toldCall struct {
	start, end *audit.Entry   // start is nil where no guest was to start
	words      []audit.Record // what was decided of the write that it proposed
	values     map[string]strictjson.Value
	gone       audit.Gone
	tool       string
	who        string
}

// tellCall gathers what is known of the call of one of its entries.
func tellCall(r *audit.Reader, rec audit.Record) toldCall {
	told := toldCall{values: map[string]strictjson.Value{}}
	told.take(rec)
	if rec.Entry.Kind == audit.Ended && rec.Entry.Call.Ran {
		_ = r.Find(audit.Filter{Call: rec.Entry.Call.ID, Kinds: []audit.Kind{audit.Started}, After: -1}, func(start audit.Record) error {
			told.take(start)
			return nil
		}) // without its start the call is told from its end
	}
	told.name()
	return told
}

func (t *toldCall) take(rec audit.Record) {
	switch rec.Entry.Kind {
	case audit.Started:
		t.start = rec.Entry
	case audit.Decided:
		t.words = append(t.words, rec)
		if t.start != nil || t.end != nil {
			return // of the call itself, which is told
		}
	default:
		t.end = rec.Entry
	}
	if t.gone == "" {
		t.gone = rec.Gone
	}
	for _, v := range rec.Values {
		value, err := strictjson.Read(v.JSON, strictjson.Default(len(v.JSON)))
		if err == nil {
			t.values[v.Name] = value
		}
	}
}

// replied tells whether it was the check of a final answer.
func (t *toldCall) replied() bool { return t.end != nil && t.end.Kind == audit.Replied }

// call is what the entries say of the call, the end's word last.
func (t *toldCall) call() *audit.Call {
	switch {
	case t.end != nil:
		return t.end.Call
	case t.start != nil:
		return t.start.Call
	}
	return t.words[0].Entry.Call
}

// howEnded is the outcome of a call that has ended, as call prints it.
func howEnded(c *audit.Call) string {
	if c.Code == "" {
		return c.Outcome
	}
	return c.Outcome + ": " + c.Code + " (" + c.Gate + ")"
}

func (t *toldCall) text(name string) string {
	s, _ := t.values[name].Text()
	return s
}

// name says which tool and who asked, as far as that can be read.
func (t *toldCall) name() {
	c := t.call()
	t.tool = cmp.Or(c.Tool, t.text("tool"))
	if t.replied() {
		t.tool = strings.TrimSpace("reply " + c.Reply)
	}
	if t.tool == "" {
		t.tool = "(" + string(t.gone) + ")"
	}
	session, ok := t.values["session"]
	if t.start == nil && t.end == nil { // of who decided nothing else is told
		t.who = "(host)"
		if host.ByPerson(c.Approval.Word) {
			t.who = cmp.Or(t.text("subject"), "("+string(t.gone)+")")
		}
		return
	}
	if !ok {
		t.who = strings.TrimSpace(c.Who.Role + " " + c.Who.Person + " (" + string(t.gone) + ")")
		return
	}
	s := host.Session{Subject: t.text("subject"), Attributes: map[string]string{}}
	s.ID, _ = session.TextAt("id")
	s.Role, _ = session.TextAt("role")
	s.Tenant, _ = session.TextAt("tenant")
	attributes, _ := session.Get("attributes")
	for name := range attributes.Members() {
		s.Attributes[name], _ = attributes.TextAt(name)
	}
	t.who = whoAsks(s)
}
