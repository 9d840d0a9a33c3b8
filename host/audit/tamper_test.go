package audit

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// Nothing has to be told of a log that nobody touched, closed or killed.
func TestUntouched(t *testing.T) {
	p := finished(t)
	r := wantSound(t, p)
	if r.Entries != 41 || r.Signed != 41 || r.Checkpoints != 6 || r.Kept != 1 || r.Values.Whole != 80 || r.Recoveries != 0 {
		t.Errorf("a log of 41 entries, 6 checkpoints and 80 sealed values: %+v", r)
	}
	p = abandoned(t)
	if r := wantSound(t, p); r.Entries != 41 || r.Signed != 40 {
		t.Errorf("a killed log of 41 entries, 40 of them signed: %+v", r)
	}
}

// The lines are changed. A tamperer may leave the tree file alone, and then the
// hash of the very line tells; or make it anew, and then the numbers in the
// lines tell, or the checkpoints alone. Line 12 lies between the checkpoints of
// 8 entries, which still fits, and of 16, which does not.
func TestTamperWithLines(t *testing.T) {
	t.Parallel()
	for _, test := range lineTamperings {
		t.Run(test.name+"/tree-left-alone", func(t *testing.T) {
			t.Parallel()
			p := finished(t)
			p.writeLines(t, test.change(t, p.lines(t)))
			wantTold(t, p.verify(t), slices.Concat(test.left, byCheckpoints(t, p))...)
			openAfter(t, p, test.open, test.left[0])
		})
		t.Run(test.name+"/tree-made-anew", func(t *testing.T) {
			t.Parallel()
			p := finished(t)
			p.writeLines(t, test.change(t, p.lines(t)))
			p.treeAnew(t)
			wantTold(t, p.verify(t), slices.Concat(test.anew, byCheckpoints(t, p))...)
			openAfter(t, p, cmp.Or(test.openAnew, "does not give the root of the last checkpoint"), "")
		})
	}
}

type lineTampering struct {
	name     string
	change   func(*testing.T, []string) []string
	left     []string // found where the tree was left alone, beside what the checkpoints tell
	anew     []string // found where the tree was made anew
	open     string   // how Open refuses with the tree left alone; "": it cannot see it
	openAnew string   // with the tree made anew; "": by the root
}

var lineTamperings = []lineTampering{
	{
		name:   "an-edited-byte",
		change: func(_ *testing.T, l []string) []string { return edit(l, 11, "get_order", "get_ordes") },
		left:   []string{"edited entries.jsonl:12"},
	},
	{
		name:   "an-edited-byte-that-ends-the-JSON",
		change: func(_ *testing.T, l []string) []string { return edit(l, 11, "{", "[") },
		left:   []string{"edited entries.jsonl:12"},
		anew:   []string{"edited entries.jsonl:12"},
	},
	{
		name:   "an-edited-number",
		change: func(_ *testing.T, l []string) []string { return edit(l, 11, `"seq":11`, `"seq":77`) },
		left:   []string{"edited entries.jsonl:12"},
		anew:   []string{"edited entries.jsonl:12"},
	},
	{
		name: "an-edited-field-in-a-canonical-line",
		change: func(t *testing.T, l []string) []string {
			e := entry(t, l[11])
			e.Call.Outcome, e.Call.Ran = "failed", false
			l[11] = lineOf(t, e)
			return l
		},
		left: []string{"edited entries.jsonl:12"},
		open: "its end was cut off", // it is shorter now
	},
	{
		name:     "a-removed-line",
		change:   func(_ *testing.T, l []string) []string { return slices.Delete(l, 11, 12) },
		left:     []string{"removed entries.jsonl:12"},
		anew:     []string{"removed entries.jsonl:12"},
		open:     "its end was cut off",
		openAnew: "line 12: holds entry 12, expected 11",
	},
	{
		name:     "a-removed-line-and-all-after-it-renumbered",
		change:   func(t *testing.T, l []string) []string { return renumbered(t, slices.Delete(l, 11, 12)) },
		left:     append(eachEdited(12, 40), "cut entries.jsonl:41"),
		open:     "its end was cut off",
		openAnew: "holds 40 entries, the last checkpoint knows 41",
	},
	{
		name:   "two-swapped",
		change: func(_ *testing.T, l []string) []string { return swap(l, 11, 12) },
		left:   []string{"swapped entries.jsonl:12"},
		anew:   []string{"swapped entries.jsonl:12"},
	},
	{
		name:   "two-swapped-that-are-not-neighbours",
		change: func(_ *testing.T, l []string) []string { return swap(l, 11, 30) },
		left:   []string{"swapped entries.jsonl:12"},
		anew:   []string{"swapped entries.jsonl:12"},
	},
	{
		name:   "one-put-in-with-a-free-number",
		change: func(t *testing.T, l []string) []string { return slices.Insert(l, 11, forged(t, l[11], 5000)) },
		left:   []string{"inserted entries.jsonl:12"},
		anew:   []string{"inserted entries.jsonl:12"},
		open:   "line 42",
	},
	{
		name:   "one-put-in-with-the-number-of-an-earlier-one",
		change: func(t *testing.T, l []string) []string { return slices.Insert(l, 11, forged(t, l[11], 4)) },
		left:   []string{"inserted entries.jsonl:12"},
		anew:   []string{"two_writers entries.jsonl:12"},
		open:   "line 42",
	},
	{
		name:   "one-put-in-with-the-number-of-the-next", // which of the two was first cannot be told
		change: func(t *testing.T, l []string) []string { return slices.Insert(l, 11, forged(t, l[11], 11)) },
		left:   []string{"inserted entries.jsonl:12"},
		anew:   []string{"two_writers entries.jsonl:13"},
		open:   "line 42",
	},
	{
		name:   "one-put-in-with-the-number-after-the-next",
		change: func(t *testing.T, l []string) []string { return slices.Insert(l, 11, forged(t, l[11], 12)) },
		left:   []string{"inserted entries.jsonl:12"},
		anew:   []string{"inserted entries.jsonl:12"},
		open:   "line 42",
	},
	{
		name:   "one-put-in-that-is-no-entry",
		change: func(_ *testing.T, l []string) []string { return slices.Insert(l, 11, "{}") },
		left:   []string{"inserted entries.jsonl:12"},
		anew:   []string{"inserted entries.jsonl:12"},
		open:   "line 42",
	},
	{
		name: "one-put-in-and-all-after-it-renumbered",
		change: func(t *testing.T, l []string) []string {
			return renumbered(t, slices.Insert(l, 11, forged(t, l[11], 11)))
		},
		left: append(eachEdited(12, 41), "tree tree:0"), // it has no hash of the last
		open: "line 42",
	},
	{
		name:   "a-copied-line",
		change: func(_ *testing.T, l []string) []string { return slices.Insert(l, 11, l[5]) },
		left:   []string{"copied entries.jsonl:12"},
		anew:   []string{"copied entries.jsonl:12"},
		open:   "line 42",
	},
	{
		name:   "a-line-copied-to-right-behind-it",
		change: func(_ *testing.T, l []string) []string { return slices.Insert(l, 11, l[10]) },
		left:   []string{"copied entries.jsonl:12"},
		anew:   []string{"copied entries.jsonl:12"},
		open:   "line 42",
	},
	{
		name:   "a-copy-of-the-first-line-at-the-end",
		change: func(_ *testing.T, l []string) []string { return append(l, l[0]) },
		left:   []string{"copied entries.jsonl:42"},
		anew:   []string{"copied entries.jsonl:42"},
		open:   "line 42", openAnew: "line 42",
	},
}

// byCheckpoints is what the checkpoints tell: of a log that is shorter now,
// also that the last one is of more entries; of one that is longer at its end
// nothing, as it holds what they say.
func byCheckpoints(t *testing.T, p place) []string {
	t.Helper()
	lines := p.lines(t)
	switch {
	case len(lines) < 41:
		return []string{"cut checkpoints:6", "cut the state database:0", "rewritten entries.jsonl:9"}
	case len(lines) == 42 && lines[41] == lines[0]:
		return nil
	}
	return []string{"rewritten the state database:0", "rewritten entries.jsonl:9"}
}

func edit(lines []string, n int, from, to string) []string {
	lines[n] = strings.Replace(lines[n], from, to, 1)
	return lines
}

func swap(lines []string, i, j int) []string {
	lines[i], lines[j] = lines[j], lines[i]
	return lines
}

func renumbered(t *testing.T, lines []string) []string {
	t.Helper()
	for i := range lines {
		if e := entry(t, lines[i]); e.Seq != int64(i) {
			e.Seq = int64(i)
			lines[i] = lineOf(t, e)
		}
	}
	return lines
}

// eachEdited is what is told of lines of which each is another one.
func eachEdited(from, to int) []string {
	var out []string
	for n := from; n <= to; n++ {
		out = append(out, "edited entries.jsonl:"+itoa(n))
	}
	return out
}
