// Package nearest says which known name a misspelt one was meant to be.
package nearest

import (
	"fmt"
	"strings"
)

const (
	maxDistance   = 2
	maxCandidates = 500 // a longer list would cost more than the hint is worth
	maxWord       = 64
)

// DidYouMean gives ` (did you mean "x"?)` for the candidate nearest to word, or
// nothing. Case is no difference here, though it is one to the reader.
func DidYouMean(word string, candidates []string) string {
	if best := Name(word, candidates); best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	return ""
}

// Name gives the candidate that is at most two letters away from word, or "".
func Name(word string, candidates []string) string {
	if len(word) > maxWord || len(candidates) > maxCandidates {
		return ""
	}
	best, least := "", maxDistance+1
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		// A word that shares no letter with the candidate is no misspelling of it.
		if d < least && d < len(word) && d < len(c) {
			best, least = c, d
		}
	}
	return best
}

// distance is the Levenshtein distance of a and b, or more than maxDistance.
func distance(a, b string) int {
	if len(a)-len(b) > maxDistance || len(b)-len(a) > maxDistance {
		return maxDistance + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
