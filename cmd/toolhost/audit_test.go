package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// A lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func runIn(ctx context.Context, dir string, out io.Writer, args ...string) int {
	c := &cli{
		stdin: strings.NewReader(""), stdout: out, stderr: io.Discard, dir: dir,
		env:      func(string) (string, bool) { return "", false },
		terminal: func(io.Writer) bool { return false },
	}
	return c.run(ctx, args)
}

// audit show --follow goes on with what is written while it runs, until it is
// interrupted.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/config.toml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	propose := func(tool string) {
		if status := runIn(t.Context(), dir, io.Discard, "call", tool, "{}", "--as", "role=customer,ticket=T-1"); status != exitNo {
			t.Fatalf("call %s: exit status %d", tool, status)
		}
	}
	propose("before")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, ended := &lockedBuffer{}, make(chan int, 1)
	go func() { ended <- runIn(ctx, dir, out, "audit", "show", "--ticket", "T-1", "--follow") }()
	wait := func(tool string) {
		deadline := time.Now().Add(20 * time.Second)
		for !strings.Contains(out.String(), tool) {
			if time.Now().After(deadline) {
				t.Fatalf("no line of %s in\n%s", tool, out)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	wait("before")
	for _, tool := range []string{"meanwhile", "and_then"} {
		propose(tool)
		wait(tool)
	}
	interrupt()
	if status := <-ended; status != exitOK {
		t.Errorf("interrupted, it ended with %d", status)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines:\n%s", n, out)
	}
}

// The times that the flags take.
func TestTimesOfTheCommandLine(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"":                          "0001-01-01T00:00:00Z",
		"2026-11-30":                "2026-11-30T00:00:00Z",
		"2026-11-30T07:30:00Z":      "2026-11-30T07:30:00Z",
		"2026-11-30T09:30:00+02:00": "2026-11-30T07:30:00Z",
		"2026-11-30 07:30":          "2026-11-30T07:30:00Z",
		"2026-11-30T07:30":          "2026-11-30T07:30:00Z",
		"90m":                       "2026-11-30T06:30:00Z",
		"1h30m":                     "2026-11-30T06:30:00Z",
		"7d":                        "2026-11-23T08:00:00Z",
		"yesterday":                 "", "-1h": "", "0d": "", "1d2h": "", "07d": "", "5ns": "", "2026-13-01": "", "12": "",
	} {
		got, err := timeOf("--since", text, now)
		if (err != nil) != (want == "" && text != "") || err == nil && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %s, %v; want %q", text, got.UTC().Format(time.RFC3339), err, want)
		}
	}
}
