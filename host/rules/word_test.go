package rules

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestContainsWord(t *testing.T) {
	const id = "LK-551902"
	for _, v := range []struct {
		comment, text string
		expect        bool
	}{
		{"alone", id, true},
		{"in a sentence", "My order LK-551902, please.", true},
		{"in brackets", "(LK-551902)", true},
		{"on a line of its own", "order\nLK-551902\nthanks", true},
		{"after a dash", "my order—LK-551902—never came", true},
		{"two hyphens are a dash", "LK-551902--it never came", true},
		{"a hyphen that joins nothing", "LK-551902- it never came", true},
		{"the second time only", "LK-5519021, no: LK-551902", true},
		{"beside Chinese punctuation", "订单：LK-551902。", true},
		{"a digit too few", "LK-55190", false},
		{"in a longer run of digits", "LK-5519021", false},
		{"in a longer run of digits, before it", "7LK-551902", false},
		{"the digits alone", "551902", false},
		{"after a letter", "XLK-551902", false},
		{"before a letter", "LK-551902b", false},
		{"beside Chinese letters", "订单LK-551902", false},
		{"joined by a hyphen", "LK-551902-7", false},
		{"joined by a hyphen before it", "A-LK-551902", false},
		{"joined by another hyphen", "LK-551902\u20117", false},
		{"joined by an underscore", "LK-551902_", false},
		{"broken over two lines", "LK-55\n1902", false},
		{"broken after the hyphen", "LK-\n551902", false},
		{"a zero-width space within", "LK-55\u200b1902", false},
		{"a zero-width space and a digit", "LK-551902\u200b7", false},
		{"a combining mark", "LK-551902\u0301", false},
		{"in lower case", "lk-551902", false},
		{"in full-width digits", "LK-５５１９０２", false},
		{"bidi characters around it", "\u202eLK-551902\u202c", false},
		{"in no text", "", false},
	} {
		if got := containsWord(v.text, id); got != v.expect {
			t.Errorf("%s: %q gives %t", v.comment, v.text, got)
		}
	}
	if containsWord("a", "") || containsWord("", "") {
		t.Error("the empty word stands nowhere")
	}
}

func TestNamesOnlyFrom(t *testing.T) {
	id := regexp.MustCompile(`(?i)(?:LK|BB)-?[0-9]+`)
	for _, v := range []struct {
		comment, text, other string
		expect               bool
	}{
		{"what the other names", "LK-1 and LK-2, LK-1", "LK-2, LK-1", true},
		{"nothing is named", "your order", "", true},
		{"one that the other does not name", "LK-1 and LK-3", "LK-1, LK-2", false},
		{"a longer one", "LK-15", "LK-1", false},
		{"a part of a longer one", "LK-1", "LK-15", false},
		{"a part of a longer word", "LK-1", "XLK-1", false},
		{"in another case", "lk-1", "LK-1", false},
		{"written otherwise", "LK1", "LK-1", false},
		{"within a word of the text", "xLK-1", "LK-2", false},
		{"over a line break", "LK-12", "LK-1\n2", false},
		{"before an invisible character", "LK-1", "LK-1\u200b2", false},
	} {
		if got := namesOnlyFrom(v.text, v.other, id); got != v.expect {
			t.Errorf("%s: %q of %q gives %t", v.comment, v.text, v.other, got)
		}
	}
}

// What is found is there, alone, and found again wherever it is put between blanks.
func FuzzContainsWord(f *testing.F) {
	f.Add("my order LK-551902", "LK-551902")
	f.Add("LK-5519021", "LK-551902")
	f.Add("aaaaaaaa", "aa")
	f.Fuzz(func(t *testing.T, text, word string) {
		if !utf8.ValidString(text) || !utf8.ValidString(word) {
			return // strictjson lets none through
		}
		if containsWord(text, word) && !strings.Contains(text, word) {
			t.Errorf("%q does not stand in %q", word, text)
		}
		if word != "" && !containsWord(text+" "+word+" "+text, word) {
			t.Errorf("%q is not found in itself", word)
		}
	})
}
