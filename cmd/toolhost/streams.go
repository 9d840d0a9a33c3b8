package main

import (
	"context"
	"io"
)

// A sink remembers the first error of a stream, so that a command whose answer
// was lost does not end with 0.
type sink struct {
	io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// A cancelReader ends a read when the command is to end: a signal must not wait
// for somebody to type.
type cancelReader struct {
	ctx context.Context //nolint:containedctx // io.Reader has no place for one
	in  io.Reader
}

func (r cancelReader) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	buf, done := make([]byte, len(p)), make(chan result, 1)
	go func() { // ends with the read, at the latest with the process
		n, err := r.in.Read(buf)
		done <- result{n, err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case got := <-done:
		return copy(p, buf[:got.n]), got.err
	}
}
