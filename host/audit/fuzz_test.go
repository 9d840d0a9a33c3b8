package audit

import (
	"bytes"
	"crypto/sha512"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"
)

// quickKey signs as Ed25519 does but for the time that it takes.
type quickKey struct{}

const quickOrigin = originPrefix + "QUICK"

func (quickKey) Name() string    { return quickOrigin }
func (quickKey) KeyHash() uint32 { return 0x01020304 }
func (quickKey) Sign(text []byte) ([]byte, error) {
	sum := sha512.Sum512(append([]byte("secret"), text...))
	return sum[:], nil
}

func (k quickKey) Verify(text, sig []byte) bool {
	want, _ := k.Sign(text) // it gives no error
	return bytes.Equal(sig, want)
}

// logBytes is a log in memory.
type logBytes struct{ lines, tree, checkpoints, kept []byte }

// quickLog has 9 entries and checkpoints of 3, 6 and 9.
func quickLog(t testing.TB) logBytes {
	t.Helper()
	var out logBytes
	var edge frontier
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for n := range int64(9) {
		e := &Entry{At: at, Kind: Started, Seq: n, Call: &Call{Began: at, Gates: []GateAnswer{}, ID: "CALL" + itoa(int(n)), Tool: "get_order"}}
		if n == 0 {
			e = &Entry{At: at, Kind: Begun, Begin: &BeginInfo{Origin: quickOrigin}}
		}
		line := lineOf(t, e)
		hashes, err := edge.grow(n, tlog.RecordHash([]byte(line)))
		must(t, err)
		out.lines, out.tree = append(out.lines, line+"\n"...), appendHashes(out.tree, hashes)
		if n%3 == 2 {
			root, err := edge.root(n + 1)
			must(t, err)
			c := Checkpoint{Origin: quickOrigin, Entries: n + 1, Root: root, Bytes: int64(len(out.lines)), Time: at}
			out.kept, err = c.sign(quickKey{})
			must(t, err)
			out.checkpoints = append(out.checkpoints, out.kept...)
		}
	}
	return out
}

// verify is Verify, of bytes.
func (l logBytes) verify() (*Report, error) {
	kept := []KeptCheckpoint{{Name: StateName, Note: l.kept}}
	v := newVerifier("", VerifyOptions{Public: quickKey{}, Kept: kept})
	v.lines, v.size = bytes.NewReader(l.lines), int64(len(l.lines))
	v.readTree(bytes.NewReader(l.tree), int64(len(l.tree)))
	v.readNotes(bytes.NewReader(l.checkpoints))
	return v.report, v.run()
}

// FuzzTamper: one change to one file of a finished log, a bit, a byte that is
// gone, a span that stands twice, an end that is cut off, is always found.
//
// Left out is what says nothing that is false: a whole checkpoint that is gone
// (a later one covers it) or stands twice (two hosts may write the same one),
// as long as the last one is there, which the state database knows.
func FuzzTamper(f *testing.F) {
	whole := quickLog(f)
	if r, err := whole.verify(); err != nil || len(r.Findings) > 0 {
		f.Fatalf("untouched: %v%s", err, inWords(r))
	}
	for kind := range byte(4) {
		for file := range byte(3) {
			f.Add(file, kind, uint16(0), uint16(1), byte(0))
			f.Add(file, kind, uint16(700), uint16(32), byte(5))
			f.Add(file, kind, uint16(65535), uint16(400), byte(7))
		}
	}
	f.Fuzz(func(t *testing.T, file, kind byte, at, n uint16, bit byte) {
		l := whole
		data := [...]*[]byte{&l.lines, &l.tree, &l.checkpoints}[file%3]
		before := *data
		*data = changed(before, kind, int(at), int(n), bit)
		if bytes.Equal(*data, before) || file%3 == 2 && saysTheSame(*data, before) {
			t.Skip()
		}
		r, err := l.verify()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) == 0 {
			t.Errorf("not found: file %d, change %d at %d, %d, bit %d", file%3, kind%4, at, n, bit)
		}
	})
}

func changed(data []byte, kind byte, at, n int, bit byte) []byte {
	at %= len(data)
	end := min(at+n, len(data))
	out := slices.Clone(data)
	switch kind % 4 {
	case 0:
		out[at] ^= 1 << (bit % 8)
	case 1:
		out = slices.Delete(out, at, at+1)
	case 2:
		out = slices.Insert(out, end, data[at:end]...)
	case 3:
		out = out[:at]
	}
	return out
}

// saysTheSame tells whether only whole checkpoints are gone or stand twice, and
// the last one is the last.
func saysTheSame(data, before []byte) bool {
	notes, torn := splitNotes(data)
	had, _ := splitNotes(before)
	last := 0
	for _, n := range notes {
		at := slices.IndexFunc(had, func(h []byte) bool { return bytes.Equal(h, n) })
		if at < last {
			return false
		}
		last = at
	}
	return len(torn) == 0 && len(notes) > 0 && last == len(had)-1
}

// FuzzEntry: whatever stands in the fields and values of a call, its entry is
// one line without control characters that is canonical (RFC 8785), reads back
// equal, holds no value, and its values open equal. What is no UTF-8 in a field
// of ours is an error. (Names of fields that a map has are ASCII here, as those
// of values and tools are; RFC 8785 sorts others by UTF-16.)
func FuzzEntry(f *testing.F) {
	secret := make([]byte, 32)
	aead, err := sealer(secret)
	must(f, err)
	by := &person{pseudonym: newPseudonym(), seal: aead, names: map[string]*name{}}
	people := &people{known: map[string]*person{kindCustomer + "\x00\x00C-1": by}}
	f.Add("CALL1", "get_order", "ok", "config.toml:12", "arguments", "LK-483920", 7)
	f.Add("\x00\n\u2028", "\u202e\x1b[2J", "\"\\", "</script>", "", "\xff\xfe", -1)
	f.Add("\ufffd", "\U0001f9a4", "\x7f", "a\rb", "subject", strings.Repeat("x", 5000), 1<<30)
	f.Fuzz(func(t *testing.T, id, tool, code, place, valueName, text string, n int) {
		if valueName = ascii(valueName); valueName == subjectValue || valueName == "\tthe other" || id == "" {
			t.Skip() // refused
		}
		e := Event{
			Kind: Ended, At: time.Unix(int64(n)%1e9, int64(n)), Who: Who{Customer: "C-1"},
			Call: &Call{
				ID: id, Tool: tool, Code: code, ArgumentBytes: n % (1 << 50), Policy: &Policy{Module: place},
				Gates: []GateAnswer{{Gate: tool, Place: place, Verdict: code}}, Uses: []Use{{Capability: place, Status: code}},
			},
			Values: []Value{TextValue(valueName, text), {Name: "\tthe other", JSON: []byte(`{"n":[1,2.50]}`)}},
		}
		ready, err := (&Log{}).prepareWith(people, e)
		if fits := utf8.ValidString(id + "|" + tool + "|" + code + "|" + place); (err == nil) != fits {
			t.Fatalf("in valid UTF-8: %v, and the error is %v", fits, err)
		}
		if err != nil {
			return
		}
		refs := []SealedRef{{At: 1 << 40, Bytes: len(ready.sealed[0].blob), File: theDay, Person: by.pseudonym}}
		line := nobody().appendTail(ready.head, 0, 41, refs)
		wantCanonical(t, line)
		got := entry(t, string(line))
		if again := lineOf(t, got); again != string(line) {
			t.Errorf("read back:\n%s\nwritten:\n%s", again, line)
		}
		if c := got.Call; c.ID != id || c.Tool != tool || c.Code != code || c.Gates[0].Place != place || got.Seq != 41 || got.Sealed[0] != refs[0] {
			t.Errorf("read back: %s", line)
		}
		values, err := openSealed(by, got, ready.sealed[0].blob)
		must(t, err)
		slices.SortFunc(e.Values, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
		if !slices.EqualFunc(values, e.Values, func(a, b Value) bool { return a.Name == b.Name && bytes.Equal(a.JSON, b.JSON) }) {
			t.Errorf("opened: %v, sealed: %v", values, e.Values)
		}
	})
}

// ascii leaves of a text what is ASCII.
func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return -1
		}
		return r
	}, text)
}

func wantCanonical(t testing.TB, line []byte) {
	t.Helper()
	if i := bytes.IndexFunc(line, func(r rune) bool { return r < ' ' }); i >= 0 {
		t.Errorf("a control character at byte %d of %q", i, line)
	}
	canonical := jsontext.Value(bytes.Clone(line))
	must(t, canonical.Canonicalize())
	if !bytes.Equal(canonical, line) {
		t.Errorf("written:\n%s\ncanonical:\n%s", line, canonical)
	}
}

// FuzzReadEntry: any bytes are read as a line, as a checkpoint and as the file
// of checkpoints without a panic; no checkpoint is taken that was not signed,
// and the parts of the file are all of it.
func FuzzReadEntry(f *testing.F) {
	whole := quickLog(f)
	f.Add(whole.kept)
	f.Add(whole.checkpoints[:len(whole.checkpoints)-20])
	for line := range bytes.Lines(whole.lines) {
		f.Add(bytes.TrimSuffix(line, []byte("\n")))
	}
	f.Add([]byte(`{"at":"0000-01-01T00:00:00Z","kind":"erased","erasure":null,"sealed":[{"file":"../../etc/passwd"}],"seq":-1,"v":1}`))
	signed, _ := splitNotes(whole.checkpoints)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ReadEntry(data)
		if (e == nil) == (err == nil) {
			t.Errorf("entry %v, error %v", e, err)
		}
		if _, err := openCheckpoint(data, quickKey{}); err == nil && !slices.ContainsFunc(signed, func(s []byte) bool { return bytes.Equal(s, data) }) {
			t.Errorf("taken for signed: %q", data)
		}
		notes, torn := splitNotes(data)
		if !bytes.Equal(append(bytes.Join(notes, nil), torn...), data) {
			t.Errorf("%q and %q are not all of %q", notes, torn, data)
		}
		last, rest, err := lastNote(bytes.NewReader(data), int64(len(data)))
		if err != nil && !errors.Is(err, errNoCheckpoint) || err == nil && int(rest)+len(last) > len(data) {
			t.Errorf("the last note is %q, %d are torn: %v", last, rest, err)
		}
	})
}
