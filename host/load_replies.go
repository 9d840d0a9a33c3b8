package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/contract"
	"github.com/toolhost/toolhost/host/nearest"
	"github.com/toolhost/toolhost/host/rules"
	"github.com/toolhost/toolhost/host/strictjson"
)

// readSchemas reads the schema of each form.
func (l *loader) readSchemas() {
	for _, cr := range l.host.config.Replies {
		f := &replyForm{Reply: cr, schemaFile: l.shown(cr.Schema)}
		l.host.replies = append(l.host.replies, f)
		if cr.Schema == "" {
			continue // the config has said so
		}
		var faults []contract.Fault
		f.schema, faults = contract.LoadSchema(cr.Schema, f.schemaFile)
		for _, fault := range faults {
			l.faults = append(l.faults, config.Fault{Text: fault.Error()})
		}
	}
}

// readReplies reads the forms whole: schema, types, rules and their examples.
func (l *loader) readReplies() {
	l.readSchemas()
	for _, f := range l.host.replies {
		if f.schema != nil {
			l.readReplyRules(f)
			f.policy = f.resolve(l.host)
		}
	}
}

func (l *loader) readReplyRules(f *replyForm) {
	before := len(l.faults)
	results, complete := l.resultTypes(f)
	if !complete {
		return // a contract has faults of its own, which were told
	}
	f.types = map[string]rules.Type{
		"reply":   rules.FromSchema("reply", f.schema.JSON),
		"ticket":  {Kind: rules.Text, Most: f.TicketChars},
		"results": results,
		"session": l.sessionType(),
	}
	compile := l.compiler(f.types, f.At("rules"), "[replies."+f.Name+"]")
	if compile == nil {
		return
	}
	for _, r := range f.Rules {
		f.rules = append(f.rules, replyRule{ReplyRule: r, compiled: compile.rule(r.Name, r.Require, r.At("require"))})
		l.replyPlaceholders(f, r)
	}
	compile.bound("form")
	if len(l.faults) == before {
		l.runReplyExamples(f)
	}
}

// resultTypes has a list for each read tool that a role of the form may call. A
// tool that writes returns nothing within a loop: its calls wait for a person.
func (l *loader) resultTypes(f *replyForm) (rules.Type, bool) {
	all := rules.Type{Kind: rules.Object, Name: "results"}
	for _, ct := range l.host.config.Tools {
		t := l.host.tools[ct.Name]
		if ct.Effect == effectWrite || !shareRole(ct.Callers, f.Roles) {
			continue
		}
		if t.contract == nil {
			return all, false
		}
		item := rules.FromSchema("results."+ct.Name, t.contract.Output)
		list := rules.Type{Kind: rules.List, Most: maxReturned, Item: &item}
		switch {
		case t.contract.SecretResult():
			list = rules.Type{Why: "holds what its contract marks x-secret, which is not kept"}
		case item.Kind == rules.Unusable:
			list = item
		}
		all.Fields = append(all.Fields, rules.Field{Name: ct.Name, Type: list})
	}
	return all, true
}

func shareRole(a, b []string) bool {
	for _, role := range a {
		for _, other := range b {
			if role == other {
				return true
			}
		}
	}
	return false
}

// replyPlaceholders holds what a rule's texts name against the types.
func (l *loader) replyPlaceholders(f *replyForm, r config.ReplyRule) {
	for _, text := range []struct {
		key string
		of  config.Template
	}{{"words", r.Words}, {"reason", r.Reason}} {
		for _, ref := range text.of.Refs() {
			of, ok := f.types[string(ref.Space)], true
			for name := range strings.SplitSeq(ref.Name, ".") {
				names := of.Names()
				if of, ok = of.Field(name); !ok {
					l.fault(r.At(text.key), "[replies.%s] rules.%s: %s: %s names no value%s", f.Name, r.Name, text.key, ref, nearest.DidYouMean(name, names))
					break
				}
			}
			if ok && (of.Kind == rules.Unusable || of.Kind == rules.Object || of.Kind == rules.List) {
				l.fault(r.At(text.key), "[replies.%s] rules.%s: %s: %s names no single value", f.Name, r.Name, text.key, ref)
			}
		}
	}
}

// runReplyExamples is runExamples for the rules of a form.
func (l *loader) runReplyExamples(f *replyForm) {
	for i := range f.rules {
		r := &f.rules[i]
		for _, e := range r.Examples {
			in, err := f.exampleInput(l.host, e)
			if err != nil {
				l.fault(e.Place, "[replies.%s] rules.%s: examples: %v", f.Name, r.Name, err)
				continue
			}
			got := "refuse"
			holds, err := r.compiled.Holds(in)
			switch {
			case err != nil:
				got = "error"
			case holds:
				got = "allow"
			}
			if got == e.Expect {
				continue
			}
			why := ""
			if err != nil {
				why = " (" + err.Error() + ")"
			} else {
				why = thatAre(r.compiled.Explain(in), strconv.FormatBool(holds))
			}
			l.fault(e.Place, "[replies.%s] rules.%s: examples: expected %s, the rule gives %s%s", f.Name, r.Name, e.Expect, got, why)
		}
	}
}

// exampleInput gives a rule's variables the values of an example: the answer
// must fit the schema, and each result its tool's contract.
func (f *replyForm) exampleInput(h *Host, e config.ReplyExample) (rules.Input, error) {
	value, err := f.read([]byte(e.Reply))
	if err != nil {
		return nil, fmt.Errorf("reply does not fit the schema: %w", err)
	}
	r := Reply{Ticket: e.Ticket}
	if e.Results != "" {
		if r.Results, err = f.exampleResults(e.Results); err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
	}
	return f.input(h, exampleSession(e.Session), r, value)
}

func (f *replyForm) exampleResults(text string) ([]Outcome, error) {
	v, err := strictjson.Read([]byte(text), strictjson.Default(len(text)*utf8.UTFMax))
	if err != nil {
		return nil, err
	}
	if v.Kind() != strictjson.Object {
		return nil, fmt.Errorf(`must be an object of lists, like {"get_order":[{...}]}`)
	}
	var out []Outcome
	for tool, list := range v.Members() {
		of, known := f.types["results"].Field(tool)
		if !known || of.Kind != rules.List || list.Kind() != strictjson.Array {
			return nil, fmt.Errorf("%q is no list of results that rules can read%s", tool, nearest.DidYouMean(tool, f.types["results"].Names()))
		}
		for i, item := range list.Items() {
			if item.Kind() != strictjson.Object {
				return nil, fmt.Errorf("%s: item %d is no object", tool, i)
			}
			envelope := []byte(`{"ok":true`)
			if item.Len() > 0 {
				envelope = item.AppendMembers(append(envelope, ','))
			}
			out = append(out, Outcome{State: OK, Tool: tool, Result: append(envelope, '}'), CallID: fmt.Sprintf("%d of the example", i)})
		}
	}
	return out, nil
}

type resolvedReply struct {
	Name        string            `json:"name"`
	ReplyChars  int               `json:"reply_chars"`
	Results     map[string]string `json:"results"` // contracts, by tool
	Roles       []string          `json:"roles"`
	Rules       []resolvedRule    `json:"rules"`
	Schema      string            `json:"schema"`
	TicketChars int               `json:"ticket_chars"`
}

// resolve gives the digests of all that decides about an answer.
func (f *replyForm) resolve(h *Host) Policy {
	r := resolvedReply{
		Name: f.Name, Roles: f.Roles, Schema: f.schema.Digest, ReplyChars: f.ReplyChars, TicketChars: f.TicketChars, Results: map[string]string{},
	}
	for _, tool := range f.types["results"].Names() {
		r.Results[tool] = h.tools[tool].contract.Digest
	}
	for _, rule := range f.Rules {
		r.Rules = append(r.Rules, resolvedRule{Name: rule.Name, Reason: rule.Reason.String(), Require: rule.Require, Words: rule.Words.String()})
	}
	sum := sha256.Sum256(canonical(r))
	return Policy{Contract: r.Schema, Resolved: "sha256:" + hex.EncodeToString(sum[:])}
}
