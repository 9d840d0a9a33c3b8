package audit

import (
	"cmp"
	"errors"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// diagnose says how the lines differ from what the tree file and their own
// numbers say. Who changes a line and leaves the tree alone is found by the
// hash of that very line; who makes the tree anew as well, by the numbers or by
// the checkpoints.
func (v *verifier) diagnose(n int64) error {
	lines, numbers, all, err := v.linesAgain()
	if err != nil {
		return err
	}
	if v.tree != nil {
		v.alongTree(lines, numbers, all)
	}
	if v.differences == 0 {
		v.alongNumbers(lines, numbers)
	}
	if v.differences == 0 && v.tree != nil {
		v.treeDiffers("has other hashes than those of %d entries; delete it, opening the log makes it again", n)
	}
	return nil
}

// maxBreaks is after how many lines that do not follow the one before no more
// are looked at: more than enough to tell is wrong with those before.
const maxBreaks = 100_000

// linesAgain gives the hashes of the lines, and the numbers that they have of
// themselves, -1 of what is no entry. Where the file is full of what was never
// written, not all are given.
func (v *verifier) linesAgain() (lines []tlog.Hash, numbers []int64, all bool, err error) {
	breaks, before := 0, int64(-1)
	enough := errors.New("enough")
	_, err = v.eachLine(func(line []byte, leaf tlog.Hash) error {
		number := int64(-1)
		if e, err := ReadEntry(line); err == nil {
			number = e.Seq
		}
		lines, numbers = append(lines, leaf), append(numbers, number)
		if number != before+1 {
			breaks++
		}
		before = number
		if breaks > maxBreaks {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		return lines, numbers, false, nil
	}
	return lines, numbers, true, err
}

// differs tells of one difference, unless the line was told to be too long.
func (v *verifier) differs(fault Fault, line int64, format string, args ...any) {
	v.differences++
	if !v.long[line] {
		v.report.found(fault, entriesFile, line, format, args...)
	}
}

func (v *verifier) treeDiffers(format string, args ...any) {
	v.differences++
	v.report.found(FaultTree, treeFile, 0, format, args...)
}

// moreLeaves is how many hashes of lines that there are not are looked at.
const moreLeaves = 100_000

// leaves reads the hashes of lines from the tree file; all is false where there
// are many more than so many lines.
func (v *verifier) leaves(lines int) (out []tlog.Hash, all bool) {
	for n := int64(0); tlog.StoredHashIndex(0, n) < v.hashes; n++ {
		if n > int64(lines)+moreLeaves {
			return out, false
		}
		out = append(out, v.leafInTree(n))
	}
	return out, true
}

// places gives where each hash stands.
func places(of []tlog.Hash) map[tlog.Hash]int {
	out := make(map[tlog.Hash]int, len(of))
	for i, h := range of {
		if _, twice := out[h]; !twice {
			out[h] = i
		}
	}
	return out
}

// maxFindings is how many differences are told one by one.
const maxFindings = 100

// covered is how many lines, from the first, are what a checkpoint says: the
// last that fits. Where the tree does not go with one of these, it is the tree
// that has changed.
func (v *verifier) covered() int {
	signed := int64(0)
	for _, c := range v.notes {
		if c.known && !c.wrong {
			signed = max(signed, c.Entries)
		}
	}
	return int(signed)
}

// alongTree walks lines and leaves side by side.
func (v *verifier) alongTree(lines []tlog.Hash, numbers []int64, all bool) {
	leaves, allLeaves := v.leaves(len(lines))
	start := min(v.covered(), len(leaves), len(lines))
	for k := range start {
		if lines[k] != leaves[k] {
			v.treeDiffers("the hash of entry %d is wrong; delete the file, opening the log makes it again", k)
			break
		}
	}
	inLeaves, inLines := places(leaves), places(lines)
	i, j := start, start
	for i < len(lines) && j < len(leaves) {
		if v.tooMany(i) {
			return
		}
		if leaves[j] == (tlog.Hash{}) && lines[i] != leaves[j] { // a page that a crash of the machine kept from the disk
			if !v.lostPage {
				v.lostPage = true
				v.treeDiffers("lacks hashes from entry %d on; opening the log makes them", j)
			}
			i, j = i+1, j+1
			continue
		}
		if lines[i] == leaves[j] {
			i, j = i+1, j+1
			continue
		}
		stands, written := inLeaves[lines[i]]
		next, follows := inLines[leaves[j]]
		switch {
		case written && stands > j && next == i+stands-j:
			v.differs(FaultSwapped, int64(i+1), "entries %d and %d have changed places", j, stands)
			lines[i], lines[next] = lines[next], lines[i]
			inLines[lines[i]], inLines[lines[next]] = i, next
		case written && stands > j && (!follows || next < i):
			v.differs(FaultRemoved, int64(i+1), "%s missing before this line", entriesAre(j, stands))
			j = stands
		case written && stands < j:
			v.differs(FaultCopied, int64(i+1), "the line is a copy of entry %d", stands)
			i++
		case follows && next > i:
			if !v.foreign(i, next, numbers) {
				return
			}
			i = next
		default:
			v.differs(FaultEdited, int64(i+1), "%s", editedText(j, numbers[i]))
			i, j = i+1, j+1
		}
	}
	switch {
	case i < len(lines) && allLeaves || all && allLeaves:
		v.afterTree(lines[i:], i, numbers, leaves, j)
	case i < len(lines), !all && v.differences > 0:
		v.differs(FaultEdited, int64(i+1), "and more from here on")
	case !all: // the tree goes with lines that are none
	default:
		v.differs(FaultCut, int64(i+1), "entries %d to %d, and more, are missing at the end", j, len(leaves)-1)
	}
}

// afterTree tells what is left over when the lines or the leaves end: the lines
// from i on, or the leaves from j on.
func (v *verifier) afterTree(lines []tlog.Hash, i int, numbers []int64, leaves []tlog.Hash, j int) {
	switch {
	case len(lines) == 0 && j < len(leaves):
		v.differs(FaultCut, int64(i+1), "%s missing at the end", entriesAre(j, len(leaves)))
		return
	case len(lines) == 0:
		return
	}
	copied, ok := places(leaves)[lines[0]]
	switch {
	case ok && i >= v.covered():
		v.differs(FaultCopied, int64(i+1), "the line is a copy of entry %d", copied)
	case numbers[i] >= 0 && numbers[i] < int64(j):
		v.differs(FaultTwoWriters, int64(i+1), "%s", secondEntry(numbers[i]))
	case numbers[i] < 0:
		v.differs(FaultInserted, int64(i+1), "the line was put in: the tree has no entry there, and it is none")
	default:
		v.treeDiffers("has no hash of the last %d entries; opening the log makes them", len(lines))
	}
}

// tooMany ends a walk of which enough was told.
func (v *verifier) tooMany(i int) bool {
	if v.differences <= maxFindings {
		return false
	}
	v.differs(FaultEdited, int64(i+1), "and more from here on")
	return true
}

// foreign tells of lines that were never written where they stand.
func (v *verifier) foreign(from, to int, numbers []int64) bool {
	for i := from; i < to; i++ {
		if v.tooMany(i) {
			return false
		}
		text := "the line was put in: the tree has no entry there"
		if numbers[i] < 0 {
			text += ", and it is none"
		}
		v.differs(FaultInserted, int64(i+1), "%s", text)
	}
	return true
}

func editedText(entry int, number int64) string {
	text := "entry " + itoa(entry) + " is not the one that was written"
	if number < 0 {
		text += ", and is no entry any more"
	}
	return text
}

func entriesAre(from, to int) string {
	if to-from == 1 {
		return "entry " + itoa(from) + " is"
	}
	return "entries " + itoa(from) + " to " + itoa(to-1) + " are"
}

func secondEntry(number int64) string {
	return "the line is a second entry " + itoa(int(number)) + ": two hosts wrote this log without its lock, or the line was put in"
}

// alongNumbers holds the lines against their own numbers, where the tree goes
// with the lines and was made anew by who changed them.
func (v *verifier) alongNumbers(lines []tlog.Hash, numbers []int64) {
	first := places(lines)
	times, seen := map[int64]int{}, map[int64]bool{}
	for _, number := range numbers {
		times[number]++
	}
	want := int64(0)
	for i := range numbers {
		if v.tooMany(i) {
			return
		}
		line, got := int64(i+1), numbers[i]
		isNext := i+1 < len(numbers) && numbers[i+1] == want
		other := int64(i) + got - want // where the wanted one stands if the two were swapped
		switch {
		case got == want:
		case got >= 0 && first[lines[i]] < i:
			v.differs(FaultCopied, line, "the line is a copy of line %d", first[lines[i]]+1)
			continue
		case seen[got]:
			v.differs(FaultTwoWriters, line, "%s", secondEntry(got))
			continue
		case got > want && times[got] == 1 && other < int64(len(numbers)) && numbers[other] == want:
			v.differs(FaultSwapped, line, "entries %d and %d have changed places", want, got)
			numbers[i], numbers[other] = want, got
			first[lines[i]], first[lines[other]] = i, int(other)
		case isNext && got < 0:
			v.differs(FaultInserted, line, "the line was put in, and is no entry")
			continue
		case isNext:
			v.differs(FaultInserted, line, "the line, of entry %d, was put in before entry %d", got, want)
			continue
		case got < 0:
			v.differs(FaultEdited, line, "the line is no entry")
		case got < want || i+1 < len(numbers) && numbers[i+1] == want+1:
			v.differs(FaultEdited, line, "holds entry %d, expected %d", got, want)
		default:
			v.differs(FaultRemoved, line, "%s missing before this line", entriesAre(int(want), int(got)))
			want = got
		}
		seen[want] = true
		want++
	}
}

// holdNotes tells of the checkpoints that the log is not what they say.
func (v *verifier) holdNotes(n int64) {
	good, bad := int64(0), int64(-1) // the last that fits before the first that does not
	slices.SortStableFunc(v.notes, func(a, b *signedNote) int { return cmp.Compare(a.Entries, b.Entries) })
	for _, c := range v.notes {
		if c.known && c.wrong && c.kept == "" {
			bad = c.Entries
			break
		}
		if c.known && !c.wrong {
			good = c.Entries
		}
	}
	for _, c := range v.notes {
		switch {
		case c.Entries == 0:
		case !c.known && c.kept != "":
			v.report.found(FaultCut, c.kept, 0, "the checkpoint is of %d entries, the log holds %d: its end was cut off", c.Entries, n)
		case !c.known:
			v.inNotes(FaultCut, c.number, "checkpoint %d is of %d entries, the log holds %d: its end was cut off", c.number, c.Entries, n)
		case c.wrong && c.kept != "" && bad < 0:
			v.report.found(FaultForked, c.kept, 0, "the checkpoint of %d entries is of another history of this log: it was written again and signed, or two copies of it went on apart", c.Entries)
		case c.wrong && c.kept != "":
			v.report.found(FaultRewritten, c.kept, 0, "the checkpoint of %d entries does not fit the log", c.Entries)
		case !c.wrong && c.kept != "":
			v.report.Kept++
		case !c.wrong:
			v.report.Signed = max(v.report.Signed, c.Entries)
		}
	}
	if bad >= 0 {
		v.report.found(FaultRewritten, entriesFile, good+1, "checkpoints say that %s changed: that of %d entries does not fit", someOf(good, bad), bad)
	}
}

func someOf(good, bad int64) string {
	if bad-good == 1 {
		return "entry " + itoa(int(good)) + " was"
	}
	return "some of the entries " + itoa(int(good)) + " to " + itoa(int(bad-1)) + " were"
}
