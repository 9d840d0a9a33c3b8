package config

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/stricturl"
)

// headers reads what the host adds to the requests of an entry. What frames a
// request or leads it elsewhere is not the config's to set, nor what the
// host's own reading of the answer rests on. In the open are requests over
// http:// to where anybody may listen. One with a fault is given all the same,
// so that it is not taken for missing.
func (s section) headers(open bool) []Header {
	table, ok := s.child("headers", s.at("headers"))
	if !ok {
		return nil
	}
	var list []Header
	for _, key := range table.node.keys {
		h := Header{Place: Place{File: s.r.file, Line: table.node.table[key].line}, Name: http.CanonicalHeaderKey(key)}
		table.headerName(key, h.Name, list)
		if h.Value, ok = table.template(key, SpaceEnv, SpaceSession); ok {
			table.headerValue(key, &h)
		}
		if open {
			table.fault(key, "over http:// anybody on the way reads it; write https://, or list the addresses of a private network")
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (s section) headerName(key, name string, before []Header) {
	taken := []string{
		"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Idempotency-Key", "Keep-Alive", "Proxy-Authorization",
		"Proxy-Connection", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
	}
	switch {
	case !headerForm.form.MatchString(key):
		s.fault(key, "%s is not %s", quote(key), headerForm.what)
	case slices.Contains(taken, name):
		s.fault(key, "toolhost sets this header itself, or not at all")
	case slices.ContainsFunc(before, func(h Header) bool { return h.Name == name }):
		s.fault(key, "the header stands twice; case does not count")
	}
}

// secretNames are parts of the names of headers that hold secrets.
var secretNames = regexp.MustCompile(`(?i)auth|token|key|secret|passw|credential|signature`)

// headerValue checks a value, and takes the values of the environment in it:
// they are the secrets that no response may repeat. A short one could not be
// told from ordinary text, and a literal one would be shown by whoever shows
// the config.
func (s section) headerValue(key string, h *Header) {
	whole, isLiteral := h.Value.Literal()
	for _, p := range h.Value.parts {
		if p.env != "" {
			h.Secrets = append(h.Secrets, p.text)
		}
		switch {
		case !stricturl.Printable(p.text) && p.env != "":
			s.fault(key, "the environment variable %s holds something else than printable ASCII", p.env)
		case !stricturl.Printable(p.text):
			s.fault(key, "a header's value is printable ASCII")
		case p.env != "" && strings.TrimSpace(p.text) != p.text:
			s.fault(key, "the environment variable %s begins or ends with a space", p.env)
		case p.env != "" && utf8.RuneCountInString(p.text) < MinSecret:
			s.fault(key, "the environment variable %s is shorter than %d characters: it could not be told from ordinary text in a response", p.env, MinSecret)
		}
	}
	switch {
	case isLiteral && len(h.Secrets) == 0 && secretNames.MatchString(key):
		s.fault(key, "a secret in this file is shown by whoever shows the file; write {env.X}, and set the variable")
	case isLiteral && len(h.Secrets) == 0 && strings.TrimSpace(whole) != whole:
		s.fault(key, "a header's value begins or ends with a space")
	}
}

// mayEcho reads which values a response may repeat: a customer's number, say.
func (s section) mayEcho(headers []Header) []Ref {
	var list []Ref
	for _, w := range s.words("may_echo") {
		one := s.with("may_echo", &node{line: w.line, scalar: w.text})
		t, ok := one.template("may_echo", SpaceSession)
		if !ok {
			continue
		}
		refs := t.Refs()
		if len(t.parts) != 1 || len(refs) != 1 {
			s.r.report(w.line, "%s: %s is not exactly one {session.x}", s.at("may_echo"), quote(w.text))
			continue
		}
		used := slices.ContainsFunc(headers, func(h Header) bool { return slices.Contains(h.Value.Refs(), refs[0]) })
		if !used {
			s.r.report(w.line, "%s: %s stands in no header of the entry", s.at("may_echo"), quote(w.text))
			continue
		}
		list = append(list, refs[0])
	}
	return list
}
