package config

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/nearest"
	"github.com/toolhost/toolhost/host/stricturl"
)

// Fetch is a list of URLs that tools may get.
type Fetch struct {
	Allow    []Allow // in file order: the first that covers a URL counts
	MaxBytes int64
	Time     time.Duration
}

// Allow is one entry of the list: what URL covers, and nothing else.
type Allow struct {
	Place
	URL         stricturl.URL
	Methods     []string // GET and HEAD, which guests may send; the others for deliveries alone
	Headers     []Header // sorted by name
	MayEcho     []Ref    // values in the headers that a response may repeat
	Addresses   []netip.Prefix
	Roots       string // a file of PEM certificates, absolute and cleaned; empty: the system's
	RootsShown  string
	Connections int

	lines keyLines
}

// At is Database.At for an entry.
func (a Allow) At(key string) Place { return a.lines.at(a.Place, key) }

// Header is a header that the host adds.
type Header struct {
	Place
	Name    string // in the form of net/http: "Authorization"
	Value   Template
	Secrets []string // the values of the environment in it
}

const (
	defaultFetchTime                 = 1500 * time.Millisecond // less than a call has
	minFetchTime, maxFetchTime       = time.Millisecond, time.Minute
	defaultConnections, mostConnects = 4, 100
	maxAllow                         = 100
)

// MinSecret is how many characters a secret in a header has: a shorter one
// could not be told from ordinary text in a response.
const MinSecret = 8

func (s section) fetch() *Fetch {
	s.known([]string{"kind", "allow", "max_bytes", "time"})
	f := &Fetch{MaxBytes: defaultMaxBytes, Time: defaultFetchTime}
	s.require("allow", "a table [["+strings.Trim(s.path, "[]")+`.allow]] with url = "https://example.org/v1/" and methods = ["GET"]`)
	if n := s.node.table["allow"]; n != nil {
		f.Allow = s.allowList(n)
	}
	if v, ok := s.size("max_bytes", 1, maxBytes); ok {
		f.MaxBytes = v
	}
	if v, ok := s.duration("time", minFetchTime, maxFetchTime); ok {
		f.Time = v
	}
	return f
}

func (s section) allowList(n *node) []Allow {
	switch {
	case !n.isList:
		s.fault("allow", "found %s, expected tables [[%s.allow]]", found(n), strings.Trim(s.path, "[]"))
	case len(n.list) == 0:
		s.fault("allow", "an empty array allows no URL; name them or remove %s", s.path)
	case len(n.list) > maxAllow:
		s.fault("allow", "%d entries, at most %d", len(n.list), maxAllow)
	}
	var list []Allow
	for _, item := range s.tables("allow", "a table with url and methods") {
		a := item.allow()
		s.shadowed(a, list)
		list = append(list, a)
	}
	return list
}

// shadowed reports an entry that an earlier one stands in front of: what it
// says of headers and addresses would not be what is done.
func (s section) shadowed(a Allow, before []Allow) {
	for _, b := range before {
		if a.URL.Host == "" || !b.URL.Covers(a.URL) {
			continue
		}
		for _, method := range a.Methods {
			if slices.Contains(b.Methods, method) {
				what := "put this one before it"
				if b.URL == a.URL {
					what = "make one of the two"
				}
				s.r.report(a.Line, "%s: the entry of line %d covers %s %s before this one; %s", s.at("allow"), b.Line, method, a.URL, what)
				return
			}
		}
	}
}

func (s section) allow() Allow {
	s.known([]string{"url", "methods", "headers", "may_echo", "addresses", "roots", "connections"})
	a := Allow{Place: s.place(), Connections: defaultConnections, lines: s.lines()}
	s.require("url", `url = "https://example.org/v1/"`)
	if t, ok := s.template("url"); ok {
		text, _ := t.Literal()
		a.URL = s.allowedURL(text)
	}
	a.Methods = s.methods()
	before := len(s.r.faults)
	a.Addresses = s.addresses()
	a.Headers = s.headers(a.URL.Scheme == "http" && !allPrivate(a.Addresses) && len(s.r.faults) == before)
	a.MayEcho = s.mayEcho(a.Headers)
	if t, ok := s.template("roots"); ok {
		a.RootsShown, _ = t.Literal()
		a.Roots = s.r.path(a.RootsShown)
		if a.URL.Scheme == "http" {
			s.fault("roots", "an http:// URL has no certificate")
		}
	}
	if v, ok := s.integer("connections", 1, mostConnects); ok {
		a.Connections = v
	}
	if ip, err := netip.ParseAddr(a.URL.Host); err == nil && !s.has("addresses") {
		s.fault("url", "%s is an address and no name; list it: addresses = [%s]", quote(a.URL.Host), quote(netip.PrefixFrom(ip, ip.BitLen()).String()))
	}
	if ip, err := netip.ParseAddr(a.URL.Host); err == nil && len(a.Addresses) > 0 && !slices.ContainsFunc(a.Addresses, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		s.fault("addresses", "the URL's own address %s lies in none of them, so that nothing could be dialled", quote(a.URL.Host))
	}
	return a
}

// allowedURL reads the one URL of an entry with the reader of what guests ask
// for, so that the two cannot understand it differently.
func (s section) allowedURL(text string) stricturl.URL {
	u, err := stricturl.Parse(text)
	switch {
	case err != nil:
		s.fault("url", "%s: %v", quote(text), err)
		return stricturl.URL{}
	case u.HasQuery:
		s.fault("url", "%s has a query; write scheme, host, port and path", quote(text))
		return stricturl.URL{}
	case strings.TrimPrefix(text, u.Scheme+"://") == u.Authority():
		s.fault("url", "%s has no path; write %s to allow the whole host", quote(text), quote(text+"/"))
		return stricturl.URL{}
	case strings.Contains(u.Path, "*"):
		s.fault("url", "%s has a *, which is no wildcard; a path that ends in / covers what lies below", quote(text))
		return stricturl.URL{}
	case strings.Contains(u.Path, "%"):
		s.fault("url", "%s has a percent sign in its path; the same path can be written in two ways", quote(text))
		return stricturl.URL{}
	}
	return u
}

// writeMethods are those by which a row of an outbox is delivered. No guest
// sends them.
func writeMethods() []string { return []string{"POST", "PUT", "PATCH", "DELETE"} }

// Writes tells whether an entry takes more than what only reads.
func (a Allow) Writes() bool {
	return slices.ContainsFunc(a.Methods, func(m string) bool { return slices.Contains(writeMethods(), m) })
}

func (s section) methods() []string {
	known := append([]string{"GET", "HEAD"}, writeMethods()...)
	s.require("methods", `methods = ["GET"]`)
	var methods []string
	for _, w := range s.words("methods") {
		switch {
		case slices.Contains(known, w.text):
			methods = append(methods, w.text)
		default:
			s.r.report(w.line, "%s: no method %s%s; known here: %s", s.at("methods"), quote(w.text), nearest.DidYouMean(w.text, known), strings.Join(known, ", "))
		}
	}
	if n := s.node.table["methods"]; n != nil && n.isList && len(n.list) == 0 {
		s.fault("methods", "an empty array allows no request; name the methods")
	}
	return methods
}

// allPrivate tells whether no public address is listed.
func allPrivate(list []netip.Prefix) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(p netip.Prefix) bool {
		a := p.Addr()
		return !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
	})
}

// tooWide tells whether a network is wider than any private one.
func tooWide(p netip.Prefix) bool {
	switch {
	case p.Addr().Is4():
		return p.Bits() < 8
	case p.Addr().IsPrivate():
		return p.Bits() < 7 // fc00::/7 itself
	default:
		return p.Bits() < 16
	}
}

// addresses reads the networks that may be dialled. One that is wider than any
// private network would turn the check off.
func (s section) addresses() []netip.Prefix {
	var list []netip.Prefix
	for _, w := range s.words("addresses") {
		p, err := netip.ParsePrefix(w.text)
		switch {
		case err != nil || p.Addr().Is4In6():
			s.r.report(w.line, "%s: %s is no network; write 10.1.0.0/16, or 127.0.0.1/32 for one address", s.at("addresses"), quote(w.text))
		case p.Masked() != p:
			s.r.report(w.line, "%s: %s has bits set behind its mask; did you mean %s?", s.at("addresses"), quote(w.text), quote(p.Masked().String()))
		case tooWide(p):
			s.r.report(w.line, "%s: %s is wider than any private network; list what the server has", s.at("addresses"), quote(w.text))
		default:
			list = append(list, p)
		}
	}
	if n := s.node.table["addresses"]; n != nil && n.isList && len(n.list) == 0 {
		s.fault("addresses", "an empty array lets no address be dialled; name them, or remove the key to dial public ones")
	}
	return list
}
