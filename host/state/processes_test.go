package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// caller, in the environment, makes the test binary another host that calls on
// the database of that path.
const caller = "TOOLHOST_STATE_CALLER"

func manyLimits() Limits {
	return Limits{Steps: 100, Time: time.Hour, Repeats: 30, Refusals: 20, Within: time.Hour}
}

// A tally is what one host has let through.
type tally struct{ Steps, Repeats, Refusals int64 }

// callMany makes calls from 64 goroutines at once: more of each kind than may be.
func callMany(path string, ready func() error) (tally, error) {
	s, err := Open(path)
	if err != nil {
		return tally{}, err
	}
	b, err := s.Bounds(manyLimits(), time.Now)
	if err != nil {
		return tally{}, errors.Join(err, s.Close())
	}
	if err := ready(); err != nil {
		return tally{}, errors.Join(err, s.Close())
	}
	var steps, repeats, refusals atomic.Int64
	var wait sync.WaitGroup
	errs := make(chan error, 64)
	for n := range 64 {
		wait.Go(func() {
			for m := range 3 {
				v1, err1 := b.Enter(call("steps", fmt.Sprint(os.Getpid(), n, m)))
				v2, err2 := b.Enter(call("repeats", "the same"))
				v3, err3 := b.Refused(who("prober"))
				if err := errors.Join(err1, err2, err3); err != nil {
					errs <- err
					return
				}
				add(&steps, v1.Standing == Admitted)
				add(&repeats, v2.Standing == Admitted)
				add(&refusals, v3.Standing == Admitted)
			}
		})
	}
	wait.Wait()
	close(errs)
	return tally{steps.Load(), repeats.Load(), refusals.Load()}, errors.Join(<-errs, s.Close())
}

func add(to *atomic.Int64, one bool) {
	if one {
		to.Add(1)
	}
}

// callAsChild is what the other process does.
func callAsChild(path string) error {
	got, err := callMany(path, func() error {
		fmt.Println("ready")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	})
	if err == nil {
		fmt.Println(got.Steps, got.Repeats, got.Refusals)
	}
	return err
}

// Two hosts with 64 callers each let through as many calls as one caller would
// get, and no more true refusals leave.
func TestTwoHostsAgree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), caller+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	said := bufio.NewReader(out)
	ours, err := callMany(path, func() error {
		if _, err := said.ReadString('\n'); err != nil {
			return err
		}
		_, err := io.WriteString(in, "go\n")
		return err
	})
	must(t, err)
	var theirs tally
	_, err = fmt.Fscan(said, &theirs.Steps, &theirs.Repeats, &theirs.Refusals)
	must(t, err)
	must(t, cmd.Wait())
	sum := tally{ours.Steps + theirs.Steps, ours.Repeats + theirs.Repeats, ours.Refusals + theirs.Refusals}
	if want := (tally{100, 30, 20}); sum != want {
		t.Errorf("let through were %+v here and %+v there, want %+v together", ours, theirs, want)
	}
	t.Logf("let through were %+v here and %+v there", ours, theirs)
}

// A host that is killed takes nothing back: what it has counted, and the last
// checkpoint, are there for the next one.
func TestKilledHostHasCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), victim+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Fatal("nothing was left half done: ", err)
	}
	read, err := OpenToRead(path)
	must(t, err)
	wantKept(t, read, "five")
	b := openBounds(t, path, small(), time.Now)
	wantStanding(t, b, Call{Who: who("usr-1")}, Locked)
	if v := enter(t, b, Call{Session: "s", Who: who("usr-2"), Arguments: []byte("x")}); v != (Verdict{Standing: Admitted, Call: 2, Times: 2}) {
		t.Errorf("the second call of the session: %+v", v)
	}
}

// victim, in the environment, makes the test binary a host that waits to be killed.
const victim = "TOOLHOST_STATE_VICTIM"

func waitToBeKilled(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	b, err := s.Bounds(small(), time.Now)
	if err != nil {
		return err
	}
	for range 3 {
		if _, err := b.Refused(who("usr-1")); err != nil {
			return err
		}
	}
	_, err = b.Enter(Call{Session: "s", Who: who("usr-2"), Arguments: []byte("x")})
	if err := errors.Join(err, s.KeepCheckpoint(5, []byte("five"))); err != nil {
		return err
	}
	fmt.Println("ready")
	select {}
}
