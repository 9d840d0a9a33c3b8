package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Session is who asks. An empty field is absent.
type Session struct {
	ID         string
	Subject    string
	Tenant     string
	Role       string
	Attributes map[string]string
}

// MaxSessionValue is how long a value of a session can be, in characters.
const MaxSessionValue = 200

// LoadSession reads a session file. The errors are those of Load.
func LoadSession(path string) (Session, error) {
	data, err := readFile(path)
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	return ParseSession(filepath.Base(path), data)
}

// ParseSession reads the bytes of a session file. The name is for the faults.
func ParseSession(name string, data []byte) (Session, error) {
	r := &reader{file: name}
	var s Session
	if root, ok := r.parse(data); ok {
		s = section{r: r, node: root}.session()
	}
	if err := r.err(); err != nil {
		return Session{}, err
	}
	return s, nil
}

// ParseFlat reads a session from pairs like role=staff, customer=C-20417. The
// keys id, subject, tenant and role are the fields, all others are attributes.
// Its faults have no place.
func ParseFlat(pairs map[string]string) (Session, error) {
	fields, attributes := newTable(0), newTable(0)
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		table := attributes
		if slices.Contains(sessionFields(), key) {
			table = fields
		}
		child(table, part{key: key}).scalar = pairs[key]
	}
	r := &reader{}
	root := section{r: r, node: fields}
	if !root.has("role") {
		r.report(0, "role is missing; for example role=customer")
	}
	s := root.fields()
	s.Attributes = section{r: r, node: attributes}.sessionAttributes()
	if err := r.err(); err != nil {
		err.flat = true
		return Session{}, err
	}
	return s, nil
}

// session reads a session file: the fields and [attributes].
func (s section) session() Session {
	s.known([]string{"id", "subject", "tenant", "role", "attributes"})
	s.require("role", `role = "customer"`)
	session := s.fields()
	session.Attributes = map[string]string{}
	if table, ok := s.child("attributes", "[attributes]"); ok {
		session.Attributes = table.sessionAttributes()
	}
	return session
}

func (s section) fields() Session {
	session := Session{
		ID:      s.sessionValue("id"),
		Subject: s.sessionValue("subject"),
		Tenant:  s.sessionValue("tenant"),
		Role:    s.sessionValue("role"),
	}
	if n := s.node.table["role"]; n != nil && n.scalar == "" {
		s.fault("role", "an empty string; a session has a role")
	}
	return session
}

func (s section) sessionAttributes() map[string]string {
	attributes := map[string]string{}
	for _, name := range s.node.keys {
		line := s.node.table[name].line
		if !s.r.matches(word{text: name, line: line}, s.at(name), attributeName) {
			continue
		}
		if slices.Contains(sessionFields(), name) {
			s.fault(name, "%s is a value of every session, not an attribute", quote(name))
			continue
		}
		attributes[name] = s.sessionValue(name)
	}
	return attributes
}

// sessionValue gives the string at key. Unlike a string of the config it may be
// empty: that is the same as absent, and what needs it refuses.
func (s section) sessionValue(key string) string {
	n := s.node.table[key]
	if n == nil {
		return ""
	}
	text, ok := n.scalar.(string)
	switch {
	case !ok:
		s.fault(key, "found %s, expected a string", found(n))
	case !utf8.ValidString(text):
		s.fault(key, "not valid UTF-8")
	case utf8.RuneCountInString(text) > MaxSessionValue:
		s.fault(key, "longer than %d characters", MaxSessionValue)
	case strings.ContainsFunc(text, hidden):
		s.fault(key, "%s holds a control character", quote(text))
	}
	return text
}
