package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What leaves of a row: as it is shown before it is approved, and as it is sent.

// A sending is a row on its way, as it leaves or as it is shown before.
type sending struct {
	method, url string
	body        []byte // JSON; nil: none
	to, from    string
	subject     string
	text        string
}

// where says where it goes.
func (s sending) where() string {
	if s.method == "" {
		return "mail to " + s.to
	}
	return s.method + " " + s.url
}

// sending renders a delivery of a row as it leaves. The error says which value
// cannot stand where it is to.
func (g *outboxGrant) sending(value rowValues) (sending, error) {
	s := g.render(value)
	if g.config.Deliver.Mail != "" {
		return s, capabilities.CheckMail(capabilities.Mail{ID: "x", Date: time.Unix(1, 0), From: s.from, To: s.to, Subject: s.subject, Text: s.text})
	}
	var err error
	s.url, err = g.at(value)
	return s, err
}

// rowValues gives the value of a column of a row.
type rowValues func(column string) strictjson.Value

// text renders a text with values of the row; NULL is nothing.
func (value rowValues) text(t config.Template) string {
	out, _ := t.Render(func(ref config.Ref) (string, bool) {
		v := value(ref.Name)
		if s, scalar := v.Text(); scalar {
			return s, true
		}
		if v.Kind() == strictjson.Nothing || v.Kind() == strictjson.Null {
			return "", true
		}
		return string(v.AppendJSON(nil)), true
	})
	return out
}

// render puts values where they stand, whatever they are.
func (g *outboxGrant) render(value rowValues) (s sending) {
	d := g.config.Deliver
	if d.Mail != "" {
		s.from, s.to, s.subject, s.text = d.From, value.text(d.To), value.text(d.Subject), value.text(d.Text)
		return s
	}
	s.method, s.url = d.Method, value.text(d.URL)
	if d.Body == nil {
		return s
	}
	s.body = []byte(`{`)
	for _, c := range d.Body {
		v := value(refColumn(c.Is))
		if refColumn(c.Is) == "" {
			v = strictjson.Text(value.text(c.Is))
		}
		if v.Kind() == strictjson.Nothing || v.Kind() == strictjson.Null {
			continue // an optional argument that was left out
		}
		if len(s.body) > 1 {
			s.body = append(s.body, ',')
		}
		s.body = v.AppendJSON(append(strictjson.AppendString(s.body, c.Column), ':'))
	}
	s.body = append(s.body, '}')
	return s
}

// refColumn is the x of a template that is {row.x} and nothing else, whose value
// then keeps its type.
func refColumn(t config.Template) string {
	refs := t.Refs()
	if len(refs) == 1 && t.String() == refs[0].String() {
		return refs[0].Name
	}
	return ""
}

// at puts the row's values into the URL: each is one plain segment of its path
// and can be nothing else.
func (g *outboxGrant) at(value rowValues) (string, error) {
	return g.url.Render(func(name string) (string, bool) {
		return value(strings.TrimPrefix(name, string(config.SpaceRow)+".")).Text()
	})
}

// preview is the delivery as it is shown before it is approved, and refuses one
// that could not leave: of this session, or with these values. What the approval
// gives stands in it as the config has it, {approval.id}, and no value of the row
// may look so. nil: there is none.
func (g *outboxGrant) preview(s Session, value rowValues) ([]byte, error) {
	if g.config.Deliver == nil {
		return nil, nil
	}
	if err := g.looksGiven(value); err != nil {
		return nil, err
	}
	tried, err := g.sending(g.with(value, tryGiven))
	if err != nil {
		return nil, err
	}
	out := g.render(g.with(value, func(name string) string { return config.Ref{Space: config.SpaceApproval, Name: name}.String() }))
	if g.config.Deliver.Mail != "" {
		b := strictjson.AppendString([]byte(`{"mail":`), g.mail.Shown)
		b = strictjson.AppendString(append(b, `,"from":`...), out.from)
		b = strictjson.AppendString(append(b, `,"to":`...), out.to)
		b = strictjson.AppendString(append(b, `,"subject":`...), out.subject)
		return append(strictjson.AppendString(append(b, `,"text":`...), out.text), '}'), nil
	}
	headers, err := g.admits(s, tried)
	if err != nil {
		return nil, err
	}
	b := strictjson.AppendString([]byte(`{"method":`), out.method)
	b = strictjson.AppendString(append(b, `,"url":`...), out.url)
	if len(headers) > len(`{}`) {
		b = append(append(b, `,"headers":`...), headers...)
	}
	if out.body != nil {
		b = append(append(b, `,"body":`...), out.body...)
	}
	return append(b, '}'), nil
}

// with has what the approval gives in its columns.
func (g *outboxGrant) with(value rowValues, given func(name string) string) rowValues {
	return func(column string) strictjson.Value {
		if name := g.given(column); name != "" {
			return strictjson.Text(given(name))
		}
		return value(column)
	}
}

// given is what of the approval fills a column; "": nothing.
func (g *outboxGrant) given(column string) string {
	for _, c := range g.config.Row {
		if c.Column == column {
			return c.Given()
		}
	}
	return ""
}

// tryGiven is what an approval could give.
func tryGiven(name string) string {
	switch name {
	case "id":
		return strings.Repeat("A", approvalIDChars)
	case "approver":
		return "usr-1"
	default: // time
		return time.Unix(1, 0).UTC().Format(time.RFC3339)
	}
}

// looksGiven refuses a value that would look, where it is shown, like what the
// approval gives.
func (g *outboxGrant) looksGiven(value rowValues) error {
	if !slices.ContainsFunc(g.config.Deliver.Refs(), func(r config.Ref) bool { return g.given(r.Name) != "" }) {
		return nil
	}
	for _, c := range g.config.Row {
		if c.Given() == "" && strings.Contains(string(value(c.Column).AppendJSON(nil)), "{"+string(config.SpaceApproval)+".") {
			return fmt.Errorf("row.%s holds {approval., which stands for what the approval gives", c.Column)
		}
	}
	return nil
}

// admits holds a delivery against the fetch capability that it goes over, for
// this session, and gives the headers of the allow entry as a JSON object:
// credentials by the names of their variables.
func (g *outboxGrant) admits(s Session, out sending) (headers []byte, err error) {
	if g.by == nil {
		return nil, errors.New("nothing delivers it")
	}
	entry, err := g.by.fetch.Reach(g.by.secrets(s), nil).AdmitDelivery(out.method, out.url)
	if err != nil {
		return nil, err
	}
	headers = []byte{'{'}
	for i, h := range g.by.config.Allow[entry].Headers {
		if i > 0 {
			headers = append(headers, ',')
		}
		value, _ := h.Value.Shown(s.value)
		headers = strictjson.AppendString(append(strictjson.AppendString(headers, h.Name), ':'), value)
	}
	return append(headers, '}'), nil
}
