package capabilities

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A server that repeats its requests (an error page, a debug route) would hand
// the host's secrets to the guest. A response in which one stands, in the ways
// of writing that web servers have, does not reach it. A server that means to
// betray a secret can write it in other ways, and a guest can be told of it
// letter by letter: allow no server that is not trusted with its own secret.

// repeats tells whether a secret stands in the headers or the body.
func repeats(r *http.Response, body []byte, secrets []string) bool {
	forms := formsOf(secrets)
	if len(forms) == 0 {
		return false
	}
	in := func(text []byte) bool {
		return slices.ContainsFunc(readings(text), func(reading []byte) bool {
			return slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(reading, form) })
		})
	}
	if in(body) || in([]byte(r.Status)) {
		return true
	}
	for name, values := range r.Header {
		for _, value := range values {
			// A header's name comes in another case than it was sent.
			if in([]byte(value)) || slices.ContainsFunc(secrets, func(s string) bool { return s != "" && strings.EqualFold(name, s) }) {
				return true
			}
		}
	}
	return false
}

// formsOf gives each way in which a secret is looked for.
func formsOf(secrets []string) [][]byte {
	var forms [][]byte
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		for _, plain := range withDecoded(secret) {
			forms = append(forms, written(plain)...)
			forms = append(forms, base64Forms(plain)...)
		}
	}
	slices.SortFunc(forms, bytes.Compare)
	return slices.CompactFunc(forms, bytes.Equal)
}

// withDecoded is a secret and, where it is base64 as of a name and a password
// (RFC 7617), these.
func withDecoded(secret string) []string {
	plain := []string{secret}
	raw, err := base64.StdEncoding.DecodeString(secret)
	if err != nil || len(raw) < minDecoded {
		return plain
	}
	plain = append(plain, string(raw))
	if _, password, ok := strings.Cut(string(raw), ":"); ok && len(password) >= minDecoded {
		plain = append(plain, password)
	}
	return plain
}

const minDecoded = 6 // bytes; what is shorter occurs by chance

// written is a text as it stands, and in hexadecimal digits.
func written(s string) [][]byte {
	digits := hex.EncodeToString([]byte(s))
	return [][]byte{[]byte(s), []byte(digits), []byte(strings.ToUpper(digits))}
}

// readings are a text as it stands and as one reads it that is written as JSON,
// HTML or URLs are: of these, each server escapes other characters.
func readings(text []byte) [][]byte {
	all := [][]byte{text}
	if bytes.IndexByte(text, '\\') >= 0 {
		all = append(all, withoutBackslashes(text))
	}
	for _, reading := range all {
		if bytes.ContainsAny(reading, space) { // base64 in lines (RFC 2045, section 6.8)
			all = append(all, withoutSpace(reading))
		}
	}
	if bytes.IndexByte(text, '&') >= 0 {
		all = append(all, []byte(html.UnescapeString(string(text))))
	}
	if bytes.IndexByte(text, '%') >= 0 {
		all = append(all, withoutPercents(text, '+'))
	}
	if bytes.IndexByte(text, '+') >= 0 {
		all = append(all, withoutPercents(text, ' '))
	}
	return all
}

const space = " \t\r\n"

func withoutSpace(text []byte) []byte {
	b := make([]byte, 0, len(text))
	for _, c := range text {
		if strings.IndexByte(space, c) < 0 {
			b = append(b, c)
		}
	}
	return b
}

// withoutBackslashes reads \" \/ \n \u002f \x2f.
func withoutBackslashes(text []byte) []byte {
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b = append(b, text[i])
			continue
		}
		i++
		digits := 0
		switch text[i] {
		case 'u':
			digits = 4
		case 'x':
			digits = 2
		case 'n', 'r':
			b = append(b, '\n')
			continue
		}
		n, err := strconv.ParseUint(string(text[i+1:min(i+1+digits, len(text))]), 16, 16)
		if err != nil {
			b = append(b, text[i])
			continue
		}
		b = utf8.AppendRune(b, rune(n))
		i += digits
	}
	return b
}

// withoutPercents reads %2f, and a plus sign as it is meant.
func withoutPercents(text []byte, plus byte) []byte {
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '+' {
			c = plus
		}
		if c == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(string(text[i+1:i+3]), 16, 8); err == nil {
				c = byte(n)
				i += 2
			}
		}
		b = append(b, c)
	}
	return b
}

// base64Forms gives what of the base64 of any text with s in it is sure: it
// depends on where in the text s begins.
func base64Forms(s string) [][]byte {
	var forms [][]byte
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + s
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(padded))
			from := []int{0, 2, 3}[before]         // characters that the bytes before have a part in
			to := len(padded) / 3 * 4              // the last ones depend on what follows
			if to > from+7 && to <= len(encoded) { // what is shorter occurs by chance
				forms = append(forms, []byte(encoded[from:to]))
			}
		}
	}
	return forms
}
