package rules

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// containsWord tells whether a word stands in a text as a whole: byte for byte,
// and no part of a longer one. An id that is the beginning of another must not
// be found in it, so the word goes on, and is not there,
//
//   - in a letter, a digit, a combining mark or "_" beside it;
//   - in a character that is not seen, as a zero-width one: what stands beyond it
//     looks like a part of the word;
//   - over a hyphen that joins it to one of these: "LK-702219-2".
//
// A line break is a character like others: a word that is broken over two lines
// does not stand in the text. The empty word stands in none.
func containsWord(text, word string) bool {
	for at := 0; word != ""; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(word)
		if !goesOn(twoBefore(text[:begin])) && !goesOn(twoAfter(text[end:])) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[begin:])
		at = begin + size
	}
	return false
}

// namesOnlyFrom tells whether all that a pattern finds in a text it finds in the
// other text too, there as whole words. It is for ids in free text: of each that
// is named the other text must speak.
func namesOnlyFrom(text, other string, pattern *regexp.Regexp) bool {
	known := map[string]bool{}
	for _, at := range pattern.FindAllStringIndex(other, -1) {
		if !goesOn(twoBefore(other[:at[0]])) && !goesOn(twoAfter(other[at[1]:])) {
			known[other[at[0]:at[1]]] = true
		}
	}
	for _, at := range pattern.FindAllStringIndex(text, -1) {
		if !known[text[at[0]:at[1]]] {
			return false
		}
	}
	return true
}

// goesOn tells whether a word goes on in the two characters beside it.
func goesOn(near, far rune) bool {
	if near == '-' || near == '\u2010' || near == '\u2011' { // hyphens; a dash, or two hyphens, stand between words
		near = far
	}
	if near < utf8.RuneSelf {
		return near == '_' || '0' <= near && near <= '9' || 'A' <= near && near <= 'Z' || 'a' <= near && near <= 'z'
	}
	return near == utf8.RuneError || unicode.In(near, unicode.L, unicode.N, unicode.M, unicode.Cf, unicode.Co)
}

const none = rune(-1) // there is no such character

func twoBefore(text string) (near, far rune) {
	near, size := utf8.DecodeLastRuneInString(text)
	if size == 0 {
		return none, none
	}
	if far, size = utf8.DecodeLastRuneInString(text[:len(text)-size]); size == 0 {
		far = none
	}
	return near, far
}

func twoAfter(text string) (near, far rune) {
	near, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return none, none
	}
	if far, size = utf8.DecodeRuneInString(text[size:]); size == 0 {
		far = none
	}
	return near, far
}
