package audit

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A Checkpoint says what a log held at one moment. As a signed note it is
//
//	toolhost-audit/NAME
//	<entries>
//	<root, base64>
//	bytes <of entries.jsonl up to here>
//	time <RFC 3339>
//
//	— toolhost-audit/NAME <signature>
//
// which is C2SP's tlog-checkpoint with two lines of ours.
type Checkpoint struct {
	Origin  string
	Entries int64
	Root    tlog.Hash
	Bytes   int64
	Time    time.Time
}

func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\nbytes %d\ntime %s\n", c.Origin, c.Entries,
		base64.StdEncoding.EncodeToString(c.Root[:]), c.Bytes, c.Time.UTC().Format(time.RFC3339))
}

// sign gives the signed note.
func (c Checkpoint) sign(s note.Signer) ([]byte, error) {
	return note.Sign(&note.Note{Text: c.text()}, s)
}

var (
	errNoCheckpoint = errors.New("is no checkpoint of toolhost's audit log")
	errOtherKey     = errors.New("is signed by another key")
)

// openCheckpoint reads a signed note. A note with another signature, or one
// that does not verify, is an error.
func openCheckpoint(signed []byte, v note.Verifier) (Checkpoint, error) {
	n, err := note.Open(signed, note.VerifierList(v))
	var unverified *note.UnverifiedNoteError
	switch {
	case errors.As(err, &unverified):
		return Checkpoint{}, fmt.Errorf("%w than %s", errOtherKey, v.Name())
	case err != nil:
		return Checkpoint{}, fmt.Errorf("its signature does not fit: %w", err)
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(n.Sigs[0].Base64); err != nil {
		return Checkpoint{}, errNoCheckpoint // there is one way to write it
	}
	c, err := parseCheckpoint(n.Text)
	if err == nil && c.Origin != v.Name() {
		err = fmt.Errorf("is of the log %q, not of %s", c.Origin, v.Name())
	}
	return c, err
}

// parseCheckpoint reads the text of a note. There is one way to write it.
func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 6 {
		return Checkpoint{}, errNoCheckpoint
	}
	c := Checkpoint{Origin: lines[0]}
	var errs [4]error
	c.Entries, errs[0] = strconv.ParseInt(lines[1], 10, 64)
	c.Root, errs[1] = tlog.ParseHash(lines[2])
	c.Bytes, errs[2] = strconv.ParseInt(strings.TrimPrefix(lines[3], "bytes "), 10, 64)
	c.Time, errs[3] = time.Parse(time.RFC3339, strings.TrimPrefix(lines[4], "time "))
	if errors.Join(errs[:]...) != nil || c.text() != text || c.Entries < 0 || c.Bytes < 0 {
		return Checkpoint{}, errNoCheckpoint
	}
	return c, nil
}

// noteLines is how many lines a signed checkpoint has: five of text, an empty
// one, and the signature.
const noteLines = 7

// splitNotes cuts the checkpoints file into its notes. What follows the last
// whole one is torn.
func splitNotes(data []byte) (notes [][]byte, torn []byte) {
	for {
		end := 0
		for range noteLines {
			i := bytes.IndexByte(data[end:], '\n')
			if i < 0 {
				return notes, data
			}
			end += i + 1
		}
		notes, data = append(notes, data[:end]), data[end:]
	}
}

// maxNote is longer than any signed checkpoint.
const maxNote = 4 << 10

var errLongNote = errors.New("is longer than any")

// A noteReader gives the notes of the checkpoints file one after the other, as
// splitNotes does, and of one that is too long keeps nothing.
type noteReader struct {
	in   *bufio.Reader
	note []byte
}

// next gives a note, until the next call. The error is errLongNote of one that
// was read past, and io.EOF where no whole one is left; size is of what is left
// then.
func (r *noteReader) next() (note []byte, size int64, err error) {
	r.note = r.note[:0]
	for lines := 0; lines < noteLines; {
		part, err := r.in.ReadSlice('\n')
		if size += int64(len(part)); size <= maxNote {
			r.note = append(r.note, part...)
		}
		switch {
		case err == nil:
			lines++
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, size, err
		}
	}
	if size > maxNote {
		return nil, size, errLongNote
	}
	return r.note, size, nil
}

// SplitCheckpoints gives the signed notes of a file that holds one or more.
func SplitCheckpoints(data []byte) ([][]byte, error) {
	notes, torn := splitNotes(data)
	if len(notes) == 0 || len(torn) > 0 {
		return nil, errNoCheckpoint
	}
	for _, n := range notes {
		if !bytes.HasPrefix(n, []byte(originPrefix)) {
			return nil, errNoCheckpoint
		}
	}
	return notes, nil
}

// lastNote reads the last whole note of the checkpoints file, and how many
// bytes of a torn one follow it.
func lastNote(r io.ReaderAt, size int64) (last []byte, torn int64, err error) {
	const most = 64 << 10 // a note has some 300 bytes
	start := max(0, size-most)
	tail := make([]byte, size-start)
	if _, err := r.ReadAt(tail, start); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	if start > 0 { // from the first note that begins in this part
		i := bytes.Index(tail, []byte("\n"+originPrefix))
		if i < 0 {
			return nil, 0, errNoCheckpoint
		}
		tail = tail[i+1:]
	}
	notes, rest := splitNotes(tail)
	if len(notes) == 0 {
		return nil, int64(len(rest)), nil
	}
	return notes[len(notes)-1], int64(len(rest)), nil
}
