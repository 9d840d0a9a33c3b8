// Package strictjson reads JSON text that an outsider wrote, once and strictly.
//
// What every other decoder sees afterwards is the value that this package
// read, so that no two readers can take one text in two ways:
//
//   - exactly one value as RFC 8259 defines it, in valid UTF-8, with nothing
//     but white space around it;
//   - no name twice in one object, at any depth, escaped or not (RFC 8259,
//     section 4, leaves that open; decoders differ in which one they keep);
//   - no NUL in a name, no lone surrogate in a string;
//   - bounded length, depth, digits and exponents, checked before anything is
//     computed from a number (1e-10000000 costs what 1 costs);
//   - numbers stay the decimal that was written and are never a float64;
//   - members keep their order.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound what Read accepts. A zero field accepts nothing.
type Limits struct {
	Bytes    int // length of the text
	Depth    int // arrays and objects inside each other; a scalar has depth 0
	Digits   int // digits of a number before its exponent, leading zeros of a fraction included
	Exponent int // absolute value of a number's exponent
}

// Default gives the limits that toolhost uses everywhere for a text of at
// most the given number of bytes.
func Default(bytes int) Limits {
	return Limits{Bytes: bytes, Depth: 32, Digits: 64, Exponent: 64}
}

// Error says why a text was not accepted. Its reason never quotes the text.
type Error struct {
	Offset int64  // byte in the text at which reading stopped
	Reason string // lower case, without full stop
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (byte %d)", e.Reason, e.Offset)
}

// The reasons that callers and tests tell apart.
const (
	ReasonEmpty     = "no JSON value"
	ReasonTooLong   = "longer than the limit"
	ReasonTooDeep   = "nested deeper than the limit"
	ReasonDuplicate = "a name stands twice in one object"
	ReasonNUL       = "a name holds NUL"
	ReasonUTF8      = "not valid UTF-8"
	ReasonDigits    = "a number has more digits than the limit"
	ReasonExponent  = "a number has an exponent beyond the limit"
	ReasonTrailing  = "more than one JSON value"
	ReasonSyntax    = "not JSON"
)

// A reader is a decoder with the buffer that it reads from, kept together
// because jsontext reads straight from a bytes.Buffer, without a copy.
type reader struct {
	dec    jsontext.Decoder
	buf    bytes.Buffer
	text   []byte
	limits Limits
}

// readers saves the decoder's own tables (for duplicate names) between calls.
// It holds no text: see release.
var readers = sync.Pool{New: func() any { return new(reader) }}

// Read reads one value. The error is always an *Error.
func Read(text []byte, limits Limits) (Value, error) {
	if len(text) > limits.Bytes {
		return Value{}, &Error{Offset: int64(limits.Bytes), Reason: ReasonTooLong}
	}
	r := readers.Get().(*reader)
	defer r.release()
	r.text, r.limits = text, limits
	r.buf = *bytes.NewBuffer(text)
	r.dec.Reset(&r.buf, jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	v, err := r.value(0)
	if err != nil {
		return Value{}, err
	}
	switch _, err := r.dec.ReadToken(); {
	case errors.Is(err, io.EOF):
		return v, nil
	case err == nil:
		return Value{}, r.fault(ReasonTrailing)
	default:
		return Value{}, r.syntax(err)
	}
}

func (r *reader) release() {
	r.text, r.buf = nil, bytes.Buffer{}
	r.dec.Reset(&r.buf)
	readers.Put(r)
}

func (r *reader) fault(reason string) error {
	return &Error{Offset: r.dec.InputOffset(), Reason: reason}
}

func (r *reader) value(depth int) (Value, error) {
	token, err := r.dec.ReadToken()
	if err != nil {
		return Value{}, r.syntax(err)
	}
	switch token.Kind() {
	case 'n':
		return Value{kind: Null}, nil
	case 't':
		return Value{kind: True}, nil
	case 'f':
		return Value{kind: False}, nil
	case '"':
		return Value{kind: String, text: token.String()}, nil
	case '0':
		return r.number(token.String())
	case '[', '{':
		if depth >= r.limits.Depth {
			return Value{}, r.fault(ReasonTooDeep)
		}
		if token.Kind() == '[' {
			return r.array(depth + 1)
		}
		return r.object(depth + 1)
	default:
		return Value{}, r.fault(ReasonSyntax)
	}
}

func (r *reader) array(depth int) (Value, error) {
	v := Value{kind: Array}
	for r.dec.PeekKind() != ']' {
		item, err := r.value(depth)
		if err != nil {
			return Value{}, err
		}
		v.members = append(v.members, Member{Value: item})
	}
	return v, r.end()
}

func (r *reader) object(depth int) (Value, error) {
	v := Value{kind: Object}
	for r.dec.PeekKind() != '}' {
		token, err := r.dec.ReadToken()
		if err != nil {
			return Value{}, r.syntax(err)
		}
		name := token.String()
		if strings.IndexByte(name, 0) >= 0 {
			return Value{}, r.fault(ReasonNUL)
		}
		item, err := r.value(depth)
		if err != nil {
			return Value{}, err
		}
		v.members = append(v.members, Member{Name: name, Value: item})
	}
	return v, r.end()
}

func (r *reader) end() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.syntax(err)
	}
	return nil
}

// number keeps the text; the digits and the exponent are counted, not computed.
func (r *reader) number(text string) (Value, error) {
	digits, exponent := 0, 0
	mantissa, exp, _ := strings.Cut(strings.ReplaceAll(text, "E", "e"), "e")
	for _, c := range []byte(mantissa) {
		if '0' <= c && c <= '9' {
			digits++
		}
	}
	if digits > r.limits.Digits {
		return Value{}, r.fault(ReasonDigits)
	}
	for _, c := range []byte(exp) {
		if '0' <= c && c <= '9' && exponent <= r.limits.Exponent {
			exponent = exponent*10 + int(c-'0')
		}
	}
	if exponent > r.limits.Exponent {
		return Value{}, r.fault(ReasonExponent)
	}
	return Value{kind: Number, text: text}, nil
}

// syntax turns the decoder's error into one of our reasons; its own text may
// quote the outsider's and goes no further.
func (r *reader) syntax(err error) error {
	e := &Error{Offset: r.dec.InputOffset(), Reason: ReasonSyntax}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		e.Offset = syntactic.ByteOffset
	}
	switch {
	case errors.Is(err, io.EOF):
		e.Reason = ReasonEmpty
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.Reason = ReasonDuplicate
	case !utf8.Valid(r.text) || strings.Contains(err.Error(), "surrogate"):
		e.Reason = ReasonUTF8
	}
	return e
}
