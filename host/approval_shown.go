package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/decimal"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What a person is shown of a write, all of it, and the digest over it: the
// tool's resolved policy, who asks, the arguments, the facts that the rules were
// told, the row that will be written and where it is delivered. The digest is
// what they agree to; whatever of it is another when it runs, nothing runs (I16).
//
// It is one JSON object, written in one way, that the state database keeps:
//
//	{"arguments":{...},"delivery":{...},"facts":{...},"given":{...},"policy":"sha256:...",
//	 "row":{...},"session":{...},"table":"desk.refunds","tool":"issue_refund"}
//
// given has the columns that only the approval itself fills, as the config has
// them: {"refund_id":"{approval.id}"}. They stand apart from row, where a value
// can be any JSON.

// shown is what is shown of one write.
type shown struct {
	bounded *bounded
	cells   []cell
	content []byte
	digest  string
	loose   string // the digest of the same in whichever loop
}

// cell is one column of the row. What the approval itself gives is not known
// before somebody approves: then value is none.
type cell struct {
	config.Cell
	value  strictjson.Value
	stored any // as the column stores it
}

// show makes what is shown of a call that passed the gates; the error says why
// its row cannot be made.
func (b *bounded) show() (*shown, error) {
	s := &shown{bounded: b}
	for _, c := range b.outbox.config.Row {
		made, err := b.cell(c)
		if err != nil {
			return nil, &cellError{c, fmt.Errorf("%s: row.%s: %w", b.outbox.name, c.Column, err)}
		}
		s.cells = append(s.cells, made)
	}
	delivery, err := b.outbox.preview(b.session, s.rowValue)
	if err != nil {
		return nil, fmt.Errorf("%s: deliver: %w", b.outbox.name, err)
	}
	s.content = s.write(delivery, b.session.ID)
	s.digest, s.loose = digestOf(s.content), digestOf(s.write(delivery, ""))
	if len(s.appendCells(nil, false)) > capabilities.MaxRow {
		return nil, fmt.Errorf("%s: the row is longer than %s", b.outbox.name, config.ShowSize(capabilities.MaxRow))
	}
	if _, err := readShown(s.content); err != nil { // what nobody can read nobody can approve
		return nil, fmt.Errorf("%s: %w", b.outbox.name, err)
	}
	return s, nil
}

// A cellError says that a column cannot be made of this call.
type cellError struct {
	cell config.Cell
	error
}

func (e *cellError) Unwrap() error { return e.error }

// cell makes one column. An argument that is left out is NULL; anything else
// that is absent is an error.
func (b *bounded) cell(c config.Cell) (cell, error) {
	out := cell{Cell: c}
	refs := c.Is.Refs()
	alone := len(refs) == 1 && c.Is.String() == refs[0].String()
	switch {
	case c.Given() != "":
		return out, nil
	case alone && refs[0].Space == config.SpaceArgs:
		out.value, _ = b.args.Get(refs[0].Name)
	case alone && refs[0].Space == config.SpaceFacts:
		value, err := b.factAt(refs[0])
		if err != nil {
			return out, err
		}
		out.value = value
	default:
		text, err := b.cellText(c.Is)
		if err != nil {
			return out, err
		}
		out.value = strictjson.Text(text)
	}
	var err error
	out.stored, err = b.outbox.outbox.Stored(c.Column, out.value)
	return out, err
}

var errAbsent = errors.New("is absent")

// cellText renders a text.
func (b *bounded) cellText(t config.Template) (string, error) {
	var lacks config.Ref
	text, ok := t.Render(func(ref config.Ref) (string, bool) {
		value, there := "", false
		switch ref.Space {
		case config.SpaceArgs:
			v, _ := b.args.Get(ref.Name)
			value, there = v.Text()
		case config.SpaceFacts:
			v, err := b.factAt(ref)
			s, scalar := v.Text()
			value, there = s, err == nil && scalar
		default:
			value, there = b.session.value(ref)
		}
		if !there {
			lacks = ref
		}
		return value, there
	})
	if !ok {
		return "", fmt.Errorf("%s %w", lacks, errAbsent)
	}
	return text, nil
}

// factAt is a fact, or a column of one, as it was fetched.
func (b *bounded) factAt(ref config.Ref) (strictjson.Value, error) {
	limits := strictjson.Default(len(b.facts.fetched))
	limits.Digits = decimal.Digits
	v, err := strictjson.Read(b.facts.fetched, limits)
	if err != nil {
		return strictjson.Value{}, fmt.Errorf("%s %w", ref, errAbsent)
	}
	for name := range strings.SplitSeq(ref.Name, ".") {
		var ok bool
		if v, ok = v.Get(name); !ok || v.Kind() == strictjson.Null {
			return strictjson.Value{}, fmt.Errorf("%s %w", ref, errAbsent)
		}
	}
	return v, nil
}

// rowValue is a column as it is delivered; no value of what the approval gives.
func (s *shown) rowValue(column string) strictjson.Value {
	for _, c := range s.cells {
		if c.Column == column {
			return c.value
		}
	}
	return strictjson.Value{}
}

// write writes the content, as asked in a loop.
func (s *shown) write(delivery []byte, loop string) []byte {
	b := s.bounded
	who := b.session
	who.ID = loop
	out := append([]byte(`{"arguments":`), b.args.AppendJSON(nil)...)
	if delivery != nil {
		out = append(append(out, `,"delivery":`...), delivery...)
	}
	facts := b.facts.fetched
	if facts == nil {
		facts = []byte(`{}`)
	}
	out = append(append(out, `,"facts":`...), facts...)
	out = s.appendCells(append(out, `,"given":`...), true)
	out = strictjson.AppendString(append(out, `,"policy":`...), b.tool.policy.Resolved)
	out = s.appendCells(append(out, `,"row":`...), false)
	out = appendSession(append(out, `,"session":`...), who, b.id)
	out = strictjson.AppendString(append(out, `,"table":`...), b.outbox.table)
	out = strictjson.AppendString(append(out, `,"tool":`...), b.tool.Name)
	return append(out, '}')
}

// appendCells writes the columns that the approval fills, or those that are known.
func (s *shown) appendCells(b []byte, given bool) []byte {
	b = append(b, '{')
	first := true
	for _, c := range s.cells {
		if (c.Given() != "") != given {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(strictjson.AppendString(b, c.Column), ':')
		switch {
		case given:
			b = strictjson.AppendString(b, c.Is.String())
		case c.value.Kind() == strictjson.Nothing:
			b = append(b, "null"...)
		default:
			b = c.value.AppendJSON(b)
		}
	}
	return append(b, '}')
}

// digestOf is "sha256:" and the hex digest.
func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// appendSession writes who asks. A call that is a loop of its own has no id.
func appendSession(b []byte, s Session, call string) []byte {
	b = append(b, `{"attributes":{`...)
	first := true
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		if s.Attributes[name] == "" {
			continue // absent
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(strictjson.AppendString(b, name), ':')
		b = strictjson.AppendString(b, s.Attributes[name])
	}
	id := s.ID
	if id == call {
		id = ""
	}
	b = strictjson.AppendString(append(b, `},"id":`...), id)
	b = strictjson.AppendString(append(b, `,"role":`...), s.Role)
	b = strictjson.AppendString(append(b, `,"subject":`...), s.Subject)
	b = strictjson.AppendString(append(b, `,"tenant":`...), s.Tenant)
	return append(b, '}')
}

// session is who asks, for what makes two proposals the same: in which loop
// they do is not a part of it.
func (s *shown) session() []byte {
	who := s.bounded.session
	who.ID = ""
	return appendSession(nil, who, "")
}

// what is asked, of which policy.
func (s *shown) what() []byte {
	b := s.bounded
	out := strictjson.AppendString([]byte(`{"policy":`), b.tool.policy.Resolved)
	out = strictjson.AppendString(append(out, `,"tool":`...), b.tool.Name)
	return append(b.args.AppendJSON(append(out, `,"arguments":`...)), '}')
}

// given is what an approval gives: its id, who approved, and when.
func given(a state.Approval, name string) string {
	switch name {
	case "id":
		return a.ID
	case "approver":
		return a.Approver
	default: // time
		return a.Decided.UTC().Format(time.RFC3339)
	}
}

// storedRow is the row as it is written, by this approval.
func (s *shown) storedRow(a state.Approval) (row []any, err error) {
	for _, c := range s.cells {
		if name := c.Given(); name != "" {
			if c.stored, err = s.bounded.outbox.outbox.Stored(c.Column, strictjson.Text(given(a, name))); err != nil {
				return nil, fmt.Errorf("row.%s: %w", c.Column, err)
			}
		}
		row = append(row, c.stored)
	}
	return row, nil
}

// Shown is the content of an approval, read back.
type Shown struct {
	Arguments strictjson.Value
	Delivery  strictjson.Value // none: the row stays where it is written
	Facts     strictjson.Value
	Given     strictjson.Value // columns that the approval fills
	Policy    string
	Row       strictjson.Value
	Session   Session
	Table     string
	Tool      string
}

// readShown reads what was kept. What is not of the form that write gives it is
// an error.
func readShown(content []byte) (Shown, error) {
	limits := strictjson.Default(len(content))
	limits.Digits = decimal.Digits
	v, err := strictjson.Read(content, limits)
	if err != nil {
		return Shown{}, err
	}
	var s Shown
	s.Arguments, _ = v.Get("arguments")
	s.Delivery, _ = v.Get("delivery")
	s.Facts, _ = v.Get("facts")
	s.Given, _ = v.Get("given")
	s.Row, _ = v.Get("row")
	s.Policy, _ = v.TextAt("policy")
	s.Table, _ = v.TextAt("table")
	s.Tool, _ = v.TextAt("tool")
	session, ok := v.Get("session")
	s.Session.ID, _ = session.TextAt("id")
	s.Session.Role, _ = session.TextAt("role")
	s.Session.Subject, _ = session.TextAt("subject")
	s.Session.Tenant, _ = session.TextAt("tenant")
	s.Session.Attributes = map[string]string{}
	attributes, _ := session.Get("attributes")
	for name := range attributes.Members() {
		s.Session.Attributes[name], _ = attributes.TextAt(name)
	}
	if !ok || s.Arguments.Kind() != strictjson.Object || s.Row.Kind() != strictjson.Object || s.Given.Kind() != strictjson.Object || s.Tool == "" {
		return Shown{}, errors.New("the kept approval is not what was kept")
	}
	return s, nil
}

// differences says what of two contents is not the same, for who approves.
func (s Shown) differences(now Shown) []string {
	var out []string
	each := func(what string, then, now strictjson.Value) {
		for name, v := range now.Members() {
			before, _ := then.Get(name)
			if was, is := shownJSON(before), shownJSON(v); was != is {
				out = append(out, fmt.Sprintf("%s.%s was %s, is %s", what, name, was, is))
			}
		}
		for name, v := range then.Members() {
			if _, there := now.Get(name); !there {
				out = append(out, fmt.Sprintf("%s.%s was %s, is absent", what, name, shownJSON(v)))
			}
		}
	}
	each("facts", s.Facts, now.Facts)
	each("row", s.Row, now.Row)
	each("delivery", s.Delivery, now.Delivery)
	each("arguments", s.Arguments, now.Arguments)
	return out
}

func shownJSON(v strictjson.Value) string {
	if v.Kind() == strictjson.Nothing {
		return "absent"
	}
	return string(v.AppendJSON(nil))
}
