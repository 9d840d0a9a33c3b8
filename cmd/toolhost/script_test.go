package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/hosttest"
)

// Scripts are what a user sees. Beside testscript's own commands they have:
//
//	exits N toolhost ARGS... [<FILE]   run toolhost inside the test, with exit status N; <FILE is its stdin
//	plugin NAME...                 build plugins/NAME or plugins/hostile/NAME and put it into plugins/NAME
//	config TOOL... [replies]       the repository's config with these tools alone, each line with its number; the forms of answers too
//	checkout                       copy what a checkout needs for the demo, the leave service on a free port
//	help-fits N COMMAND...         the help has at most N lines and ends with an example
//	desk                           fill var/ as the demo does
//	sql FILE STATEMENT             change a database
//	rows FILE QUERY                print what a query gives, a row on each line
//	after-load sql FILE STATEMENT  the same, between the next toolhost's load and its call
//	interrupt                      the next toolhost's caller goes away when its guest starts
//	recorder fails|works           whether calls can be recorded from now on
//	call-id NAME                   put the id of the last toolhost's last call into a variable
//	approver NAME|nobody           whose token TOOLHOST_APPROVER_TOKEN holds, after desk
//	approval-id NAME               put the id of the approval that the last toolhost's call waits for into a variable
//	at-step STEP (sql FILE STATEMENT | garble FILE)    do it in the next toolhost, between the steps of an approval
//	edit FILE OLD NEW              put NEW in the place of OLD, which stands there once
//	records                        print what the last toolhost recorded, one JSON object a line
//	[!] instantiated TOOL          the last toolhost made an instance of the tool's plugin
//	reads DATABASE N               the last toolhost made N queries
//	server NAME                    start an HTTP server on loopback; $NAME is its host and port
//	served NAME N                  that server has had N requests
//	mail NAME                      run the demo's mail server; $NAME is its host and port
//	mailed NAME N                  that server has taken N mails
//	leave NAME                     run the leave service where the checkout looks for it; $NAME is its host and port
//
// "exec toolhost" runs it as a process of its own. [node] is whether other
// people's clients and SDKs are there (.ci/node).

var update = flag.Bool("update", false, "write what the scripts see into their files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"toolhost": main})
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	env := environment(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(root, "testdata", "scripts"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, env...)
			e.Vars = append(e.Vars, "ROOT="+root)
			e.Values[stageKey{}] = &stage{root: root}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":        cmdExits,
			"checkout":     cmdCheckout,
			"config":       cmdConfig,
			"help-fits":    cmdHelpFits,
			"plugin":       cmdPlugin,
			"desk":         cmdDesk,
			"sql":          cmdSQL,
			"after-load":   cmdAfterLoad,
			"rows":         cmdRows,
			"interrupt":    func(ts *testscript.TestScript, neg bool, _ []string) { must(ts, neg); of(ts).interrupt = true },
			"call-id":      cmdCallID,
			"approver":     cmdApprover,
			"approval-id":  cmdApprovalID,
			"at-step":      cmdAtStep,
			"edit":         cmdEdit,
			"recorder":     cmdRecorder,
			"records":      cmdRecords,
			"instantiated": cmdInstantiated,
			"reads":        cmdReads,
			"server":       cmdServer,
			"served":       cmdServed,
			"leave":        cmdLeave,
			"mail":         cmdMail,
			"mailed":       cmdMailed,
		},
	})
}

// environment gives scripts the Go caches of this process, so that a plugin is
// compiled once, and a folder of compiled modules for all of them.
func environment(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	values := strings.Split(string(out), "\n")
	cache := filepath.Join(t.TempDir(), "modules")
	return []string{
		"GOCACHE=" + values[0], "GOMODCACHE=" + values[1], "GOPROXY=" + values[2], "GOFLAGS=" + values[3],
		"TOOLHOST_CACHE=" + cache, "NO_COLOR=1", "TOOLHOST_NODE=" + os.Getenv("TOOLHOST_NODE"),
	}
}

// A stage is what one script's commands share.
type stage struct {
	root      string
	host      *host.Host // that the last toolhost opened; closed since
	recorder  *scriptRecorder
	fails     bool
	interrupt bool
	afterLoad func()
	step      func(string)
	servers   map[string]*scriptServer
	mails     map[string]*mailbox
}

type stageKey struct{}

func of(ts *testscript.TestScript) *stage { return ts.Value(stageKey{}).(*stage) }

func must(ts *testscript.TestScript, neg bool) {
	if neg {
		ts.Fatalf("this command takes no !; say what must be instead")
	}
}

// scriptRecorder is the in-memory record, with the two things that a script
// wants of it: that it fails, and that a caller goes away.
type scriptRecorder struct {
	*host.MemoryRecorder
	fails   bool
	started func()
}

// maxRecords are kept of one run.
const maxRecords = 1000

var errDiskFull = errors.New("no space left on device")

func (r *scriptRecorder) Started(rec *host.Record) error {
	if r.fails {
		return errDiskFull
	}
	if r.started != nil {
		r.started()
	}
	return r.MemoryRecorder.Started(rec)
}

func (r *scriptRecorder) Ended(rec *host.Record) error {
	if r.fails {
		return errDiskFull
	}
	return r.MemoryRecorder.Ended(rec)
}

// exits runs toolhost in this process.
func (s *stage) exits(ts *testscript.TestScript, want int, args []string) {
	s.run(ts, ts.Stdout(), want, args)
}

func (s *stage) run(ts *testscript.TestScript, stdout io.Writer, want int, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.recorder = &scriptRecorder{MemoryRecorder: host.NewMemoryRecorder(maxRecords), fails: s.fails}
	if s.interrupt {
		s.recorder.started = cancel
	}
	s.host = nil
	var stdin io.Reader = strings.NewReader("")
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "<") {
		stdin, args = strings.NewReader(ts.ReadFile(args[n-1][1:])), args[:n-1]
	}
	afterLoad, step := s.afterLoad, s.step
	s.afterLoad, s.interrupt, s.step = nil, false, nil
	c := &cli{
		stdin: stdin, stdout: stdout, stderr: ts.Stderr(), dir: ts.MkAbs("."),
		env: func(name string) (string, bool) {
			v := ts.Getenv(name)
			return v, v != ""
		},
		recorder: func() host.Recorder { return s.recorder },
		terminal: func(io.Writer) bool { return false },
		step:     step,
		opened: func(h *host.Host) {
			s.host = h
			if afterLoad != nil {
				afterLoad()
			}
		},
	}
	if got := c.run(ctx, args); got != want {
		ts.Fatalf("toolhost %s: exit status %d, want %d", strings.Join(args, " "), got, want)
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	want := 0
	if len(args) > 1 {
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		want = n
	}
	if len(args) < 2 || args[1] != "toolhost" {
		ts.Fatalf("usage: exits N toolhost ARGS...")
	}
	of(ts).exits(ts, want, args[2:])
}

func cmdPlugin(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	for _, name := range args {
		guest, err := hosttest.Build(of(ts).root, name)
		ts.Check(err)
		folder := ts.MkAbs(filepath.Join("plugins", name))
		ts.Check(os.MkdirAll(folder, 0o755))
		ts.Check(os.WriteFile(filepath.Join(folder, "plugin.wasm"), guest.Module, 0o644))
		ts.Check(os.WriteFile(filepath.Join(folder, "contract.json"), guest.Contract, 0o644))
	}
}

// cmdConfig writes the config of the repository with these tools alone, and with
// the forms of final answers where replies is among the names.
func cmdConfig(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	text, err := os.ReadFile(filepath.Join(of(ts).root, standardConfig))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(standardConfig), []byte(hosttest.OnlyTools(string(text), args...)), 0o644))
	if slices.Contains(args, hosttest.Replies) {
		ts.Check(os.CopyFS(ts.MkAbs("replies"), os.DirFS(filepath.Join(of(ts).root, "replies"))))
	}
}

func cmdCheckout(ts *testscript.TestScript, neg bool, _ []string) {
	must(ts, neg)
	ts.Check(copyCheckout(of(ts).root, ts.MkAbs(".")))
}

func cmdHelpFits(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	var help bytes.Buffer
	of(ts).run(ts, &help, exitOK, append(args[1:], "--help"))
	lines := strings.Split(strings.TrimSpace(help.String()), "\n")
	if len(lines) > most {
		ts.Fatalf("the help has %d lines, at most %d fit", len(lines), most)
	}
	for _, line := range lines {
		if len(line) > 120 {
			ts.Fatalf("%d columns: %s", len(line), line)
		}
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(strings.TrimSpace(last), "toolhost ") && !strings.HasPrefix(strings.TrimSpace(last), "go run ") {
		ts.Fatalf("the help ends with %q, not with an example", last)
	}
}

func cmdDesk(ts *testscript.TestScript, neg bool, _ []string) {
	must(ts, neg)
	cases, err := readDemoCases(of(ts).root)
	ts.Check(err)
	ts.Check(fillVar(context.Background(), ts.MkAbs("var"), cases))
	for _, name := range []string{"usr-grace", "usr-mara", "usr-sam", "usr-ines", "E001"} {
		ts.Check(writeToken(ts.MkAbs("var"), config.Approver{Subject: name, File: filepath.Join(ts.MkAbs("var"), "keys", name+".sha256")}))
	}
}

func cmdApprover(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 1 {
		ts.Fatalf("usage: approver NAME|nobody")
	}
	token := ""
	if args[0] != "nobody" {
		token = strings.TrimSpace(ts.ReadFile("var/keys/" + args[0] + ".sha256" + tokenFile))
	}
	ts.Setenv(tokenVariable, token)
}

func cmdApprovalID(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	records := of(ts).recorder.Records()
	if len(args) != 1 || len(records) == 0 || records[len(records)-1].Approval == nil {
		ts.Fatalf("usage: approval-id NAME, after a toolhost whose call waits")
	}
	ts.Setenv(args[0], records[len(records)-1].Approval.ID)
}

func cmdAtStep(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) < 3 || len(args) != map[string]int{"sql": 4, "garble": 3}[args[1]] {
		ts.Fatalf("usage: at-step STEP (sql FILE STATEMENT | garble FILE)")
	}
	of(ts).step = func(step string) {
		switch {
		case step != args[0]:
		case args[1] == "sql":
			ts.Check(execSQL(ts.MkAbs(args[2]), args[3]))
		default: // what SQLite knows a database by
			f, err := os.OpenFile(ts.MkAbs(args[2]), os.O_WRONLY, 0)
			ts.Check(err)
			_, err = f.WriteAt(make([]byte, 64), 0)
			ts.Check(errors.Join(err, f.Close()))
		}
	}
}

func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	ts.Check(execSQL(ts.MkAbs(args[0]), args[1]))
}

func execSQL(file, statement string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(context.Background(), statement)
	return err
}

func cmdRows(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 2 {
		ts.Fatalf("usage: rows FILE QUERY")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), args[1])
	ts.Check(err)
	defer rows.Close()
	columns, err := rows.Columns()
	ts.Check(err)
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		ts.Check(rows.Scan(into...))
		var texts []string
		for _, v := range values {
			texts = append(texts, v.String)
		}
		fmt.Fprintln(ts.Stdout(), strings.Join(texts, "|"))
	}
	ts.Check(rows.Err())
}

func cmdAfterLoad(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 3 || args[0] != "sql" {
		ts.Fatalf("usage: after-load sql FILE STATEMENT")
	}
	of(ts).afterLoad = func() { ts.Check(execSQL(ts.MkAbs(args[1]), args[2])) }
}

func cmdRecorder(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 1 || args[0] != "fails" && args[0] != "works" {
		ts.Fatalf("usage: recorder fails|works")
	}
	of(ts).fails = args[0] == "fails"
}

func cmdCallID(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	records := of(ts).recorder.Records()
	if len(args) != 1 || len(records) == 0 {
		ts.Fatalf("usage: call-id NAME, after a toolhost that decided a call")
	}
	ts.Setenv(args[0], records[len(records)-1].CallID)
}

func cmdEdit(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, args[1]); n != 1 {
		ts.Fatalf("%s holds %q %d times", args[0], args[1], n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
}

// cmdRecords prints what does not change from run to run.
func cmdRecords(ts *testscript.TestScript, neg bool, _ []string) {
	must(ts, neg)
	var b bytes.Buffer
	for _, r := range of(ts).recorder.Records() {
		if r.Reply != "" {
			b.WriteString("reply " + r.Reply)
		}
		fmt.Fprintf(&b, "%s %s", r.Tool, r.Outcome())
		if r.State != host.OK {
			fmt.Fprintf(&b, " %s (%s)", r.Code, r.Gate)
			if r.State != host.Pending { // whose id and time are new each time
				fmt.Fprintf(&b, ": %s", r.Reason)
			}
		}
		if r.Field != "" {
			fmt.Fprintf(&b, " [%s]", r.Field)
		}
		fmt.Fprintf(&b, "\n  arguments %s\n  gates", r.Arguments.AppendJSON(nil))
		for _, a := range r.Answers {
			fmt.Fprintf(&b, " %s=%s", a.Gate, a.Verdict)
		}
		fmt.Fprintf(&b, "\n  guest started %t\n", r.Started)
		if r.Approver != "" {
			fmt.Fprintf(&b, "  approved by %s\n", r.Approver)
		}
		for _, u := range r.Uses {
			fmt.Fprintf(&b, "  %s %s", u.Function, u.Capability)
			if u.Asked != "" {
				fmt.Fprintf(&b, " [%s]", u.Asked)
			}
			fmt.Fprintf(&b, ": %s %s", u.Status, u.Reason)
			b.Truncate(len(bytes.TrimRight(b.Bytes(), " ")))
			b.WriteByte('\n')
		}
	}
	_, err := ts.Stdout().Write([]byte(cleanLines(b.String())))
	ts.Check(err)
}

func cmdInstantiated(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || of(ts).host == nil {
		ts.Fatalf("usage: [!] instantiated TOOL, after a toolhost that loaded")
	}
	n, known := of(ts).host.Stats().Runs[args[0]]
	if !known || (n > 0) == neg {
		ts.Fatalf("tool %q (loaded: %t) has made %d instances", args[0], known, n)
	}
}

func cmdReads(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 2 || of(ts).host == nil {
		ts.Fatalf("usage: reads DATABASE N, after a toolhost that loaded")
	}
	if n := of(ts).host.Stats().Reads[args[0]]; strconv.FormatUint(n, 10) != args[1] {
		ts.Fatalf("database %q: %d queries, want %s", args[0], n, args[1])
	}
}
