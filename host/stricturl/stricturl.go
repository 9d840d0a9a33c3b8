// Package stricturl reads the one form of URL that a config may allow and that
// a guest may ask for. What two parsers could understand differently has no
// place in that form, so that the host that was checked is the host that is
// dialled, and the path that was checked is the path that the server sees.
//
//	http[s]://host[:port][/path][?query]
//
// The scheme and the host are in lower case. The host is a name (RFC 1123, in
// its ASCII form: punycode stays as it is), an IPv4 address of four plain
// decimal numbers, or an IPv6 address in brackets as RFC 5952 writes it. There
// is no user information, zone, trailing dot, fragment or backslash, and no
// percent sign in the host. A path has no dot segment, no empty segment and
// none of these in another writing: what stands percent-encoded in it is valid
// UTF-8 and no control character, dot, slash, backslash or percent sign.
package stricturl

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxLength is how long a URL may be, in bytes.
const MaxLength = 2048

// URL is a URL in its parts, each as it was written.
type URL struct {
	Scheme string // "http" or "https"
	Host   string // without brackets
	Port   uint16 // the scheme's own where none was written
	Path   string // begins with "/"
	Query  string // without "?"

	HasQuery bool // a "?" was written, perhaps with nothing after it
}

// Error says what keeps a text from being such a URL.
type Error struct {
	Word string // "userinfo", "dot_segment": for records
	Text string
}

func (e *Error) Error() string { return e.Text }

// Parse reads a URL. An error is an *Error.
func Parse(text string) (URL, error) {
	var u URL
	if len(text) > MaxLength {
		return u, &Error{"too_long", fmt.Sprintf("the URL is longer than %d bytes", MaxLength)}
	}
	if err := checkBytes(text); err != nil {
		return u, err
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return u, &Error{"scheme", "the URL does not begin with https:// or http://, in lower case"}
	}
	u.Scheme = scheme
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	if err := u.authority(authority); err != nil {
		return u, err
	}
	u.Path, u.Query, u.HasQuery = strings.Cut(rest, "?")
	if u.Path == "" {
		if u.HasQuery {
			return u, &Error{"path", "the URL has no path before its ?"}
		}
		u.Path = "/"
	}
	if err := checkPath(u.Path); err != nil {
		return u, err
	}
	return u, checkQuery(u.Query)
}

// checkBytes lets through what RFC 3986 has for a URL without a fragment.
func checkBytes(text string) error {
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' || c == 0x7f:
			return &Error{"control", "the URL holds a space or a control character"}
		case c >= utf8.RuneSelf && strings.Count(text[:i], "/") < 3:
			return &Error{"not_ascii", "the URL's host holds a character that is not ASCII; write it in punycode (xn--...)"}
		case c >= utf8.RuneSelf:
			return &Error{"not_ascii", "the URL holds a character that is not ASCII; percent-encode it"}
		case c == '\\':
			return &Error{"backslash", "the URL holds a backslash"}
		case c == '#':
			return &Error{"fragment", "the URL has a fragment"}
		case strings.IndexByte("\"<>^`{|}", c) >= 0:
			return &Error{"character", fmt.Sprintf("the URL holds %q; percent-encode it", c)}
		}
	}
	return nil
}

func (u *URL) authority(text string) error {
	if strings.Contains(text, "@") {
		return &Error{"userinfo", "the URL holds user information before an @; credentials belong into a header"}
	}
	if strings.Contains(text, "%") {
		return &Error{"host", "the URL's host holds a percent sign"}
	}
	host, port := text, ""
	hasPort := false
	if strings.HasPrefix(text, "[") {
		var ok bool
		if host, port, ok = strings.Cut(text[1:], "]"); !ok {
			return &Error{"host", "the URL's host has no closing bracket"}
		}
		if hasPort = port != ""; hasPort && port[0] != ':' {
			return &Error{"host", "the URL's host goes on after its bracket"}
		}
		port = strings.TrimPrefix(port, ":")
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Is4In6() || addr.Zone() != "" || addr.String() != host {
			return &Error{"host", "the URL's host is no IPv6 address as RFC 5952 writes it"}
		}
	} else {
		host, port, hasPort = strings.Cut(text, ":")
		if err := checkHost(host); err != nil {
			return err
		}
	}
	u.Host = host
	u.Port = map[string]uint16{"http": 80, "https": 443}[u.Scheme]
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return &Error{"port", "the URL's port is no number from 1 to 65535"}
		}
		u.Port = uint16(n)
	}
	return nil
}

// checkHost admits a name or an IPv4 address. Whatever else ends in a number is
// an address to some parsers (the URL Standard, section 3.5) and a name to others.
func checkHost(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		return nil // four decimal numbers without leading zeros: there is no other form
	}
	if host == "" || len(host) > 253 {
		return &Error{"host", "the URL's host is empty or longer than 253 bytes"}
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	last := labels[len(labels)-1]
	if strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "" {
		return &Error{"host", "the URL's host ends in a number and is no IPv4 address of four plain decimal numbers"}
	}
	return nil
}

func checkLabel(label string) error {
	if label == "" || len(label) > 63 {
		return &Error{"host", "the URL's host has an empty part, or one of more than 63 bytes"}
	}
	if strings.Contains(label, "*") {
		return &Error{"host", "the URL's host holds a *, which is no wildcard; name each host"}
	}
	for i := range len(label) {
		c := label[i]
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !plain && (c != '-' || i == 0 || i == len(label)-1) {
			return &Error{"host", "the URL's host holds something else than a to z, 0 to 9 and hyphens within; write it in lower case"}
		}
	}
	return nil
}

// steps are the characters that make a step, and those that some servers fold
// into them (Unicode compatibility forms).
const steps = `/\.%` + "\u2024\u2025\u2044\u2215\uFE30\uFE52\uFE68\uFE6A\uFF05\uFF0E\uFF0F\uFF3C"

// checkPath holds each segment, decoded, against what a server could take for
// a step to elsewhere. Some servers cut a segment at ";", trim white space, or
// read what they have decoded once more.
func checkPath(path string) error {
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		plain, err := decode(segment)
		if err != nil {
			return err
		}
		if segment == "" && i < len(segments)-1 {
			return &Error{"empty_segment", "the URL's path has two slashes in a row"}
		}
		if strings.ContainsAny(segment, "[]") {
			return &Error{"character", "the URL's path holds a bracket; percent-encode it"}
		}
		name := plain
		if end := strings.IndexAny(plain, ";?#"); end >= 0 {
			name = plain[:end]
		}
		switch name = strings.TrimSpace(name); {
		case name == "." || name == "..":
			return &Error{"dot_segment", "the URL's path has a segment . or .."}
		case name == "" && segment != "":
			return &Error{"empty_segment", "the URL's path has a segment with nothing in it but white space or what stands behind ; ? or #"}
		}
		if strings.Contains(segment, "%") && strings.ContainsAny(decodedOnly(segment), steps) {
			return &Error{"encoded", "the URL's path has a percent-encoded dot, slash, backslash or percent sign"}
		}
	}
	return nil
}

func checkQuery(query string) error {
	_, err := decode(query)
	return err
}

// decode replaces each %xx; what comes out is UTF-8 without control characters.
func decode(text string) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if i+2 >= len(text) || !hex(text[i+1]) || !hex(text[i+2]) {
				return "", &Error{"percent", "the URL holds a percent sign without two hexadecimal digits"}
			}
			n, _ := strconv.ParseUint(text[i+1:i+3], 16, 8) // two hexadecimal digits
			if c = byte(n); c < ' ' || c == 0x7f {
				return "", &Error{"control", "the URL holds a percent-encoded control character"}
			}
			i += 2
		}
		b = append(b, c)
	}
	if !utf8.Valid(b) {
		return "", &Error{"not_utf8", "what the URL holds percent-encoded is not UTF-8"}
	}
	return string(b), nil
}

// decodedOnly gives the bytes that stand percent-encoded in a text that decode took.
func decodedOnly(text string) string {
	var b []byte
	for _, part := range strings.Split(text, "%")[1:] {
		n, _ := strconv.ParseUint(part[:2], 16, 8) // decode has seen the two digits
		b = append(b, byte(n))
	}
	return string(b)
}

// Printable tells whether a text is printable ASCII, as a header's value must be:
// no line break could begin another header.
func Printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

func hex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// Covers tells whether another URL lies within the reach of u, an allowed one:
// the same scheme, host and port, and its path, or one below it where that ends
// in "/".
func (u URL) Covers(other URL) bool {
	if other.Scheme != u.Scheme || other.Host != u.Host || other.Port != u.Port {
		return false
	}
	return other.Path == u.Path || strings.HasSuffix(u.Path, "/") && strings.HasPrefix(other.Path, u.Path)
}

// Authority is host and port as a request has them, with brackets where they
// belong and without the scheme's own port.
func (u URL) Authority() string {
	host := u.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Scheme == "http" && u.Port == 80 || u.Scheme == "https" && u.Port == 443 {
		return host
	}
	return host + ":" + strconv.Itoa(int(u.Port))
}

// Target is path and query as a request line has them.
func (u URL) Target() string {
	if u.HasQuery {
		return u.Path + "?" + u.Query
	}
	return u.Path
}

// String writes the URL. Parse reads it as u again.
func (u URL) String() string { return u.Scheme + "://" + u.Authority() + u.Target() }

// IsAddress tells whether the host is an IP address and no name.
func (u URL) IsAddress() bool {
	_, err := netip.ParseAddr(u.Host)
	return err == nil
}
