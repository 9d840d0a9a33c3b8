package capabilities

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/stricturl"
)

// A URLTemplate is the URL of a delivery in which {name} stands for one whole
// segment of the path:
//
//	https://erp.example/v1/orders/{args.order_id}/refunds
//
// Whatever the values are, the URL keeps the template's scheme, host, port,
// number of segments and literal segments, and has no query (FuzzURLTemplate). A
// value is never escaped: what an escape would have to be made for is refused,
// because servers differ in how often they take one away.
//
// The zero URLTemplate renders to nothing.
type URLTemplate struct {
	origin   string // "https://erp.example"
	segments []urlSegment
}

// A urlSegment is literal text, or a name.
type urlSegment struct{ text, name string }

// ParseURLTemplate reads a template.
func ParseURLTemplate(text string) (URLTemplate, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	host, path, ok := strings.Cut(rest, "/")
	switch {
	case !ok:
		return URLTemplate{}, errors.New("the URL has no scheme or no path; write https://host/path")
	case strings.ContainsAny(scheme+host, "{}"):
		return URLTemplate{}, errors.New("a value cannot choose the host; it can be a segment of the path")
	}
	t := URLTemplate{origin: scheme + "://" + host}
	for _, segment := range strings.Split(path, "/") {
		s := urlSegment{text: segment}
		if inner := strings.Trim(segment, "{}"); segment == "{"+inner+"}" && inner != "" && !strings.ContainsAny(inner, "{}") {
			s = urlSegment{name: inner}
		} else if strings.ContainsAny(segment, "{}") {
			return URLTemplate{}, fmt.Errorf("the segment %q is neither text nor one value; a value is a whole segment, as in /orders/{args.order_id}/refunds", shorten(segment))
		}
		t.segments = append(t.segments, s)
	}
	tried, err := t.Render(func(string) (string, bool) { return "x", true })
	if err != nil {
		return URLTemplate{}, err
	}
	if strings.ContainsAny(tried, "?%*") {
		return URLTemplate{}, errors.New("the URL has a query, a percent sign or a *; write scheme, host, port and a plain path")
	}
	return t, nil
}

// Names gives the names that stand for values, in order.
func (t URLTemplate) Names() []string {
	var names []string
	for _, s := range t.segments {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	return names
}

// Render puts the values in their places. Its errors name the value that does
// not fit and not what it is.
func (t URLTemplate) Render(value func(name string) (string, bool)) (string, error) {
	if t.origin == "" {
		return "", errors.New("there is no URL")
	}
	var b strings.Builder
	b.WriteString(t.origin)
	for _, s := range t.segments {
		b.WriteByte('/')
		if s.name == "" {
			b.WriteString(s.text)
			continue
		}
		v, ok := value(s.name)
		if !ok {
			return "", fmt.Errorf("{%s} has no value", s.name)
		}
		if err := CheckSegment(v); err != nil {
			return "", fmt.Errorf("{%s}: %w", s.name, err)
		}
		b.WriteString(v)
	}
	if _, err := stricturl.Parse(b.String()); err != nil {
		return "", err
	}
	return b.String(), nil
}

const maxSegment = 200 // bytes

// CheckSegment tells whether a value can stand as one segment of a path: letters,
// digits and - . _ ~ (RFC 3986, section 2.3: the characters that mean nothing and
// that no reader escapes), with no dot at either end. So it is neither empty nor
// a step, and not a name that some systems cut to another (a file "x.").
func CheckSegment(value string) error {
	switch {
	case value == "":
		return errors.New("an empty value is no segment of a path")
	case len(value) > maxSegment:
		return fmt.Errorf("the value is longer than %d bytes", maxSegment)
	case value[0] == '.' || value[len(value)-1] == '.':
		return errors.New("a segment of a path with a dot at its beginning or end can be a step")
	}
	for i := range len(value) {
		c := value[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !plain && strings.IndexByte("-._~", c) < 0 {
			return errors.New("the value holds something else than letters, digits and - . _ ~ of ASCII")
		}
	}
	return nil
}
