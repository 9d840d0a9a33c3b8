package pdk

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// mostDepth is how many arrays and objects may lie inside each other, so that no input and no value
// that holds itself recurses without end.
const mostDepth = 1000

// reader reads one JSON text. All that it takes is checked on the way: it never looks beyond the text
// and knows no state that a broken text could leave behind.
type reader struct {
	b     []byte
	i     int  // the next byte
	depth int  // of arrays and objects that are open
	kept  bool // nobody writes these bytes again: texts need no copy
	space bool // white space was passed
}

// peek gives the next byte that is not white space, and 0, which no JSON has there, at the end.
func (d *reader) peek() byte {
	for ; d.i < len(d.b); d.i++ {
		switch c := d.b[d.i]; c {
		case ' ', '\n', '\t', '\r':
			d.space = true
		default:
			return c
		}
	}
	return 0
}

// unexpected says what stands where something else was expected.
func (d *reader) unexpected(want string) error {
	found := "the end"
	if d.i < len(d.b) {
		found = strconv.QuoteToASCII(string(d.b[d.i : d.i+1]))
	}
	return failed("expected " + want + " at byte " + strconv.Itoa(d.i) + ", found " + found)
}

// end says whether nothing but white space is left.
func (d *reader) end() error {
	if d.peek(); d.i < len(d.b) {
		return d.unexpected("the end")
	}
	return nil
}

// open goes into the array or object whose first byte is next, and says whether anything is in it.
func (d *reader) open(last byte) (bool, error) {
	d.i++
	if d.depth++; d.depth > mostDepth {
		return false, errDepth
	}
	if d.peek() != last {
		return true, nil
	}
	d.i++
	d.depth--
	return false, nil
}

var errDepth = failed("more than " + strconv.Itoa(mostDepth) + " arrays and objects inside each other")

// more goes on behind an element or member, and says whether another one follows.
func (d *reader) more(last byte) (bool, error) {
	switch d.peek() {
	case ',':
		d.i++
		return true, nil
	case last:
		d.i++
		d.depth--
		return false, nil
	default:
		return false, d.unexpected(`"," or "` + string(rune(last)) + `"`)
	}
}

// name reads a member's name and its colon. The bytes are good until the next name is read.
func (d *reader) name() ([]byte, error) {
	if d.peek() != '"' {
		return nil, d.unexpected("a name")
	}
	raw, plain, err := d.token()
	if err != nil {
		return nil, err
	}
	if !plain {
		raw = unquote(raw)
	}
	if d.peek() != ':' {
		return nil, d.unexpected(`":"`)
	}
	d.i++
	return raw, nil
}

// text reads a string.
func (d *reader) text() (string, error) {
	raw, plain, err := d.token()
	switch {
	case err != nil:
		return "", err
	case !plain:
		return textOf(unquote(raw)), nil
	case d.kept:
		return textOf(raw), nil
	default:
		return string(raw), nil
	}
}

// token reads a string and gives what stands between its quotes. It is plain if that is what it means.
func (d *reader) token() (raw []byte, plain bool, err error) {
	begin := d.i + 1
	rest := d.b[begin:]
	for i, c := range rest {
		if ordinary[c] {
			continue
		}
		if c == '"' {
			d.i = begin + i + 1
			return rest[:i], true, nil
		}
		return d.tokenOn(begin, begin+i)
	}
	return d.tokenOn(begin, len(d.b))
}

// ordinary are the ASCII characters that stand for themselves in a string.
var ordinary = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// tokenOn reads the rest of a string that holds more than ordinary characters.
func (d *reader) tokenOn(begin, i int) (raw []byte, plain bool, err error) {
	escaped := false
	for i < len(d.b) {
		switch c := d.b[i]; {
		case ordinary[c]:
			i++
		case c == '"':
			d.i = i + 1
			raw = d.b[begin:i]
			return raw, !escaped && utf8.Valid(raw), nil
		case c == '\\':
			n := escape(d.b[i+1:])
			if n == 0 {
				d.i = i
				return nil, false, d.unexpected("an escape")
			}
			escaped = true
			i += 1 + n
		case c < ' ':
			d.i = i
			return nil, false, d.unexpected("a character of a string")
		default:
			i++
		}
	}
	d.i = len(d.b)
	return nil, false, d.unexpected("the end of a string")
}

// escape is how many bytes an escape has behind its backslash, or 0 if it is none.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if _, ok := hex4(b[1:]); ok {
			return 5
		}
	}
	return 0
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unquote gives what a string means whose escapes were checked. What is not UTF-8, and half a
// surrogate pair, becomes U+FFFD.
func unquote(raw []byte) []byte {
	out := make([]byte, 0, len(raw)+2*utf8.UTFMax)
	for len(raw) > 0 {
		i := 0
		for i < len(raw) && ordinary[raw[i]] {
			i++
		}
		out, raw = append(out, raw[:i]...), raw[i:]
		if len(raw) == 0 {
			break
		}
		var r rune
		if raw[0] == '\\' {
			r, i = unescape(raw[1:])
			i++
		} else {
			r, i = utf8.DecodeRune(raw)
		}
		out, raw = utf8.AppendRune(out, r), raw[i:]
	}
	return out
}

// unescape reads what stands behind a backslash, which was checked, and how long it is.
func unescape(b []byte) (rune, int) {
	switch b[0] {
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'u':
		return unescapeUnicode(b)
	default:
		return rune(b[0]), 1
	}
}

func unescapeUnicode(b []byte) (rune, int) {
	r, _ := hex4(b[1:])
	if !utf16.IsSurrogate(r) {
		return r, 5
	}
	if len(b) >= 7 && b[5] == '\\' && b[6] == 'u' {
		low, _ := hex4(b[7:])
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 11
		}
	}
	return utf8.RuneError, 5
}

// number reads a number and gives its characters.
func (d *reader) number() ([]byte, error) {
	b, i := d.b, d.i
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := i
	i = digits(b, i)
	if i == whole || b[whole] == '0' && i > whole+1 {
		return nil, d.unexpected("a number")
	}
	if i < len(b) && b[i] == '.' {
		fraction := i + 1
		if i = digits(b, fraction); i == fraction {
			return nil, d.unexpected("a number")
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		power := i + 1
		if power < len(b) && (b[power] == '+' || b[power] == '-') {
			power++
		}
		if i = digits(b, power); i == power {
			return nil, d.unexpected("a number")
		}
	}
	begin := d.i
	d.i = i
	return b[begin:i], nil
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

// word reads null, true or false.
func (d *reader) word(w string) error {
	if len(d.b)-d.i < len(w) || string(d.b[d.i:d.i+len(w)]) != w {
		return d.unexpected(w)
	}
	d.i += len(w)
	return nil
}

// raw reads any value and gives its bytes.
func (d *reader) raw() ([]byte, error) {
	d.peek()
	begin := d.i
	err := d.skip()
	return d.b[begin:d.i:d.i], err
}

// skip reads any value and checks it.
func (d *reader) skip() error {
	switch d.peek() {
	case '{':
		return d.skipObject()
	case '[':
		return d.skipArray()
	case '"':
		_, _, err := d.token()
		return err
	case 't':
		return d.word("true")
	case 'f':
		return d.word("false")
	case 'n':
		return d.word("null")
	default:
		_, err := d.number()
		return err
	}
}

func (d *reader) skipObject() error {
	more, err := d.open('}')
	for more && err == nil {
		if _, err = d.name(); err != nil {
			return err
		}
		if err = d.skip(); err != nil {
			return err
		}
		more, err = d.more('}')
	}
	return err
}

func (d *reader) skipArray() error {
	more, err := d.open(']')
	for more && err == nil {
		if err = d.skip(); err != nil {
			return err
		}
		more, err = d.more(']')
	}
	return err
}
