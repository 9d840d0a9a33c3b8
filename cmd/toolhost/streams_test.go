package main

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
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
			recorder: func() host.Recorder { return host.NewMemoryRecorder(1) },
			terminal: func(io.Writer) bool { return false },
		}
		ended := make(chan int)
		go func() { ended <- c.run(ctx, args) }()
		time.AfterFunc(50*time.Millisecond, cancel)
		select {
		case status := <-ended:
			if status == exitOK {
				t.Errorf("%v ended with 0", args)
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

// The examples of docs/commands.md are what the commands read and write.
func TestExamplesOfTheCommands(t *testing.T) {
	raw, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(json|toml)\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d examples", len(blocks))
	}
	shown, _ := strictjson.Read([]byte(blocks[0][2]), strictjson.Default(5000))
	made, _ := strictjson.Read(host.Outcome{Result: []byte("{}")}.AppendJSON(nil), strictjson.Default(5000))
	if a, b := keys(shown), keys(made); a == "" || a != b {
		t.Errorf("the outcome has %s, the docs %s", b, a)
	}
	if _, p, err := readProposal([]byte(blocks[1][2]), nil, nil); err != nil || p.Tool != "get_order" || string(p.Arguments) != `{"order_id":"LK-581106"}` {
		t.Errorf("%v %s %v", p.Tool, p.Arguments, err)
	}
	if s, err := config.ParseSession("session.toml", []byte(blocks[2][2])); err != nil || s.Attributes["ticket"] != "T-80008" {
		t.Errorf("%v %v", s, err)
	}
}

func keys(v strictjson.Value) string {
	var out []string
	for name, child := range v.Members() {
		out = append(out, name)
		if name == "usage" {
			out = append(out, keys(child))
		}
	}
	return strings.Join(out, " ")
}
