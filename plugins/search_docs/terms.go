package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/pdk"
)

const (
	mostTerms = 20  // in two forms each, and five passages to read: less than limits.host_calls
	mostTerm  = 100 // characters of a word that the host searches for
	before    = 150 // characters of an excerpt before the term that it is about
)

// terms splits a query into what is searched for, in lower case, each once. A
// word is letters and digits, with hyphens in it (T-24121). Chinese has no
// spaces between words: a run of Han characters becomes each two that stand
// together. One letter or digit alone is no term, as every passage holds it.
func terms(query string) []string {
	var all []string
	add := func(term string) {
		if len(all) < mostTerms && !slices.Contains(all, term) {
			all = append(all, term)
		}
	}
	for _, run := range runs(strings.Map(unicode.ToLower, query)) {
		switch {
		case unicode.Is(unicode.Han, run[0]) && len(run) > 1:
			for i := range run[1:] {
				add(string(run[i : i+2]))
			}
		case len(run) > 1 || !unicode.In(run[0], unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Nd):
			add(string(run[:min(len(run), mostTerm)]))
		}
	}
	return all
}

// runs are the longest parts of a text that are a word, or Han characters.
func runs(text string) (all [][]rune) {
	kind := ' '
	for _, r := range text {
		was := kind
		switch {
		case unicode.Is(unicode.Han, r):
			kind = 'h'
		case unicode.In(r, unicode.L, unicode.N), was == 'w' && (r == '-' || unicode.Is(unicode.M, r)):
			kind = 'w'
		default:
			kind = ' '
		}
		switch {
		case kind == ' ':
		case kind != was:
			all = append(all, []rune{r})
		default:
			all[len(all)-1] = append(all[len(all)-1], r)
		}
	}
	for i, run := range all {
		all[i] = []rune(strings.TrimRight(string(run), "-"))
	}
	return all
}

// forms are what the host is asked for a term. It folds the case of ASCII
// alone, so that an accented first letter is asked for in both: étiquette too
// where a sentence begins with Étiquette.
func forms(term string) []string {
	first, size := utf8.DecodeRuneInString(term)
	if upper := unicode.ToUpper(first); first >= utf8.RuneSelf && upper != first {
		return []string{term, string(upper) + term[size:]}
	}
	return []string{term}
}

// ranked gives the ids that hold the most terms, at most so many, those of
// equally many by id; and whether there are others.
func ranked(held map[string]int, most int) (best []string, more bool) {
	all := slices.SortedFunc(maps.Keys(held), func(a, b string) int {
		return cmp.Or(cmp.Compare(held[b], held[a]), cmp.Compare(a, b))
	})
	return all[:min(len(all), most)], len(all) > most
}

// excerpt gives the part of a text around the first of the terms that occurs
// in it, and says whether something was cut. Where all fits it is the whole,
// and where no term occurs (it stood in the title) the beginning.
func excerpt(text string, terms []string) (string, bool) {
	beginning, cut := pdk.Cut(text, mostExcerpt)
	if !cut {
		return text, false
	}
	folded := strings.Map(unicode.ToLower, text) // of as many characters
	for _, term := range terms {
		at := strings.Index(folded, term)
		if at < 0 {
			continue
		}
		start := max(0, utf8.RuneCountInString(folded[:at])-before)
		around, cut := pdk.Cut(fromWord([]rune(text), start), mostExcerpt)
		return around, cut || start > 0
	}
	return beginning, true
}

// fromWord is a text from a place on, without the half word that it may begin
// with; Chinese has no half words.
func fromWord(text []rune, start int) string {
	if start == 0 {
		return string(text)
	}
	for i, r := range text[start : start+before] {
		if unicode.IsSpace(r) {
			return string(text[start+i+1:])
		}
	}
	return string(text[start:])
}
