package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/strictjson"
)

// The names of the values that are sealed of a call; docs/audit.md has them all.
const (
	valueSession   = "session"
	valueTool      = "tool"
	valueArguments = "arguments"
	valueProposal  = "proposal"
	valueFacts     = "facts"
	valueDetails   = "details"
	valueAnswers   = "answers"
	valueReason    = "reason"
	valueField     = "field"
	valueRequests  = "requests"
	valueResult    = "result"
)

// proposed is what is sealed of who asked for what. The subject is sealed apart
// from it, under a key of its own.
func proposed(r *Record) []audit.Value {
	out := []audit.Value{sessionValue(r), audit.TextValue(valueTool, r.Tool)}
	if r.Facts != nil {
		out = append(out, audit.Value{Name: valueFacts, JSON: r.Facts, Strict: true})
	}
	if r.Arguments.Kind() == strictjson.Object {
		return append(out, audit.Value{Name: valueArguments, JSON: r.Arguments.AppendJSON(nil), Strict: true})
	}
	return append(out, audit.TextValue(valueProposal, r.Proposal))
}

// sessionValue is who asked, but for the subject.
func sessionValue(r *Record) audit.Value {
	s := r.Session
	b := []byte(`{`)
	for _, field := range []struct{ name, value string }{{"id", s.ID}, {"role", s.Role}, {"tenant", s.Tenant}} {
		if field.value != "" && (field.name != "id" || s.ID != r.CallID) {
			b = appendMember(b, field.name, field.value)
		}
	}
	if len(s.Attributes) > 0 {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, `"attributes":{`...)
		for i, name := range slices.Sorted(maps.Keys(s.Attributes)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = strictjson.AppendString(b, name)
			b = append(b, ':')
			b = strictjson.AppendString(b, s.Attributes[name])
		}
		b = append(b, '}')
	}
	return audit.Value{Name: valueSession, JSON: append(b, '}'), Strict: true}
}

// appendMember adds a member to an object that is not closed yet.
func appendMember(b []byte, name, value string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = strictjson.AppendString(b, name)
	b = append(b, ':')
	return strictjson.AppendString(b, value)
}

// answered is what is sealed of how a call ended.
func (a *auditRecorder) answered(r *Record) []audit.Value {
	b := []byte(`{`)
	for _, answer := range r.Answers {
		if answer.Text != "" {
			b = appendMember(b, answer.Gate.String(), answer.Text)
		}
	}
	out := []audit.Value{{Name: valueAnswers, JSON: append(b, '}'), Strict: true}}
	if details := detailsJSON(r.Answers); details != nil {
		out = append(out, audit.Value{Name: valueDetails, JSON: details, Strict: true})
	}
	if r.Reason != "" {
		out = append(out, audit.TextValue(valueReason, r.Reason))
	}
	if r.Field != "" {
		out = append(out, audit.TextValue(valueField, r.Field))
	}
	if asked := requests(r.Uses); asked != nil {
		out = append(out, audit.Value{Name: valueRequests, JSON: asked, Strict: true})
	}
	if len(r.Result) > 0 {
		out = append(out, audit.Value{Name: valueResult, JSON: r.Result, Strict: true})
	}
	return out
}

// maxDetails is how many details of a call are sealed, the clauses of rules among them.
const maxDetails = 200

// detailsJSON are the clauses that the gates looked at, but for what may be
// another's; nil: there are none.
func detailsJSON(answers []Answer) []byte {
	b, n, more := []byte(`[`), 0, 0
	for _, a := range answers {
		for _, d := range a.Details {
			if d.others {
				continue
			}
			if n+1+len(d.Clauses) > maxDetails {
				more++
				continue
			}
			if n > 0 {
				b = append(b, ',')
			}
			n += 1 + len(d.Clauses)
			b = appendMember(append(b, '{'), "gate", a.Gate.String())
			b = appendMember(b, "verdict", string(d.Verdict))
			b = appendMember(b, "text", d.Text)
			b = append(appendClauses(appendMember(b, "place", plainPlace(d.Place)), d.Clauses), '}')
		}
	}
	switch {
	case n == 0:
		return nil
	case more > 0:
		b = fmt.Appendf(b, `,{"more":%d}`, more)
	}
	return append(b, ']')
}

// appendClauses adds the clauses of a rule to an object that is not closed yet.
func appendClauses(b []byte, clauses []Clause) []byte {
	for i, c := range clauses {
		if i == 0 {
			b = append(b, `,"clauses":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(appendMember(appendMember(append(b, '{'), "is", c.Is), "text", c.Text), '}')
	}
	if len(clauses) > 0 {
		b = append(b, ']')
	}
	return b
}

// maxRequests is how many requests of a guest are sealed one by one; the log
// counts them all.
const maxRequests = 500

// requests are those of the guest that it did not get, and those that name a
// file or URL, in its words. Where there are too many, those that it did not
// get and those that left the host go before the others.
func requests(all []Use) []byte {
	weighty := func(u Use) bool { return u.Reason != "" || strings.HasPrefix(u.Function, "fetch.") }
	kept, more := []Use{}, 0
	room := maxRequests
	for _, u := range all {
		if weighty(u) {
			room--
		}
	}
	weight := maxRequests
	for _, u := range all {
		switch {
		case u.Reason == "" && u.Asked == "":
		case weighty(u) && weight > 0:
			weight--
			kept = append(kept, u)
		case !weighty(u) && room > 0:
			room--
			kept = append(kept, u)
		default:
			more++
		}
	}
	if len(kept) == 0 {
		return nil
	}
	b := []byte(`[`)
	for i, u := range kept {
		if i > 0 {
			b = append(b, ',')
		}
		b = u.appendJSON(b)
	}
	if more > 0 {
		b = fmt.Appendf(b, `,{"more":%d}`, more)
	}
	return append(b, ']')
}

// appendJSON leaves out what is empty.
func (u Use) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for _, field := range []struct{ name, value string }{
		{"capability", u.Capability}, {"function", u.Function}, {"status", u.Status}, {"asked", u.Asked}, {"got", u.Got}, {"reason", u.Reason},
	} {
		if field.value != "" {
			b = appendMember(b, field.name, field.value)
		}
	}
	return append(b, '}')
}
