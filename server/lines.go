package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A Line is one line of a stream, without its end.
type Line struct {
	Text []byte // the beginning, where Long
	Long bool   // it was longer than asked for; the rest was read and not kept
	Half bool   // the stream has ended within it
}

// NewLines makes what ReadLine reads from.
func NewLines(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 64<<10) }

// ReadLine reads one line, its end LF or CRLF, and keeps at most so many bytes of
// it and one more: who writes a line without end fills no memory. The error is
// io.EOF where there is no further line, else the stream's, with what came of
// the line before it.
func ReadLine(in *bufio.Reader, most int) (Line, error) {
	var l Line
	for {
		part, err := in.ReadSlice('\n')
		if room := most + 1 - len(l.Text); len(part) > room {
			part, l.Long = part[:max(room, 0)], true
		}
		l.Text = append(l.Text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(l.Text) > 0 || l.Long):
			l.Half = true
		case err != nil:
			l.Half = len(l.Text) > 0
			return l, err
		}
		if !l.Long {
			l.Text = bytes.TrimSuffix(bytes.TrimSuffix(l.Text, []byte("\n")), []byte("\r"))
		}
		return l, nil
	}
}
