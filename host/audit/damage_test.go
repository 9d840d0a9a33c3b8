package audit

import (
	"database/sql"
	"errors"
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
	for _, test := range []struct {
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
	} {
		t.Run(test.name, func(t *testing.T) {
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

func TestTamperWithValues(t *testing.T) {
	day := valuesFolder + "/" + theDay
	damagedAll := func(n int) (out []string) {
		for range n {
			out = append(out, "values "+day+":0")
		}
		return out
	}
	for _, test := range []struct {
		name   string
		change func(*testing.T, place)
		want   []string
		open   string // "": Open reads no values
	}{
		{
			name: "a-damaged-byte",
			change: func(t *testing.T, p place) {
				ref := blobOf(t, p, 12)
				p.damage(t, day, ref.At+int64(ref.Bytes)/2)
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
				data := p.read(t, day)
				one, two := data[a.At:][:a.Bytes], data[b.At:][:b.Bytes]
				for i := range one {
					one[i], two[i] = two[i], one[i]
				}
				p.write(t, day, data)
			},
			want: damagedAll(2),
		},
		{
			name:   "cut-in-the-middle",
			change: func(t *testing.T, p place) { p.write(t, day, p.read(t, day)[:blobOf(t, p, 40).At]) },
			want:   damagedAll(4), // two sealed texts of each of two calls
		},
		{
			name:   "a-file-deleted",
			change: func(t *testing.T, p place) { must(t, os.Remove(p.file(day))) },
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
			want: []string{"values people.db:0", "values people.db:0"},
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
	} {
		t.Run(test.name, func(t *testing.T) {
			p := finished(t)
			test.change(t, p)
			wantTold(t, p.verify(t), test.want...)
			openAfter(t, p, test.open, test.want[0])
		})
	}
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
