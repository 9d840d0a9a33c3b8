package config

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A fault quotes text from the file. These functions keep it on one line,
// without characters that a terminal obeys, and short.

const maxShown = 100 // characters of a foreign text that a fault repeats

// quote gives a value as a quoted string.
func quote(text string) string { return strconv.Quote(shorten(text)) }

// showKey gives a key as the file would write it: bare if it can be.
func showKey(key string) string {
	bare := key != "" && len(key) <= maxShown
	for _, c := range key {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
		bare = bare && ok
	}
	if bare {
		return key
	}
	return quote(key)
}

// clean makes the message of another library fit for a fault.
func clean(message string) string { return printable(shorten(message)) }

// printable is clean for a path, whose end says the most.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown]) + "..."
}

// hidden says whether c is a control character or one that turns the direction
// of text (CVE-2021-42574): who reviews the file must see what is loaded.
func hidden(c rune) bool {
	return unicode.IsControl(c) || c >= 0x202A && c <= 0x202E || c >= 0x2066 && c <= 0x2069
}
