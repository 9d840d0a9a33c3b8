package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
)

// outboxGrant is a grant of the kind "outbox": the row, and where it goes, are the
// config's and the host's to make (I19).
type outboxGrant struct {
	name   string // of the capability
	table  string // database and table, as they are shown
	place  string // digest of where a row is found: the database's address, the table, the key
	config *config.Outbox
	outbox *capabilities.Outbox
	by     *fetchGrant  // of a delivery to a webhook; nil: another, or none
	mail   *config.Mail // of a delivery by mail
	smtp   *capabilities.SMTP
	url    capabilities.URLTemplate // of a webhook
}

// newOutboxGrant joins an outbox with what delivers its rows.
func (l *loader) newOutboxGrant(c *config.Capability) *outboxGrant {
	o := c.Outbox
	g := &outboxGrant{name: c.Name, table: o.Database + "." + o.Table, config: o, outbox: l.outboxes[c.Name]}
	g.place = digestOf(canonical([]string{l.host.databaseShown(o.Database), o.Table, o.Key}))
	if o.Deliver == nil {
		return g
	}
	if by := l.capability(o.Deliver.Fetch); by != nil && by.Fetch != nil {
		g.by = l.newFetchGrant(by)
		g.url, _ = capabilities.ParseURLTemplate(o.Deliver.URL.String()) // holdDelivery tells why not
	}
	for i := range l.host.config.Mails {
		if m := &l.host.config.Mails[i]; m.Name == o.Deliver.Mail {
			g.mail, g.smtp = m, l.smtp[m.Name]
		}
	}
	return g
}

func (g *outboxGrant) reach(context.Context, *asked, int) (capabilities.Reach, string, error) {
	return g.outbox.Reach(), "one row of " + g.table + ", once a person has agreed", nil
}

func (g *outboxGrant) sentences(string) []string {
	var cells []string
	for _, c := range g.config.Row {
		cells = append(cells, c.Column+" = "+shownValue(c.Is))
	}
	s := "one row of " + g.table + " for each approval: " + strings.Join(cells, ", ")
	if d := g.config.Deliver; d != nil {
		s += "; delivered by " + g.how()
	}
	return []string{s}
}

// how says where a row is delivered, as the config has it.
func (g *outboxGrant) how() string {
	d := g.config.Deliver
	if d.Mail != "" {
		server := d.Mail
		if g.mail != nil {
			server = g.mail.Shown
		}
		return fmt.Sprintf("mail over %s, from %s to %s", server, d.From, shownValue(d.To))
	}
	return fmt.Sprintf("%s %s", d.Method, d.URL)
}

func (g *outboxGrant) resolve(h *Host, r *resolvedGrant) {
	o := &resolvedOutbox{Database: h.databaseShown(g.config.Database), Key: g.config.Key, Table: g.config.Table, Types: map[string]resolvedColumn{}}
	for _, c := range g.config.Row {
		o.Row = append(o.Row, resolvedClause{Column: c.Column, Is: c.Is.String()})
	}
	for name, kind := range g.config.Types {
		o.Types[name] = resolvedColumn{Name: kind.Name, Places: kind.Places}
	}
	if d := g.config.Deliver; d != nil {
		o.Deliver = &resolvedDeliver{
			Fetch: d.Fetch, From: d.From, Mail: d.Mail, Method: d.Method, Subject: d.Subject.String(), Text: d.Text.String(), To: d.To.String(), Tries: d.Tries, URL: d.URL.String(),
		}
		for _, c := range d.Body {
			o.Deliver.Body = append(o.Deliver.Body, resolvedClause{Column: c.Column, Is: c.Is.String()})
		}
		if g.by != nil {
			var by resolvedGrant
			g.by.resolve(h, &by)
			o.Deliver.Allow = by.Fetch
		}
		if m := g.mail; m != nil {
			o.Deliver.Server = resolvedServer{Address: m.Hash, Security: m.Security, Shown: m.Shown, User: m.User}
		}
	}
	r.Outbox = o
}

// A sending is a row on its way, as it leaves or as it is shown before.
type sending struct {
	method, url string
	body        []byte // JSON; nil: none
	to, from    string
	subject     string
	text        string
}

// sending renders a delivery of a row. The error says which value cannot stand
// where it is to.
func (g *outboxGrant) sending(value func(column string) strictjson.Value) (s sending, err error) {
	d := g.config.Deliver
	text := func(t config.Template) string {
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
	if d.Mail != "" {
		s.from, s.to, s.subject, s.text = d.From, text(d.To), text(d.Subject), text(d.Text)
		return s, capabilities.CheckMail(capabilities.Mail{ID: "x", Date: time.Unix(1, 0), From: s.from, To: s.to, Subject: s.subject, Text: s.text})
	}
	s.method = d.Method
	if s.url, err = g.at(value); err != nil {
		return s, err
	}
	if d.Body == nil {
		return s, nil
	}
	s.body = []byte(`{`)
	for _, c := range d.Body {
		v := value(refColumn(c.Is))
		if refColumn(c.Is) == "" {
			v = strictjson.Text(text(c.Is))
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
	return s, nil
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
func (g *outboxGrant) at(value func(column string) strictjson.Value) (string, error) {
	return g.url.Render(func(name string) (string, bool) {
		return value(strings.TrimPrefix(name, string(config.SpaceRow)+".")).Text()
	})
}

// preview is the delivery as it is shown before it is approved (I16), and refuses one
// that could not leave: of this session, or with these values. nil: there is none.
func (g *outboxGrant) preview(s Session, value func(column string) strictjson.Value) ([]byte, error) {
	if g.config.Deliver == nil {
		return nil, nil
	}
	// What the approval gives is not there yet, and stands for it here.
	out, err := g.sending(func(column string) strictjson.Value { return placeholderFor(g.config.Row, column, value) })
	if err != nil {
		return nil, err
	}
	if g.config.Deliver.Mail != "" {
		b := strictjson.AppendString([]byte(`{"mail":`), g.mail.Shown)
		b = strictjson.AppendString(append(b, `,"from":`...), out.from)
		b = strictjson.AppendString(append(b, `,"to":`...), out.to)
		b = strictjson.AppendString(append(b, `,"subject":`...), out.subject)
		return append(strictjson.AppendString(append(b, `,"text":`...), out.text), '}'), nil
	}
	headers, err := g.admits(s, out)
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

// placeholderFor gives a column's value; of one that the approval gives a plain
// word, as an id is one.
func placeholderFor(row []config.Cell, column string, value func(column string) strictjson.Value) strictjson.Value {
	for _, c := range row {
		if c.Column != column {
			continue
		}
		if name := c.Given(); name != "" {
			return strictjson.Text("approval." + name)
		}
	}
	return value(column)
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
