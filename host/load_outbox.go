package host

import (
	"context"
	"strings"
	"time"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/nearest"
	"github.com/toolhost/toolhost/host/rules"
)

func (l *loader) openOutbox(ctx context.Context, c *config.Capability) {
	o := c.Outbox
	if l.host.databases[o.Database] == nil {
		return // the database's fault is told already
	}
	oc := capabilities.OutboxConfig{Name: c.Name, Table: o.Table, Key: o.Key, Types: map[string]capabilities.ColumnType{}}
	for _, cell := range o.Row {
		oc.Columns = append(oc.Columns, cell.Column)
	}
	for name, t := range o.Types {
		oc.Types[name] = capabilities.ColumnType{Name: t.Name, Places: t.Places}
	}
	opened, faults := capabilities.OpenOutbox(ctx, l.host.databases[o.Database], oc)
	for _, f := range faults {
		l.fault(c.At(f.Key), "[capabilities.%s] %s: %s", c.Name, f.Key, f.Text)
	}
	if opened != nil {
		l.outboxes[c.Name] = opened
		l.host.closers = append(l.host.closers, opened)
	}
}

const mailTime = 30 * time.Second

func (l *loader) openMails() {
	for _, m := range l.host.config.Mails {
		opened, err := capabilities.OpenSMTP(capabilities.SMTPConfig{
			Name: m.Name, Address: m.Server, Security: m.Security, User: m.User, Password: m.Password, Time: mailTime,
		})
		if err != nil {
			l.fault(m.At("server"), "[mail.%s] %v", m.Name, err)
			continue
		}
		l.smtp[m.Name] = opened
	}
}

// holdDelivery holds a delivery against what it goes over.
func (l *loader) holdDelivery(c *config.Capability) {
	d := c.Outbox.Deliver
	switch {
	case d == nil:
		return
	case d.Mail != "" && d.From != "":
		if err := capabilities.CheckMail(capabilities.Mail{ID: "x", Date: time.Unix(1, 0), From: d.From, To: "x@example.org"}); err != nil {
			l.fault(d.At("from"), "[capabilities.%s] deliver.from: %q: %v", c.Name, d.From, err)
		}
		return
	case d.Fetch == "":
		return
	}
	by := l.capability(d.Fetch)
	if by == nil {
		return // the config has said so
	}
	if by.Fetch == nil {
		l.fault(d.At("fetch"), "[capabilities.%s] deliver.fetch: %q is of kind %s; a webhook goes over a fetch capability", c.Name, d.Fetch, by.Kind)
		return
	}
	if l.fetch[d.Fetch] == nil {
		return // its fault was told
	}
	// A value of the row is a plain segment; with one that is, an entry must cover it.
	template, err := capabilities.ParseURLTemplate(d.URL.String())
	tried := ""
	if err == nil {
		tried, err = template.Render(func(name string) (string, bool) {
			for _, cell := range c.Outbox.Row {
				if name == string(config.SpaceRow)+"."+cell.Column && cell.Given() != "" {
					return tryGiven(cell.Given()), true
				}
			}
			return "x", true
		})
	}
	if err != nil {
		l.fault(d.At("url"), "[capabilities.%s] deliver.url: %v", c.Name, err)
		return
	}
	reach := l.fetch[d.Fetch].Reach(make([]capabilities.FetchSecrets, len(by.Fetch.Allow)), nil)
	if _, err := reach.AdmitDelivery(d.Method, tried); err != nil {
		l.fault(d.At("url"), "[capabilities.%s] deliver.url: no entry of [capabilities.%s] takes %s %s: %v", c.Name, d.Fetch, d.Method, d.URL, err)
	}
}

// holdWrites holds a tool against its effect: one that reads has nothing that
// writes, and one that writes has one row to write, of what is known when it is
// written.
func (l *loader) holdWrites(t *tool) {
	var outbox *grant
	for _, g := range t.grants {
		if f, ok := g.of.(*fetchGrant); ok {
			for _, a := range f.config.Allow {
				if a.Writes() {
					l.fault(g.Place, "[tools.%s] grants.%s: an entry of it takes more than GET and HEAD, which is for deliveries; no guest can be granted it", t.Name, g.Capability)
					break
				}
			}
		}
		switch {
		case g.outbox == nil:
		case t.Effect != effectWrite:
			l.fault(g.Place, "[tools.%s] grants.%s: a tool that reads cannot write into an outbox; say effect = \"write\", and who approves", t.Name, g.Capability)
		case g.only != "":
			l.fault(g.Place, "[tools.%s] grants.%s: only: the row of an outbox is the host's to make; write {}", t.Name, g.Capability)
			outbox = g
		case outbox != nil:
			l.fault(g.Place, "[tools.%s] grants.%s: %s is granted too; an approval writes one row of one outbox", t.Name, g.Capability, outbox.Capability)
		default:
			outbox = g
		}
	}
	if t.Effect != effectWrite || len(t.grants) != len(t.Grants) {
		return
	}
	if outbox == nil {
		l.fault(t.At("effect"), "[tools.%s] effect: a tool that writes is granted one outbox, into which its row goes", t.Name)
		return
	}
	if t.contract != nil {
		l.holdRow(t, outbox)
	}
}

// holdRow holds what the row names against the contract, the facts and the
// columns' types.
func (l *loader) holdRow(t *tool, g *grant) {
	if t.contract.SecretResult() {
		l.fault(t.At("effect"), "[tools.%s] effect: its contract marks a part of the result x-secret, which is never stored; what an approval returns is kept until the model asks", t.Name)
	}
	if t.contract.Secretive() {
		l.fault(t.At("effect"), "[tools.%s] effect: its contract marks an argument x-secret, which is never stored; what waits for a person is", t.Name)
	}
	for _, f := range t.rules.facts {
		if of := f.of.config.Database; of != g.outbox.config.Database {
			l.fault(f.Place, "[tools.%s] facts.%s: it is of database %q, and %s writes into %q; the rules are decided again in the transaction that writes, which is of one database", t.Name, f.Name, of, g.Capability, g.outbox.config.Database)
		}
	}
	if g.outbox.outbox == nil {
		return // its faults were told
	}
	for _, c := range g.outbox.config.Row {
		l.holdCell(t, g, c)
	}
}

func (l *loader) holdCell(t *tool, g *grant, c config.Cell) {
	fault := func(format string, args ...any) {
		l.fault(c.Place, "[tools.%s] grants.%s: row.%s: "+format, append([]any{t.Name, g.Capability, c.Column}, args...)...)
	}
	column := g.outbox.outbox.Types()[c.Column]
	refs := c.Is.Refs()
	var kind rules.Kind
	for _, ref := range refs {
		of, why := t.typeOf(ref)
		if why != "" {
			fault("%s %s", ref, why)
			return
		}
		kind = of
	}
	alone := len(refs) == 1 && c.Is.String() == refs[0].String()
	switch {
	case !alone && column.Name != "text":
		fault("a text for a column of type %s", column)
	case alone && !holds(column, kind):
		fault("%s is a %s, the column is of type %s; declare what it is: types = { %s = %q }, and the column for it", refs[0], kind, column, c.Column, typeFor(kind))
	case alone && refs[0].Space == config.SpaceArgs && g.outbox.outbox.NotNull(c.Column) && !t.contract.Requires(refs[0].Name):
		fault("%s can be left out, and the column is NOT NULL; let the contract require it, or the column take NULL", refs[0])
	}
}

// typeOf is what a row's value is, or why there is none.
func (t *tool) typeOf(ref config.Ref) (rules.Kind, string) {
	of := rules.Type{Kind: rules.Text}
	switch ref.Space {
	case config.SpaceArgs:
		of = rules.FromSchema("args", t.contract.Input)
	case config.SpaceFacts:
		of = t.rules.types["facts"]
	default:
		return rules.Text, ""
	}
	for name := range strings.SplitSeq(ref.Name, ".") {
		field, ok := of.Field(name)
		if !ok {
			return rules.Unusable, "names no value" + nearest.DidYouMean(name, of.Names())
		}
		of = field
	}
	return of.Kind, ""
}

// holds tells whether a column takes values of a kind, each as what it is.
func holds(column capabilities.ColumnType, kind rules.Kind) bool {
	switch column.Name {
	case "json":
		return true
	case "text":
		return kind == rules.Text || kind == rules.Date || kind == rules.Time
	}
	return columnKind(column) == kind
}

// typeFor is the type of a column that takes a kind.
func typeFor(kind rules.Kind) string {
	switch kind {
	case rules.Number:
		return "decimal"
	case rules.Date:
		return "date"
	case rules.Boolean:
		return "boolean"
	default:
		return "text"
	}
}
