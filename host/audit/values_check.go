package audit

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/host/regularfile"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A valueCheck looks into what is sealed: all of it must open and fit its
// commitments, or be gone by an entry that says so.
type valueCheck struct {
	folder  string
	people  *people
	report  *Report
	keys    map[string]*person // by pseudonym; nil: gone
	missing map[gonePart]goneCount
	erased  map[string]bool // pseudonyms that an entry says were erased
	strange map[string]bool // days whose file is no regular one
	before  string          // values of earlier days have expired
	faults  int
	failed  error // people.db could not be asked
}

// A gonePart waits for the entry that says why it is gone.
type gonePart struct {
	person, day string
	key         bool // the key is gone, else the file
}

// goneCount is how many texts are gone for one reason, and the first entry
// that needs one.
type goneCount struct{ texts, seq int64 }

func (c *valueCheck) gone(seq int64, part gonePart) {
	n, ok := c.missing[part]
	if !ok {
		n.seq = seq
	}
	n.texts++
	c.missing[part] = n
}

// newValueCheck gives nil where there is nothing to look with.
func newValueCheck(folder string, k *key, r *Report) *valueCheck {
	path := filepath.Join(folder, peopleFile)
	var p *people
	err := regularDB(path)
	if err == nil {
		p, err = readPeople(path, k)
	}
	if errors.Is(err, os.ErrNotExist) {
		r.found(FaultValues, peopleFile, 0, "is not there: no value can be opened")
		return nil
	}
	if err != nil {
		r.found(FaultValues, peopleFile, 0, "cannot be read, so that no value can be opened: %v", err)
		return nil
	}
	r.Values.Looked = true
	c := &valueCheck{folder: folder, people: p, report: r, keys: map[string]*person{}, erased: map[string]bool{}, missing: map[gonePart]goneCount{}, strange: map[string]bool{}}
	wrong, err := p.check()
	if isBusy(err) {
		c.failed = err
	} else if err != nil {
		c.found(peopleFile, 0, "%v", err)
	}
	for _, pseudonym := range wrong {
		c.found(peopleFile, 0, "the row of %s is damaged, or was made or changed without this log's key", pseudonym)
	}
	return c
}

// found tells of the first faults one by one.
func (c *valueCheck) found(file string, line int64, format string, args ...any) {
	if c.faults++; c.faults <= maxFindings {
		c.report.found(FaultValues, file, line, format, args...)
	}
}

// says takes in why values are gone.
func (c *valueCheck) says(e *Entry) {
	if e.Erasure != nil {
		c.erased[e.Erasure.Person] = true
	}
	if e.Expiry != nil {
		c.before = max(c.before, e.Expiry.Before)
	}
}

func (c *valueCheck) look(e *Entry) {
	c.says(e)
	committed := 0
	whole := true
	for _, ref := range e.Sealed {
		n, ok := c.part(e, ref)
		committed += n
		whole = whole && ok
	}
	if e.Call != nil && whole && committed != len(e.Call.Commitments) {
		c.found(entriesFile, e.Seq+1, "entry %d commits to %d values, %d are sealed", e.Seq, len(e.Call.Commitments), committed)
	}
}

// part opens one sealed text and gives how many values it has.
func (c *valueCheck) part(e *Entry, ref SealedRef) (n int, whole bool) {
	by, known := c.keys[ref.Person]
	if !known {
		var err error
		by, err = c.people.byPseudonym(ref.Person)
		if isBusy(err) {
			c.failed = err // nothing is known of it
			return 0, false
		} else if err != nil {
			c.found(peopleFile, 0, "%v", err)
		}
		c.keys[ref.Person] = by
	}
	if by == nil {
		c.gone(e.Seq, gonePart{ref.Person, ref.File, true})
		return 0, false
	}
	blob, err := readValue(c.folder, ref)
	if errors.Is(err, os.ErrNotExist) {
		c.gone(e.Seq, gonePart{ref.Person, ref.File, false})
		return 0, false
	}
	if errors.Is(err, regularfile.ErrNotRegular) {
		if !c.strange[ref.File] {
			c.strange[ref.File] = true
			c.found(valuesFolder+"/"+ref.File, 0, "%v", regularfile.ErrNotRegular)
		}
		return 0, false
	}
	var values []Value
	if err == nil {
		values, err = openSealed(by, e, blob)
	}
	if err != nil {
		c.found(valuesFolder+"/"+ref.File, 0, "what is sealed for entry %d, at byte %d: %v", e.Seq, ref.At, err)
		return 0, false
	}
	c.report.Values.Whole++
	return len(values), true
}

// back tells of people who were erased and whose row is there again: people.db
// was put back from before.
func (c *valueCheck) back() {
	for pseudonym := range c.erased {
		if by, err := c.people.byPseudonym(pseudonym); err == nil && by != nil {
			c.found(peopleFile, 0, "%s was erased, and is back: erase them again", pseudonym)
		}
	}
}

// end holds what is gone against the entries that say so.
func (c *valueCheck) end() {
	lost := map[string]bool{}
	parts := slices.Collect(maps.Keys(c.missing))
	slices.SortFunc(parts, func(a, b gonePart) int {
		return cmp.Or(cmp.Compare(c.missing[a].seq, c.missing[b].seq), cmp.Compare(a.person, b.person))
	})
	for _, m := range parts {
		n := c.missing[m]
		switch {
		case c.erased[m.person]:
			c.report.Values.Erased += n.texts
		case m.day < c.before:
			c.report.Values.Expired += n.texts
		case m.key && !lost[m.person]:
			lost[m.person] = true
			c.found(peopleFile, 0, "the key of %s is gone, and no entry says that it was erased (entry %d needs it)", m.person, n.seq)
		case !m.key && !lost[m.day]:
			lost[m.day] = true
			c.found(valuesFolder+"/"+m.day, 0, "is gone, and no entry says that it has expired (entry %d needs it)", n.seq)
		}
	}
	if more := c.faults - maxFindings; more > 0 {
		c.report.found(FaultValues, valuesFolder, 0, "and %d more", more)
	}
}

func (c *valueCheck) close() {
	if c != nil {
		_ = c.people.close() // only read
	}
}
