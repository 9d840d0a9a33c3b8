package audit

import (
	"database/sql"
	"errors"
	"maps"
	"os"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// The tree, what is sealed, and people.db are changed; the lines are not.

// damage changes the byte at a place of a file.
func (p place) damage(t testing.TB, name string, at int64) {
	t.Helper()
	data := p.read(t, name)
	data[at] ^= 1
	p.write(t, name, data)
}

func TestTamperWithTree(t *testing.T) {
	t.Parallel()
	for _, test := range treeTamperings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := logOf(t, 39) // with the first entry 40: the last completes trees of 2, 4 and 8
			test.change(t, p)
			wantTold(t, p.verify(t), test.want...)
			if !test.right {
				openAfter(t, p, test.open, test.want[0])
				return
			}
			l := p.open(t)
			must(t, l.Close())
			wantSound(t, p)
		})
	}
}

// treeTamperings change the tree of 40 entries.
var treeTamperings = []struct {
	name   string
	change func(*testing.T, place)
	want   []string
	open   string // "": it is put right, or cannot be seen
	right  bool   // opening puts it right
}{
	{
		name:   "an-inner-hash-that-no-root-needs",
		change: func(t *testing.T, p place) { p.damage(t, treeFile, tlog.StoredHashIndex(1, 3)*tlog.HashSize) },
		want:   []string{"tree tree:0"},
	},
	{
		name:   "an-inner-hash-of-the-edge",
		change: func(t *testing.T, p place) { p.damage(t, treeFile, tlog.StoredHashIndex(3, 4)*tlog.HashSize) },
		want:   []string{"tree tree:0"},
		open:   "does not give the root of the last checkpoint",
	},
	{
		name:   "the-hash-of-a-line-that-checkpoints-cover", // the line is right, as they say
		change: func(t *testing.T, p place) { p.damage(t, treeFile, tlog.StoredHashIndex(0, 11)*tlog.HashSize) },
		want:   []string{"tree tree:0"},
	},
	{
		name: "an-inner-hash-missing-at-the-end",
		change: func(t *testing.T, p place) {
			data := p.read(t, treeFile)
			p.write(t, treeFile, data[:len(data)-tlog.HashSize])
		},
		want:  []string{"tree tree:0"},
		right: true,
	},
	{
		name:   "a-part-of-a-hash-at-the-end",
		change: func(t *testing.T, p place) { p.write(t, treeFile, append(p.read(t, treeFile), "0123456789"...)) },
		want:   []string{"tree tree:0"},
		right:  true,
	},
	{
		name: "a-hash-too-many",
		change: func(t *testing.T, p place) {
			p.write(t, treeFile, append(p.read(t, treeFile), make([]byte, tlog.HashSize)...))
		},
		want: []string{"cut entries.jsonl:41"},
		open: "tree has the hashes of more entries",
	},
	{
		name:   "missing",
		change: func(t *testing.T, p place) { must(t, os.Remove(p.file(treeFile))) },
		want:   []string{"tree tree:0"},
		right:  true,
	},
}

// A damaged tree that covers changed lines does not excuse them: with the tree
// gone, the root of the lines is what counts.
func TestTreeGoneAndLineEdited(t *testing.T) {
	p := finished(t)
	must(t, os.Remove(p.file(treeFile)))
	p.writeLines(t, edit(p.lines(t), 11, "get_order", "get_ordes"))
	wantTold(t, p.verify(t), "tree tree:0", "rewritten the state database:0", "rewritten entries.jsonl:9")
	p.write(t, treeFile, nil) // as Open makes it
	openAfter(t, p, "is not the log of the last checkpoint", "")
}

// blobOf is where an entry's first sealed values lie.
func blobOf(t *testing.T, p place, line int) SealedRef {
	t.Helper()
	return entry(t, p.lines(t)[line-1]).Sealed[0]
}

const dayFile = valuesFolder + "/" + theDay

// damagedAll is what is told of so many sealed texts.
func damagedAll(n int) (out []string) {
	for range n {
		out = append(out, "values "+dayFile+":0")
	}
	return out
}

func TestTamperWithValues(t *testing.T) {
	t.Parallel()
	for _, test := range valueTamperings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := finished(t)
			test.change(t, p)
			wantTold(t, p.verify(t), test.want...)
			openAfter(t, p, test.open, test.want[0])
		})
	}
}

// valueTamperings change values/ and people.db.
var valueTamperings = []struct {
	name   string
	change func(*testing.T, place)
	want   []string
	open   string // "": Open reads no values
}{
	{
		name: "a-damaged-byte",
		change: func(t *testing.T, p place) {
			ref := blobOf(t, p, 12)
			p.damage(t, dayFile, ref.At+int64(ref.Bytes)/2)
		},
		want: damagedAll(1),
	},
	{
		name: "sealed-texts-of-one-person-swapped", // each is bound to its own call
		change: func(t *testing.T, p place) {
			a, b := blobOf(t, p, 12), blobOf(t, p, 19)
			if a.Person != b.Person || a.Bytes != b.Bytes {
				t.Fatalf("not to be swapped: %+v %+v", a, b)
			}
			data := p.read(t, dayFile)
			one, two := data[a.At:][:a.Bytes], data[b.At:][:b.Bytes]
			for i := range one {
				one[i], two[i] = two[i], one[i]
			}
			p.write(t, dayFile, data)
		},
		want: damagedAll(2),
	},
	{
		name:   "cut-in-the-middle",
		change: func(t *testing.T, p place) { p.write(t, dayFile, p.read(t, dayFile)[:blobOf(t, p, 40).At]) },
		want:   damagedAll(4), // two sealed texts of each of two calls
	},
	{
		name:   "a-file-deleted",
		change: func(t *testing.T, p place) { must(t, os.Remove(p.file(dayFile))) },
		want:   damagedAll(1), // told once
	},
	{
		name: "a-person-deleted-by-hand",
		change: func(t *testing.T, p place) {
			p.sql(t, "DELETE FROM person WHERE pseudonym = ?", blobOf(t, p, 12).Person)
		},
		want: []string{"values people.db:0"},
	},
	{
		name: "a-key-of-one-given-to-another",
		change: func(t *testing.T, p place) {
			p.sql(t, "UPDATE person SET wrapped = (SELECT wrapped FROM person WHERE pseudonym <> ?1 LIMIT 1) WHERE pseudonym = ?1", blobOf(t, p, 12).Person)
		},
		want: []string{"values people.db:0", "values people.db:0", "values people.db:0"}, // the row, what it opens, and its key
	},
	{
		name: "a-ticket-named-as-another", // who looks for one would find the other
		change: func(t *testing.T, p place) {
			p.sql(t, `UPDATE name SET tag = x'00' WHERE pseudonym = (SELECT min(pseudonym) FROM name WHERE kind = 'ticket')`)
		},
		want: []string{"values people.db:0"},
	},
	{
		name: "one-customer-named-as-another",
		change: func(t *testing.T, p place) {
			p.sql(t, "UPDATE person SET tag = x'00' WHERE pseudonym = ?", blobOf(t, p, 12).Person)
		},
		want: []string{"values people.db:0", "values people.db:0", "values people.db:0"},
	},
	{
		name: "marked-to-be-erased-by-hand",
		change: func(t *testing.T, p place) {
			p.sql(t, "UPDATE person SET erasing = x'01' WHERE pseudonym = ?", blobOf(t, p, 12).Person)
		},
		want: []string{"values people.db:0", "values people.db:0"},
		open: "is marked to be erased by somebody without this log's key",
	},
	{
		name:   "people.db-deleted",
		change: func(t *testing.T, p place) { must(t, os.Remove(p.file(peopleFile))) },
		want:   []string{"values people.db:0"},
		open:   "people.db: is not there, and with it the keys of all values",
	},
	{
		name:   "people.db-emptied", // which is how an operator gives the values up
		change: func(t *testing.T, p place) { p.write(t, peopleFile, nil) },
		want:   []string{"values people.db:0"},
	},
	{
		name:   "people.db-overwritten",
		change: func(t *testing.T, p place) { p.write(t, peopleFile, make([]byte, 8192)) },
		want:   []string{"values people.db:0"},
		open:   "people.db",
	},
}

// sql changes people.db by hand.
func (p place) sql(t *testing.T, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", p.file(peopleFile))
	must(t, err)
	result, err := db.Exec(statement, args...)
	must(t, err)
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s: %d rows: %v", statement, n, err)
	}
	must(t, errors.Join(err, db.Close()))
}

// What is sealed is bound to its call and to the end of it that it was sealed
// for, beside the commitments to it, and the commitments to their names.
func TestSealedIsBound(t *testing.T) {
	by := &person{pseudonym: newPseudonym()}
	var err error
	by.seal, err = sealer(make([]byte, 32))
	must(t, err)
	part, err := sealValues(by, Ended, "call-1", []Value{TextValue("a", "1"), TextValue("b", "2")})
	must(t, err)
	e := &Entry{Kind: Ended, Call: &Call{ID: "call-1", Commitments: map[string]string{}}}
	for _, c := range part.commitments {
		e.Call.Commitments[c.name] = c.mac
	}
	if _, err := openSealed(by, e, part.blob); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Entry, *person){
		"another-call":       func(e *Entry, _ *person) { e.Call.ID = "call-2" },
		"another-kind":       func(e *Entry, _ *person) { e.Kind = Started },
		"another-person":     func(_ *Entry, p *person) { p.pseudonym = newPseudonym() },
		"commitment-swapped": func(e *Entry, _ *person) { c := e.Call.Commitments; c["a"], c["b"] = c["b"], c["a"] },
		"commitment-missing": func(e *Entry, _ *person) { delete(e.Call.Commitments, "a") },
		"no-call":            func(e *Entry, _ *person) { e.Call = nil },
	} {
		other, call, who := *e, *e.Call, *by
		call.Commitments = maps.Clone(call.Commitments)
		other.Call = &call
		change(&other, &who)
		if got, err := openSealed(&who, &other, part.blob); err == nil {
			t.Errorf("%s: opened as %v", name, got)
		}
	}
}

// Who can write the log may still not commit to what was never sealed.
func TestCommitmentWithoutAValue(t *testing.T) {
	p := newPlace(t)
	l := p.open(t, eights)
	must(t, l.Append(ended(0, "C-00001")))
	l.mu.Lock()
	ready, err := l.prepareWith(l.people.Load(), ended(1, "C-00001"))
	must(t, err)
	ready.sealed = ready.sealed[:1]
	must(t, l.open.write([]*prepared{ready}, theDay))
	must(t, l.open.settle(true))
	l.mu.Unlock()
	must(t, l.Close())
	wantTold(t, p.verify(t), "values entries.jsonl:3")
}
