package pdk

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString writes a string as encoding/json does: short escapes where there are some, U+2028 and
// U+2029 escaped, and \ufffd for what is not UTF-8.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	begin := 0
	for i := 0; i < len(s); {
		c := s[i]
		if ordinary[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = appendEscape(append(b, s[begin:i]...), c)
			i++
			begin = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[begin:i]...), `\ufffd`...)
			begin = i + size
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[begin:i]...), `\u202`...)
			b = append(b, hexDigits[r&0xf])
			begin = i + size
		}
		i += size
	}
	return append(append(b, s[begin:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	default:
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
	}
}

// appendFloat writes a number as encoding/json and ES6 do: with an exponent if it is very large or
// very small, and that without a leading zero.
func appendFloat(b []byte, f float64, bits int) ([]byte, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return b, failed("JSON has no number for " + strconv.FormatFloat(f, 'g', -1, bits))
	}
	format := byte('f')
	if size := math.Abs(f); size != 0 {
		if bits == 64 && (size < 1e-6 || size >= 1e21) || bits == 32 && (float32(size) < 1e-6 || float32(size) >= 1e21) {
			format = 'e'
		}
	}
	b = strconv.AppendFloat(b, f, format, -1, bits)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b = append(b[:n-2], b[n-1])
	}
	return b, nil
}
