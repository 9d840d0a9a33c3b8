package config

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// headers reads what the host adds to the requests of an entry. What frames a
// request or leads it elsewhere is not the config's to set, nor what the
// host's own reading of the answer rests on. In the open are requests over
// http:// to an address that anybody may have.
func (s section) headers(open bool) []Header {
	table, ok := s.child("headers", s.at("headers"))
	if !ok {
		return nil
	}
	var list []Header
	for _, key := range table.node.keys {
		h := Header{Place: Place{File: s.r.file, Line: table.node.table[key].line}, Name: http.CanonicalHeaderKey(key)}
		sound := table.headerName(key, h.Name, list)
		if h.Value, ok = table.template(key, SpaceEnv, SpaceSession); ok && table.headerValue(key, &h, open) && sound {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (s section) headerName(key, name string, before []Header) bool {
	taken := []string{
		"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Keep-Alive", "Proxy-Authorization",
		"Proxy-Connection", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
	}
	switch {
	case !headerForm.form.MatchString(key):
		s.fault(key, "%s is not %s", quote(key), headerForm.what)
		return false
	case slices.Contains(taken, name):
		s.fault(key, "toolhost sets this header itself, or not at all")
		return false
	case slices.ContainsFunc(before, func(h Header) bool { return h.Name == name }):
		s.fault(key, "the header stands twice; case does not count")
		return false
	}
	return true
}

// headerValue checks the literal text of a value and takes the secrets in it.
// A short secret could not be told from ordinary text in a response.
func (s section) headerValue(key string, h *Header, open bool) bool {
	secretive := false
	for _, p := range h.Value.parts {
		if strings.ContainsFunc(p.text, func(c rune) bool { return c < ' ' || c > '~' }) {
			s.fault(key, "a header's value is printable ASCII")
			return false
		}
		if p.env == "" {
			secretive = secretive || p.ref.Space != ""
			continue
		}
		secretive = true
		if utf8.RuneCountInString(p.text) < minSecret {
			s.fault(key, "the environment variable %s is shorter than %d characters: it could not be told from ordinary text in a response", p.env, minSecret)
			return false
		}
		h.Secrets = append(h.Secrets, p.text)
	}
	if len(h.Value.parts) > 0 {
		if text, ok := h.Value.Literal(); ok && strings.TrimSpace(text) != text {
			s.fault(key, "a header's value begins or ends with a space")
			return false
		}
	}
	if secretive && open {
		s.fault(key, "over http:// anybody on the way reads it; write https://, or list the addresses of a network of your own")
		return false
	}
	return true
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
