package pdk

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCut(t *testing.T) {
	cases := []struct {
		rule, text string
		most       int
		want       string
	}{
		{"fits", "abc", 3, "abc"},
		{"one-too-many", "abcd", 3, "abc"},
		{"empty-fits-nothing", "", 0, ""},
		{"nothing-fits-nothing", "a", 0, ""},
		{"less-than-nothing", "a", -1, ""},
		{"least-of-all", "\x00a", math.MinInt, ""},
		{"code-points-not-bytes", "读书会报名", 3, "读书会"},
		{"beyond-the-basic-plane-is-one", "😀😀😀", 2, "😀😀"},
		{"quote-is-two", `""`, 3, `"`},
		{"backslash-is-two", `\\`, 3, `\`},
		{"short-escapes-are-two", "\b\f\n\r\tx", 10, "\b\f\n\r\t"},
		{"other-controls-are-six", "\x00\x1f\x0bx", 18, "\x00\x1f\x0b"},
		{"no-half-escape", "a\x01b", 6, "a"},
		{"nothing-behind-what-does-not-fit", "\x01a", 5, ""},
		{"delete-is-one", "\x7f\x7f", 1, "\x7f"},
		{"web-pages-escapes-are-not-made", "<&>\u2028\u2029x", 5, "<&>\u2028\u2029"},
		{"replacement-character-is-one", "\ufffd\ufffd", 1, "\ufffd"},
		{"broken-byte-is-one", "\xff\xffa", 2, "\xff\xff"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			got, cut := Cut(c.text, c.most)
			if got != c.want || cut != (c.want != c.text) {
				t.Errorf("%q %v, want %q", got, cut, c.want)
			}
		})
	}
}

// onTheWire counts as the host does: its strictjson.AppendString is AppendQuote, and no guest imports the host.
func onTheWire(text string) int {
	b, _ := jsontext.AppendQuote(nil, text) // the error says only that U+FFFD was put in
	return utf8.RuneCount(b) - len(`""`)
}

// FuzzCut: what is left is a beginning of the text that takes at most so many characters; it is the
// whole exactly if that fits, and else the next character would have been too much.
func FuzzCut(f *testing.F) {
	f.Add("", 0)
	f.Add("\x00\x1f\"\\/\b\f\n\r\t\x7f<&>", 20)
	f.Add("读书会 😀\u2028\u2029\ufffd", 7)
	f.Add("\xff\xed\xa0\x80a", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		got, cut := Cut(text, most)
		if !strings.HasPrefix(text, got) || cut != (got != text) {
			t.Fatalf("%q %v of %q", got, cut, text)
		}
		if n := onTheWire(got); n > most && got != "" {
			t.Fatalf("%q takes %d of %d", got, n, most)
		}
		if most >= 0 && cut != (onTheWire(text) > most) {
			t.Fatalf("%q fits %d: %v", text, most, !cut)
		}
		if _, size := utf8.DecodeRuneInString(text[len(got):]); cut && onTheWire(text[:len(got)+size]) <= most {
			t.Fatalf("%q of %q leaves room of %d", got, text, most)
		}
	})
}
