package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
)

// callLines answers each line of stdin with one line of stdout, in order. A
// line that cannot be read gets an error of its own, and the rest go on.
func (c *cli) callLines(ctx context.Context, who sessionFlags) error {
	var standard *host.Session
	if who.given() {
		s, err := who.read(c)
		if err != nil {
			return err
		}
		standard = &s
	}
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	in, unread := newLineReader(c.stdin), false
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil && !errors.Is(err, errLongLine) {
			return &status{code: exitHost, err: fmt.Errorf("stdin: %w", err)}
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue // a blank line is no proposal and no error
		}
		var s host.Session
		var p host.Proposal
		if err == nil {
			s, p, err = readProposal(line, standard)
		}
		var out []byte
		if err != nil {
			unread = true
			out = append(strictjson.AppendString([]byte(`{"error":`), fmt.Sprintf("line %d: %v", n, err)), '}')
		} else {
			out = h.Call(ctx, s, p).AppendJSON(nil)
		}
		if _, err := c.stdout.Write(append(out, '\n')); err != nil {
			return &status{code: exitHost, err: fmt.Errorf("stdout: %w", err)}
		}
	}
	if unread {
		return &status{code: exitUsage}
	}
	return nil
}

var errLongLine = errors.New("is longer than 8 MiB")

func newLineReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 64<<10) }

// readLine reads one line without its end. A line over maxStdin is read to its
// end and not kept.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxStdin {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && !tooLong):
			return nil, err
		case tooLong:
			return nil, errLongLine
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// readProposal reads {"tool","arguments","session"}; standard is who asks where
// a line does not say.
func readProposal(line []byte, standard *host.Session) (host.Session, host.Proposal, error) {
	fail := func(format string, args ...any) (host.Session, host.Proposal, error) {
		return host.Session{}, host.Proposal{}, fmt.Errorf(format, args...)
	}
	v, err := strictjson.Read(line, strictjson.Default(maxStdin))
	if err != nil {
		return fail("%w", err)
	}
	for name := range v.Members() {
		if name != "tool" && name != "arguments" && name != "session" {
			return fail("unknown member %q; known are tool, arguments, session", name)
		}
	}
	tool, ok := v.TextAt("tool")
	if !ok {
		return fail(`"tool" must be a string`)
	}
	arguments, ok := v.TextAt("arguments")
	if !ok {
		return fail(`"arguments" must be a string: the raw text that the model wrote`)
	}
	s, err := readSession(v, standard)
	if err != nil {
		return fail("%w", err)
	}
	return s, host.Proposal{Tool: tool, Arguments: []byte(arguments)}, nil
}

func readSession(v strictjson.Value, standard *host.Session) (host.Session, error) {
	session, ok := v.Get("session")
	if !ok && standard != nil {
		return *standard, nil
	}
	pairs := map[string]string{}
	for name := range session.Members() {
		s, isText := session.TextAt(name)
		if !isText {
			return host.Session{}, fmt.Errorf("session: %q must be a string", name)
		}
		pairs[name] = s
	}
	if session.Kind() != strictjson.Object {
		return host.Session{}, errors.New(`"session" must be an object of strings, or be given by --session or --as`)
	}
	s, err := config.ParseFlat(pairs)
	if err != nil {
		var faults *config.Faults
		if errors.As(err, &faults) {
			err = errors.New(faults.List[0].Text)
		}
		return host.Session{}, fmt.Errorf("session: %w", err)
	}
	return sessionOf(s), nil
}
