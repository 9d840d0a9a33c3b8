//go:build unix

package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// What a process leaves that dies, or is held up, on the way from a proposal to
// its row: the test binary is that process.

// childJob, in the environment, makes the test binary a host of its own.
const childJob = "TOOLHOST_HOST_CHILD"

// A job is what such a host does.
type job struct {
	Dir    string
	Do     string // "propose", "approve", "deliver"
	At     string // the step at which it dies
	Stop   bool   // it is held up there, and goes on when it is told to
	Meet   bool   // it says so there, and waits for a line
	ID     string
	Digest string
}

// The steps of a recorder, besides those of Options.Step: before and after what
// it writes.
type dyingRecorder struct {
	Recorder
	at func(step string)
}

func (d dyingRecorder) Started(r *Record) error {
	d.at("before started")
	err := d.Recorder.Started(r)
	d.at("after started")
	return err
}

func (d dyingRecorder) Ended(r *Record) error {
	d.at("before ended")
	err := d.Recorder.Ended(r)
	d.at("after ended")
	return err
}

func (d dyingRecorder) Decided(r *Record, word string) error {
	d.at("before " + word)
	err := d.Recorder.Decided(r, word)
	d.at("after " + word)
	return err
}

// TestChild is no test of its own: it is the other process of the tests below.
func TestChild(t *testing.T) {
	text := os.Getenv(childJob)
	if text == "" {
		return
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	at := func(step string) {
		switch {
		case step != j.At:
		case j.Meet:
			fmt.Println("THERE")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		case j.Stop:
			time.Sleep(100 * time.Millisecond) // a checkpoint of the log may be on its way, under a lock
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			time.Sleep(50 * time.Millisecond) // another thread may take the signal, and this one go on for a moment
		default:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	d := &writingDesk{desk: &desk{dir: j.Dir}, closed: map[*Host]bool{}}
	h := d.openAs(t, func(o *Options) { o.Step = at })
	h.recorder = dyingRecorder{h.recorder, at}
	switch j.Do {
	case "propose":
		o := h.Call(t.Context(), asker(), ask("issue_refund", `{"order_id":"LK-500000","amount":5.00}`))
		fmt.Println("SAID", o.Line())
	case "approve":
		o, _ := h.Approve(t.Context(), approver(t, h, "usr-grace"), j.ID, j.Digest)
		fmt.Println("SAID", o.Line())
	case "deliver":
		if err := h.DeliverDue(t.Context(), func(one Delivered) { fmt.Println("SAID", one.State, one.Status) }); err != nil {
			t.Fatal(err)
		}
	}
}

// A child is another process that does a job.
type child struct {
	cmd  *exec.Cmd
	in   io.Writer
	said *heard
}

// heard is what a child says, while it says it.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func start(t testing.TB, j job) *child {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.count=1"), said: &heard{}} //nolint:gosec // this test
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.cmd.Env = append(os.Environ(), childJob+"="+string(text))
	c.cmd.Stdout, c.cmd.Stderr = c.said, c.said
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // it has ended long since
	return c
}

// wait gives what it said: the lines that begin so.
func (c *child) wait(t testing.TB) (said []string, killed bool) {
	t.Helper()
	err := c.cmd.Wait()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		killed = true
	case err != nil:
		t.Fatalf("%v: %s", err, c.said)
	}
	for line := range strings.SplitSeq(c.said.String(), "\n") {
		if text, ok := strings.CutPrefix(line, "SAID "); ok {
			said = append(said, text)
		}
	}
	return said, killed
}

// stopped waits until it is held up.
func (c *child) stopped(t testing.TB) {
	t.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !status.Stopped() {
			t.Fatalf("it has not stopped: %v, %v: %s", err, status, c.said)
		}
		return
	}
}

// there waits until it has come to where it waits itself.
func (c *child) there(t testing.TB) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !strings.Contains(c.said.String(), "THERE\n"); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it has not come: %s", c.said)
		}
	}
}

func (c *child) goesOn(t testing.TB) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// A process is killed at each step between a person's yes and its end. Whoever
// looks next finds the approval where it really stands, a second yes writes
// nothing more, and no row is there of which the log does not know.
func TestKilledAtEveryStep(t *testing.T) {
	const gone = "interrupted"
	type end struct {
		state state.ApprovalState
		code  string
	}
	waits, failed, done := end{state.Waiting, ""}, end{state.Failed, gone}, end{state.Done, ""}
	d := refundDesk(t)
	for _, tt := range []struct {
		at   string
		want end
	}{
		{"checked", waits},
		{"claimed", failed},
		{"before approved", failed},
		{"after approved", failed},
		{"recorded", failed},
		{"begun", failed},
		{"before started", failed},
		{"after started", failed},
		{"ran", failed},
		{"answered", failed},
		{"in the transaction", failed},
		{"decided again", failed},
		{"written", done},
		{"ended", done},
		{"before ended", done},
		{"after ended", done},
	} {
		t.Run(tt.at, func(t *testing.T) {
			d.sql(t, "DELETE FROM refunds")
			h := d.openAs(t, nil)
			a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			d.shut(t, h)
			if said, killed := start(t, job{Dir: d.dir, Do: "approve", At: tt.at, ID: a.ID, Digest: a.Digest}).wait(t); !killed {
				t.Fatalf("it was not killed, and said %v", said)
			}
			rows := d.rows(t, "desk.db", refundRows)
			log := d.said(t, a.ID)
			if len(rows) > 0 && (!slices.Contains(log, "decided approved") || !slices.Contains(log, "started")) {
				t.Errorf("a row is there, and the log says of it %v", log)
			}
			d.wantVerified(t)

			// While they could still be at work, nobody takes it for theirs.
			h = d.openAs(t, nil)
			if before := approvalOf(t, h, a.ID); before.State == state.Failed {
				t.Error("settled before its time")
			}
			d.pass(5 * time.Minute)
			defer d.pass(-5 * time.Minute)
			list, err := h.Approvals(t.Context())
			if err != nil || len(list) == 0 {
				t.Fatal(list, err)
			}
			wantStanding(t, h, a.ID, tt.want.state, tt.want.code)
			if there := len(d.rows(t, "desk.db", refundRows)); (there == 1) != (tt.want == done) || there > 1 {
				t.Errorf("it is %s, and there are %d rows", tt.want.state, there)
			}
			started := h.Stats().Runs["issue_refund"]
			again := agree(t, h, "usr-grace", a)
			if tt.want == waits {
				wantOutcome(t, again, "ok")
			} else {
				wantOutcome(t, again, "refused: not_waiting (approval)")
				if h.Stats().Runs["issue_refund"] != started {
					t.Error("a second yes has run the guest")
				}
			}
			if tt.want == failed {
				d.wantRows(t)
			} else {
				d.wantRows(t, fiveBack)
			}
			d.shut(t, h)
			d.wantVerified(t)
		})
	}
}

// A process is killed while it proposes. What was not recorded never waits, and
// what was, the model can propose again.
func TestKilledWhileProposing(t *testing.T) {
	d := refundDesk(t)
	for _, at := range []string{"before ended", "after ended"} {
		t.Run(at, func(t *testing.T) {
			if said, killed := start(t, job{Dir: d.dir, Do: "propose", At: at}).wait(t); !killed {
				t.Fatalf("it was not killed, and said %v", said)
			}
			h := d.openAs(t, nil)
			defer d.shut(t, h)
			ids := d.rows(t, "state/state.db", "SELECT id, digest FROM approval WHERE recorded = 0 AND state = 'waiting'")
			if len(ids) != 1 {
				t.Fatalf("kept is %v", ids)
			}
			id, digest, _ := strings.Cut(ids[0], "|")
			list, err := h.Approvals(t.Context())
			if err != nil || len(list) != 0 {
				t.Errorf("%d that nobody has recorded are shown, %v", len(list), err)
			}
			o, _ := h.Approve(t.Context(), approver(t, h, "usr-grace"), id, digest)
			wantOutcome(t, o, "refused: not_waiting (approval)")
			o = h.Deny(t.Context(), approver(t, h, "usr-grace"), id, digest)
			wantOutcome(t, o, "refused: not_waiting (approval)")
			d.wantRows(t)
			a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			if a.ID != id {
				t.Error("the same proposal waits twice")
			}
			wantOutcome(t, h.Deny(t.Context(), approver(t, h, "usr-grace"), a.ID, a.Digest), "ok")
			d.sqlIn(t, "state/state.db", "DELETE FROM approval")
		})
	}
	d.wantVerified(t)
}

// Two processes agree at once; one of them runs it.
func TestTwoProcessesApprove(t *testing.T) {
	d := refundDesk(t)
	for range rounds(3, 50) {
		d.sql(t, "DELETE FROM refunds")
		h := d.openAs(t, nil)
		a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
		d.shut(t, h)
		children := make([]*child, 3)
		for i := range children { // each waits before it claims until all are there
			children[i] = start(t, job{Dir: d.dir, Do: "approve", At: "checked", Meet: true, ID: a.ID, Digest: a.Digest})
		}
		for _, c := range children {
			c.there(t)
		}
		for _, c := range children {
			if _, err := io.WriteString(c.in, "go on\n"); err != nil {
				t.Fatal(err)
			}
		}
		var all []string
		for _, c := range children {
			said, _ := c.wait(t)
			all = append(all, said...)
		}
		slices.Sort(all)
		if want := []string{"ok", "refused: not_waiting (approval)", "refused: not_waiting (approval)"}; !slices.Equal(all, want) {
			t.Errorf("they said %q, want %q", all, want)
		}
		d.wantRows(t, fiveBack)
		d.wantVerified(t)
	}
}

// A process that is held up, and goes on after another has settled what it left,
// writes nothing, wherever it was.
func TestHeldUpProcessWritesNothing(t *testing.T) {
	d := refundDesk(t)
	for _, tt := range []struct{ at, want string }{
		{"claimed", "refused: not_waiting (approval)"},
		{"recorded", "refused: not_waiting (approval)"},
		{"begun", "failed: overtaken (result)"},
		{"after started", "failed: overtaken (result)"},
		{"ran", "failed: overtaken (result)"},
		{"answered", "failed: overtaken (result)"},
	} {
		t.Run(tt.at, func(t *testing.T) {
			h := d.openAs(t, nil)
			a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
			c := start(t, job{Dir: d.dir, Do: "approve", At: tt.at, Stop: true, ID: a.ID, Digest: a.Digest})
			c.stopped(t)
			d.pass(5 * time.Minute)
			wantStanding(t, h, a.ID, state.Failed, "interrupted")
			d.pass(-5 * time.Minute)
			c.goesOn(t)
			said, _ := c.wait(t)
			if len(said) != 1 || said[0] != tt.want {
				t.Errorf("it said %q, want %q", said, tt.want)
			}
			wantStanding(t, h, a.ID, state.Failed, "interrupted")
			d.wantRows(t)
			d.shut(t, h)
		})
	}
	d.wantVerified(t)
}

// While a process is held up within its transaction nobody can settle what it
// holds; then it ends, and what it did is found. SQLite's own patience is spent.
func TestHeldUpInTheTransaction(t *testing.T) {
	if os.Getenv("TOOLHOST_NIGHTLY") != "1" {
		return // it waits for SQLite's busy timeout, five seconds
	}
	d := refundDesk(t)
	h := d.openAs(t, nil)
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
	c := start(t, job{Dir: d.dir, Do: "approve", At: "decided again", Stop: true, ID: a.ID, Digest: a.Digest})
	c.stopped(t)
	d.pass(5 * time.Minute)
	wantStanding(t, h, a.ID, state.Running, "")
	c.goesOn(t)
	if said, _ := c.wait(t); len(said) != 1 || said[0] != "ok" {
		t.Errorf("it said %q", said)
	}
	wantStanding(t, h, a.ID, state.Done, "")
	d.wantRows(t, fiveBack)
}

// Several who look at once settle what was left once.
func TestManySettleOnce(t *testing.T) {
	d := refundDesk(t)
	h := d.openAs(t, nil)
	a := proposes(t, h, asker(), "issue_refund", `{"order_id":"LK-500000","amount":5.00}`)
	if _, killed := start(t, job{Dir: d.dir, Do: "approve", At: "written", ID: a.ID, Digest: a.Digest}).wait(t); !killed {
		t.Fatal("it was not killed")
	}
	hosts := []*Host{h, d.openAs(t, nil), d.openAs(t, nil)}
	d.pass(5 * time.Minute)
	var wait sync.WaitGroup
	for n := range 24 {
		wait.Go(func() {
			if _, err := hosts[n%3].Approvals(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	wantStanding(t, h, a.ID, state.Done, "")
	settled := 0
	for _, word := range d.said(t, a.ID) {
		if word == "decided settled" {
			settled++
		}
	}
	if settled != 1 {
		t.Errorf("the log says %d times that it was settled", settled)
	}
	d.wantRows(t, fiveBack)
}
