package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
	"github.com/toolhost/toolhost/server"
)

// callLines answers each line of stdin with one line of stdout, in order. A
// line that cannot be read gets an error of its own, and the rest go on.
func (c *cli) callLines(ctx context.Context, who sessionFlags) error {
	if err := c.noApprover(); err != nil {
		return err
	}
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
	in, unread := server.NewLines(c.stdin), false
	for n := 1; ; n++ {
		line, err := server.ReadLine(in, maxStdin)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return &status{code: exitHost, err: fmt.Errorf("stdin: %w", err)}
		}
		if len(bytes.TrimSpace(line.Text)) == 0 {
			continue // a blank line is no proposal and no error
		}
		var s host.Session
		var p host.Proposal
		if err = errLongLine; !line.Long {
			s, p, err = readProposal(line.Text, standard)
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
	return flatSession(session)
}

// flatSession is who asks as a JSON object of strings.
func flatSession(session strictjson.Value) (host.Session, error) {
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
