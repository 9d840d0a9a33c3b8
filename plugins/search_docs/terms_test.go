package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func TestTerms(t *testing.T) {
	cases := []struct {
		rule, query string
		want        []string
	}{
		{"words", "Return a broken chair", []string{"return", "broken", "chair"}},
		{"each-once", "Gift gift GIFT card", []string{"gift", "card"}},
		{"hyphens-within", "T-24121, e-mail -- and -x- ok-", []string{"t-24121", "e-mail", "and", "ok"}},
		{"one-letter-is-none", "a v 7 é д", nil},
		{"french", "L'étiquette d’un Retour, où ?", []string{"étiquette", "un", "retour", "où"}},
		{"accents-in-two-characters", "cafe\u0301 noir", []string{"cafe\u0301", "noir"}},
		{"han-in-twos", "退货标签", []string{"退货", "货标", "标签"}},
		{"lone-han-stays", "退 a", []string{"退"}},
		{"han-beside-words", "API退货30天内", []string{"api", "退货", "30", "天内"}},
		{"kana-and-hangul-are-words", "カタログ 책", []string{"カタログ", "책"}},
		{"punctuation-only", "?! … -- \x00 «»", nil},
		{"one-letter-200-times", strings.Repeat("x", 200), []string{strings.Repeat("x", 100)}},
		{"broken-bytes", "\xff\xfe", nil},
		{"accent-alone-is-none", "\u0301 \u0301", nil},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			if got := terms(c.query); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTermsAreAtMost20(t *testing.T) {
	var han strings.Builder
	for i := range 200 {
		han.WriteRune('一' + rune(i))
	}
	if got := terms(han.String()); len(got) != 20 || got[19] != string([]rune{'一' + 19, '一' + 20}) {
		t.Errorf("%q", got)
	}
}

func TestForms(t *testing.T) {
	cases := []struct {
		rule, term string
		want       []string
	}{
		{"ascii-is-folded-by-the-host", "retour", []string{"retour"}},
		{"accent-within", "réponse", []string{"réponse"}},
		{"accent-first", "étiquette", []string{"étiquette", "Étiquette"}},
		{"han-has-no-case", "退货", []string{"退货"}},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			if got := forms(c.term); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestRanked(t *testing.T) {
	held := map[string]int{"HD-1": 1, "HD-2": 3, "HD-3": 1, "HD-4": 3}
	if got, more := ranked(held, 3); !slices.Equal(got, []string{"HD-2", "HD-4", "HD-1"}) || !more {
		t.Errorf("%q %v", got, more)
	}
	if got, more := ranked(held, 4); len(got) != 4 || more {
		t.Errorf("%q %v", got, more)
	}
	if got, more := ranked(nil, 4); len(got) != 0 || more {
		t.Errorf("%q %v", got, more)
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("many words ", 100) + "the Étiquette is here " + strings.Repeat("and more ", 100)
	cases := []struct {
		rule, text string
		terms      []string
		begins     string
		holds      string
		cut        bool
	}{
		{"all-of-it-fits", "A short text.", []string{"short"}, "A short text.", "", false},
		{"around-the-term", long, []string{"étiquette"}, "many words many", "the Étiquette is here", true},
		{"first-of-the-terms-that-occurs", long, []string{"never", "étiquette", "many"}, "many words many", "the Étiquette is here", true},
		{"near-the-beginning", long, []string{"many"}, "many words many", "", true},
		{"no-term-in-it", long, []string{"never"}, "many words many", "", true},
		{"no-terms", long, nil, "many words many", "", true},
		{"han", strings.Repeat("长", 900) + "退货", []string{"退货"}, "长长", "长退货", true},
		{"last-word", strings.Repeat("x", 700) + " end", []string{"end"}, "end", "", true},
		{"escapes-count", strings.Repeat("\n", 301), nil, "\n", "", true},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			got, cut := excerpt(c.text, c.terms)
			if !strings.HasPrefix(got, c.begins) || !strings.Contains(got, c.holds) || cut != c.cut {
				t.Errorf("%v %q", cut, got)
			}
			if !strings.Contains(c.text, got) || cut != (got != c.text) {
				t.Errorf("%v %q is no part of the text", cut, got)
			}
		})
	}
}

// The longest result that the contract and Cut allow is below limits.result_chars, as the host writes it.
func TestLongestResult(t *testing.T) {
	for _, filling := range []string{"x", "退", "\"", "\x01"} {
		text, _ := excerpt(strings.Repeat(filling, 2000), nil)
		p := passage{ID: strings.Repeat("D", 40), Title: strings.Repeat("退", mostTitle), Excerpt: text, Cut: false}
		raw, err := json.Marshal(result{Passages: slices.Repeat([]passage{p}, mostPassages), More: false})
		if err != nil {
			t.Fatal(err)
		}
		written := jsontext.Value(`{"ok":true,` + string(raw[1:]))
		if err := written.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCount(written); n >= 4000 {
			t.Errorf("%d characters", n)
		}
	}
}
