package nearest

import (
	"strings"
	"testing"
)

func TestSuggestionIsNear(t *testing.T) {
	for _, c := range []struct{ rule, word, want string }{
		{"one-letter-off", "efect", "effect"},
		{"two-letters-swapped", "efefct", "effect"},
		{"case-alone", "EFFECT", "effect"},
		{"three-letters-off-is-another-word", "efctx", ""},
		{"no-letter-shared", "xy", ""},
		{"the-empty-word", "", ""},
		{"a-very-long-word", strings.Repeat("x", 10_000), ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := Name(c.word, []string{"effect", "is"}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
