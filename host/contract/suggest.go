package contract

import "slices"

// suggest gives ` (did you mean "x"?)` for a keyword that is nearly known.
func suggest(name string) string {
	best, distance := "", 3
	for _, known := range append(knownKeywords(), ownKeywords()...) {
		if d := edits(name, known); d < distance {
			best, distance = known, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean \"" + best + "\"?)"
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{cost, row[j] + 1, row[j+1] + 1})
		}
	}
	return row[len(b)]
}
