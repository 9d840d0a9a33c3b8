package config

import (
	"net"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/nearest"
)

// Outbox is a table to which the host adds one row for each approval. The whole
// row stands here: no guest and no model chooses any of it.
type Outbox struct {
	Database string
	Table    string
	Row      []Cell // in file order
	Key      string // the column that is exactly {approval.id}
	Types    map[string]ColumnType
	Deliver  *Deliver // nil: the row is all

	lines keyLines // of row
}

// Cell is one column of the row and what stands in it.
type Cell struct {
	Place
	Column string
	Is     Template // literal text, args, session, facts and approval
}

// Deliver says where a row goes after it was written: over an entry of a fetch
// capability, or by mail.
type Deliver struct {
	Place
	Fetch  string // the capability; empty: by mail
	Method string
	URL    Template // literal text and {row.x}
	Body   []Cell   // members of the JSON object that is sent

	Mail    string // the [mail.X]
	From    string
	To      Template // {row.x}
	Subject Template
	Text    Template

	Tries int // before somebody must look

	lines keyLines
}

// At is Database.At for a delivery.
func (d Deliver) At(key string) Place { return d.lines.at(d.Place, key) }

// Mail is a server that takes mail.
type Mail struct {
	Place
	Name     string
	Server   string // host:port; it may hold values of the environment
	Shown    string // as the file has it
	Security string // tls, starttls or none
	User     string
	Password string
	Hash     string // of Server, for the policy

	lines keyLines
}

// Refs gives the references to columns of the row, wherever they stand in it.
func (d *Deliver) Refs() []Ref {
	refs := slices.Concat(d.URL.Refs(), d.To.Refs(), d.Subject.Refs(), d.Text.Refs())
	for _, c := range d.Body {
		refs = append(refs, c.Is.Refs()...)
	}
	return refs
}

// At is Database.At for a mail server.
func (m Mail) At(key string) Place { return m.lines.at(m.Place, key) }

const (
	defaultTries = 12 // some three hours
	maxTries     = 100
	maxCells     = 64
)

func (s section) outbox(top section) *Outbox {
	s.known([]string{"kind", "database", "table", "row", "types", "deliver"})
	o := &Outbox{Database: s.database(top)}
	s.require("table", `table = "refunds"`)
	o.Table, _ = s.name("table", sqlName)
	s.require("row", `row = { refund_id = "{approval.id}", order_id = "{args.order_id}" }`)
	var columns []string
	sound := false
	if row, ok := s.child("row", s.at("row")); ok {
		o.lines = row.lines()
		before := len(s.r.faults)
		o.Row = row.cells(sqlName, SpaceArgs, SpaceSession, SpaceFacts, SpaceApproval)
		for _, c := range o.Row {
			columns = append(columns, c.Column)
		}
		row.givenAlone(o.Row)
		sound = len(s.r.faults) == before
		if sound {
			o.Key = row.approvalKey(o.Row)
		}
	}
	o.Types = s.types(columns, sound)
	if deliver, ok := s.child("deliver", s.at("deliver")); ok {
		o.Deliver = deliver.deliver(top, columns, sound)
	}
	return o
}

// cells reads columns, or members, and what stands in them.
func (s section) cells(form pattern, takes ...Space) []Cell {
	if len(s.node.keys) > maxCells {
		s.r.report(s.node.line, "%s: %d columns, at most %d", s.path, len(s.node.keys), maxCells)
	}
	var list []Cell
	seen := map[string]string{}
	for _, column := range s.node.keys {
		line := s.node.table[column].line
		c := Cell{Place: Place{File: s.r.file, Line: line}, Column: column}
		s.r.matches(word{text: column, line: line}, s.at(column), form)
		if other, twice := seen[strings.ToLower(column)]; twice {
			s.fault(column, "%s and %s are one column to SQL", quote(other), quote(column))
		}
		seen[strings.ToLower(column)] = column
		c.Is, _ = s.template(column, takes...)
		list = append(list, c)
	}
	return list
}

// Given is what of the approval fills the column: "id", "approver" or "time"; "":
// nothing.
func (c Cell) Given() string {
	for _, ref := range c.Is.Refs() {
		if ref.Space == SpaceApproval {
			return ref.Name
		}
	}
	return ""
}

// givenAlone reports a column that holds what the approval gives and something
// else too: what was not known when it was approved could not be told apart.
func (s section) givenAlone(row []Cell) {
	for _, c := range row {
		if ref := (Ref{SpaceApproval, c.Given()}); ref.Name != "" && c.Is.String() != ref.String() {
			s.fault(c.Column, "%s stands in a column alone; nobody knows it when the row is approved", ref)
		}
	}
}

// approvalKey finds the column that is the approval's id alone: by it the host
// knows after a crash whether the row was written.
func (s section) approvalKey(row []Cell) string {
	id := Ref{Space: SpaceApproval, Name: "id"}
	key := ""
	for _, c := range row {
		if c.Is.String() != id.String() {
			continue
		}
		if key != "" {
			s.fault(c.Column, "two columns are exactly %s; one must be, and be unique", id)
		}
		key = c.Column
	}
	if key == "" {
		s.r.report(s.node.line, "%s: no column is exactly %s; one must be, and be unique, so that one approval can write one row", s.path, quote(id.String()))
	}
	return key
}

func (s section) deliver(top section, columns []string, sound bool) *Deliver {
	d := &Deliver{Place: s.place(), Tries: defaultTries, lines: s.lines()}
	byFetch, byMail := s.has("fetch"), s.has("mail")
	switch {
	case byFetch == byMail:
		s.r.report(s.node.line, `%s: needs one of fetch = "NAME" (a webhook) and mail = "NAME"`, s.path)
		return d
	case byFetch:
		s.known([]string{"fetch", "method", "url", "body", "tries"})
		s.byFetch(d, top)
	default:
		s.known([]string{"mail", "from", "to", "subject", "text", "tries"})
		s.byMail(d, top)
	}
	if v, ok := s.integer("tries", 1, maxTries); ok {
		d.Tries = v
	}
	if sound {
		s.rowsColumns(d, columns)
	}
	return d
}

func (s section) byFetch(d *Deliver, top section) {
	if name, ok := s.text("fetch"); ok {
		d.Fetch = name
		s.refers("fetch", "capability", name, top, "capabilities")
	}
	s.require("method", `method = "POST"`)
	if method, ok := s.text("method"); ok {
		d.Method = method
		if !slices.Contains(writeMethods(), method) {
			s.fault("method", "%s is not one of %s", quote(method), strings.Join(writeMethods(), ", "))
		}
	}
	s.require("url", `url = "https://example.org/v1/refunds"`)
	d.URL, _ = s.template("url", SpaceRow)
	if body, ok := s.child("body", s.at("body")); ok {
		d.Body = body.cells(memberName, SpaceRow)
	}
}

func (s section) byMail(d *Deliver, top section) {
	if name, ok := s.text("mail"); ok {
		d.Mail = name
		s.refers("mail", "mail server", name, top, "mail")
	}
	s.require("from", `from = "help@example.org"`)
	if t, ok := s.template("from"); ok {
		d.From, _ = t.Literal()
	}
	s.require("to", `to = "{row.recipient}"`)
	d.To, _ = s.template("to", SpaceRow)
	s.require("subject", `subject = "{row.subject}"`)
	d.Subject, _ = s.template("subject", SpaceRow)
	s.require("text", `text = "{row.body}"`)
	d.Text, _ = s.template("text", SpaceRow)
}

// rowsColumns reports a {row.x} that names none of the row's columns.
func (s section) rowsColumns(d *Deliver, columns []string) {
	report := func(at Place, path string, t Template) {
		for _, ref := range t.Refs() {
			if !slices.Contains(columns, ref.Name) {
				s.r.report(at.Line, "%s: %s is no column of row%s", path, quote(ref.String()), nearest.DidYouMean(ref.Name, columns))
			}
		}
	}
	report(d.At("url"), s.at("url"), d.URL)
	report(d.At("to"), s.at("to"), d.To)
	report(d.At("subject"), s.at("subject"), d.Subject)
	report(d.At("text"), s.at("text"), d.Text)
	for _, c := range d.Body {
		report(c.Place, s.at("body")+"."+showKey(c.Column), c.Is)
	}
}

// mails reads [mail.X].
func (s section) mails() []Mail {
	var list []Mail
	for _, table := range s.each("mail") {
		table.known([]string{"server", "security", "user", "password"})
		m := Mail{Place: table.place(), Name: table.itemName(), Security: "starttls", lines: table.lines()}
		table.require("server", `server = "smtp.example.org:587"`)
		if t, ok := table.template("server", SpaceEnv); ok {
			m.Shown = t.String()
			m.Server, _ = t.Literal()
			m.Hash = hashOf(m.Server)
			if host, port, err := net.SplitHostPort(m.Server); err != nil || host == "" || port == "" {
				table.fault("server", "%s is no host and port, like smtp.example.org:587", quote(t.String()))
			}
		}
		if text, ok := table.text("security"); ok {
			m.Security = text
			if known := []string{"tls", "starttls", "none"}; !slices.Contains(known, text) {
				table.fault("security", "%s is not one of %s%s", quote(text), strings.Join(known, ", "), nearest.DidYouMean(text, known))
			}
		}
		if t, ok := table.template("user", SpaceEnv); ok {
			m.User, _ = t.Literal()
		}
		if t, ok := table.template("password", SpaceEnv); ok {
			m.Password, _ = t.Literal()
			if _, plain := t.plain(); plain {
				table.fault("password", "a secret in this file is shown by whoever shows the file; write {env.X}, and set the variable")
			}
		}
		if table.has("user") != table.has("password") {
			table.r.report(table.node.line, "%s: user and password stand together or not at all", table.path)
		}
		list = append(list, m)
	}
	return list
}

// plain is the text of a template in which no value of the environment stands.
func (t Template) plain() (string, bool) {
	for _, p := range t.parts {
		if p.env != "" {
			return "", false
		}
	}
	return t.Literal()
}
