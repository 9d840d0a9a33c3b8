package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
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
	out := []string{"one row of " + g.table + " for each approval: " + strings.Join(cells, ", ")}
	if g.config.Deliver != nil {
		out = append(out, "then delivered by "+g.how())
	}
	return out
}

// how says where a row is delivered and what leaves, as the config has it.
func (g *outboxGrant) how() string {
	d := g.config.Deliver
	tries := ", tried " + count(d.Tries, "time") + " at most"
	if d.Mail != "" {
		server := d.Mail
		if g.mail != nil {
			server = g.mail.Shown
		}
		return fmt.Sprintf("mail over %s, from %s to %s, subject %s, text %s", server, d.From, shownValue(d.To), shownValue(d.Subject), shownValue(d.Text)) + tries
	}
	s := fmt.Sprintf("%s %s", d.Method, d.URL)
	if len(d.Body) > 0 {
		var members []string
		for _, c := range d.Body {
			members = append(members, c.Column+" = "+shownValue(c.Is))
		}
		s += " with " + strings.Join(members, ", ")
	}
	for _, a := range g.entries() {
		s += shownHeaders(a) + ", " + shownWhere(a)
	}
	return s + tries
}

// entries are those that could take the delivery: of its method, and over its URL.
func (g *outboxGrant) entries() (list []config.Allow) {
	if g.by == nil {
		return nil
	}
	url, err := g.url.Render(func(string) (string, bool) { return "x", true })
	if err != nil {
		return nil
	}
	entry, err := g.by.fetch.Reach(make([]capabilities.FetchSecrets, len(g.by.config.Allow)), nil).AdmitDelivery(g.config.Deliver.Method, url)
	if err != nil {
		return nil
	}
	return g.by.config.Allow[entry : entry+1]
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
