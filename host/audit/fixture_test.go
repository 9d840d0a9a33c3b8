package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/state"
)

// A place is a folder with all that a log needs.
type place struct{ dir string }

func newPlace(t testing.TB) place {
	t.Helper()
	return place{t.TempDir()}
}

func (p place) path(name string) string { return filepath.Join(p.dir, name) }
func (p place) folder() string          { return p.path("audit") }

// stateAt is the state database of a host that is not there all the time: tests
// put others into its place.
type stateAt string

func (path stateAt) Checkpoint() ([]byte, error) {
	s, err := state.OpenToRead(string(path))
	if err != nil {
		return nil, err
	}
	note, err := s.Checkpoint()
	return note, errors.Join(err, s.Close())
}

func (path stateAt) KeepCheckpoint(entries int64, note []byte) error {
	s, err := state.Open(string(path))
	if err != nil {
		return err
	}
	return errors.Join(s.KeepCheckpoint(entries, note), s.Close())
}

// hostOptions are a host's.
func (p place) hostOptions() Options {
	return Options{Folder: p.folder(), Key: p.path("keys/audit.key"), State: stateAt(p.path("state/state.db")), CheckpointTime: time.Hour}
}

func (p place) options(testing.TB) Options { return p.hostOptions() }

func (p place) open(t testing.TB, change ...func(*Options)) *Log {
	t.Helper()
	o := p.options(t)
	for _, c := range change {
		c(&o)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ended is the end of the n-th call of a customer.
func ended(n int, customer string) Event {
	now := time.Date(2026, 11, 30, 8, 0, 0, n*1000, time.UTC)
	return Event{
		Kind: Ended, At: now,
		Who: Who{Customer: customer, Subject: "web-" + customer, Tenant: "larkfield", Session: "s-" + customer, Ticket: "T-" + customer},
		Call: &Call{
			ID: fmt.Sprintf("CALL%022d", n), Began: now, Ended: now, Tool: "get_order", ArgumentBytes: 24,
			Config: "sha256:" + strings.Repeat("ab", 32), Policy: &Policy{Contract: "sha256:" + strings.Repeat("cd", 32), Module: "sha256:" + strings.Repeat("ef", 32), Resolved: "sha256:" + strings.Repeat("01", 32)},
			Outcome: "ok", Ran: true, Usage: &Usage{Microseconds: 4200, MemoryBytes: 1 << 20, HostCalls: 3},
			Gates: []GateAnswer{{Gate: "session", Verdict: "ok"}, {Gate: "contract", Verdict: "ok"}, {Gate: "caller", Verdict: "ok"}, {Gate: "rules", Verdict: "-"}, {Gate: "capability", Verdict: "ok"}, {Gate: "approval", Verdict: "-"}, {Gate: "plugin", Verdict: "ok"}, {Gate: "result", Verdict: "ok"}},
			Uses:  []Use{{Capability: "orders", Count: 1, Function: "records.get", Status: "ok"}},
			Who:   Pseudonyms{Role: "customer"},
		},
		Values: []Value{
			{Name: "arguments", JSON: []byte(fmt.Sprintf(`{"order_id":"LK-%06d"}`, n))},
			{Name: "result", JSON: []byte(fmt.Sprintf(`{"ok":true,"order":{"order_id":"LK-%06d","status":"shipped","ordered_on":"2026-10-01","total":101.05,"items":"4 garden chairs"}}`, n))},
		},
	}
}

// appendAll appends entries of 7 customers side by side.
func appendAll(t testing.TB, l *Log, n, sideBySide int) {
	t.Helper()
	appendOf(t, l, n, sideBySide, 7)
}

func appendOf(t testing.TB, l *Log, n, sideBySide, customers int) {
	t.Helper()
	var wait sync.WaitGroup
	errs := make(chan error, sideBySide)
	next := make(chan int)
	for range sideBySide {
		wait.Go(func() {
			for i := range next {
				if err := l.Append(ended(i, fmt.Sprintf("C-%05d", i%customers))); err != nil {
					select {
					case errs <- err:
					default: // the first ones are enough
					}
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
}
