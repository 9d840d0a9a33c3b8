package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// A signal ends a command that waits for its stdin.
func TestSignalEndsAWaitingRead(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	for _, args := range [][]string{
		{"call", "get_order", "-", "--as", "role=customer"},
		{"call", "--jsonl", "--as", "role=customer"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/config.toml", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := &cli{
			stdin: in, stdout: io.Discard, stderr: io.Discard, dir: dir,
			env:      func(string) (string, bool) { return "", false },
			terminal: func(io.Writer) bool { return false },
		}
		ended := make(chan int)
		go func() { ended <- c.run(ctx, args) }()
		time.AfterFunc(50*time.Millisecond, cancel)
		select {
		case status := <-ended:
			if status != exitHost {
				t.Errorf("%v ended with %d", args, status)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%v waits on", args)
		}
	}
}

// Lines of any length and end are read, and an error of stdin is no end of file.
func TestReadLines(t *testing.T) {
	broken := errors.New("broken")
	long := strings.Repeat("x", maxStdin+1)
	in := newLineReader(io.MultiReader(strings.NewReader("one\r\n\n"+long+"\nlast"), errReader{broken}))
	for _, want := range []struct {
		line string
		err  error
	}{{"one", nil}, {"", nil}, {"", errLongLine}, {"", broken}} {
		line, err := readLine(in)
		if string(line) != want.line || !errors.Is(err, want.err) {
			t.Errorf("%.20q, %v; want %q, %v", line, err, want.line, want.err)
		}
	}
	if line, err := readLine(newLineReader(strings.NewReader("half"))); string(line) != "half" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }
