package main

import (
	"context"
	"io"
	"os"
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
