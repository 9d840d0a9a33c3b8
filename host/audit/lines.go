package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"golang.org/x/mod/sumdb/tlog"
)

// maxLine is longer than any line.
const maxLine = 4 << 20

var errLongLine = errors.New("the line is longer than any entry")

// A lineReader gives the lines of entries.jsonl one after the other. Of a line
// that is longer than any it keeps nothing but the hash, so that no file fills
// the memory.
type lineReader struct {
	in   *bufio.Reader
	line []byte
	sum  hash.Hash // of a line that is too long; nil: nobody asks for it
}

// newLineReader reads from one byte of the file up to another.
func newLineReader(file io.ReaderAt, from, to int64) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(io.NewSectionReader(file, from, to-from), int(min(to-from, 1<<20)))}
}

// withHashes gives the hashes of lines that are too long, too.
func (r *lineReader) withHashes() *lineReader {
	r.sum = sha256.New()
	return r
}

// next gives a line without its end, which holds until the next call, and how
// many bytes it has with it. The error is errLongLine of a line that was read
// past, and io.EOF where no whole line is left; size is of what is left then.
func (r *lineReader) next() (text []byte, size int64, err error) {
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		before := size
		size += int64(len(part))
		if size <= maxLine+1 {
			r.line = append(r.line, part...)
		} else {
			r.skip(part, before <= maxLine+1)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, size, err
		case size > maxLine+1:
			return nil, size, errLongLine
		default:
			return r.line[:len(r.line)-1], size, nil
		}
	}
}

// skip takes a part of a line that is too long into its hash. The first one has
// those before it that were gathered.
func (r *lineReader) skip(part []byte, first bool) {
	if r.sum == nil {
		return
	}
	if first {
		r.sum.Reset()
		r.sum.Write([]byte{0}) // a leaf (RFC 6962, section 2.1)
		r.sum.Write(r.line)
	}
	r.sum.Write(bytes.TrimSuffix(part, []byte("\n")))
}

// longLeaf is the hash of the line that next has read past.
func (r *lineReader) longLeaf() (h tlog.Hash) {
	r.sum.Sum(h[:0])
	return h
}
