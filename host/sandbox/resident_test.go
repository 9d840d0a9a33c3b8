package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// resident is the process's own memory in MiB: what is in RAM and not a file's.
func resident(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc/self/status on this system")
	}
	for s := bufio.NewScanner(bytes.NewReader(status)); s.Scan(); {
		if kb, ok := strings.CutPrefix(s.Text(), "RssAnon:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(kb, "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return n >> 10
		}
	}
	t.Fatal("no RssAnon")
	return 0
}

// TestResident says what loaded tools take, in a process for each case, and holds bounds against it. With TOOLHOST_NIGHTLY=1 there are
// a hundred Go guests, and a thousand small ones beside fifty.
func TestResident(t *testing.T) {
	notUnderRace(t)
	cases := []struct {
		goGuests, small, calls int
		busy, idle             int // MiB, at most: just after the calls, and when the tools are idle
	}{{1, 0, 1, 60, 30}, {4, 100, 1, 200, 40}, {1, 0, 64, 300, 60}}
	if os.Getenv("TOOLHOST_NIGHTLY") != "" {
		cases = append(cases, []struct{ goGuests, small, calls, busy, idle int }{
			{10, 0, 1, 400, 150}, {100, 0, 1, 3000, 1000}, {0, 1000, 1, 300, 100}, {50, 1000, 1, 2048, 600},
		}...)
	}
	folder, made := t.TempDir(), 0
	for _, c := range cases {
		for ; made < c.goGuests; made++ {
			buildVariant(t, filepath.Join(folder, fmt.Sprintf("%d.wasm", made)), made)
		}
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestResidentChild$", "-test.v") //nolint:gosec // this test
		child.Env = append(os.Environ(), fmt.Sprintf("TOOLHOST_RESIDENT=%s %d %d %d", folder, c.goGuests, c.small, c.calls))
		said, err := child.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		_, figures, found := strings.Cut(string(said), "MiB: ")
		figures, _, _ = strings.Cut(figures, "\n")
		var loaded, called, idle int
		if _, err := fmt.Sscanf(figures, "loaded %d called %d idle %d", &loaded, &called, &idle); err != nil || !found {
			t.Fatalf("%v\n%s", err, said)
		}
		t.Logf("%d Go guests and %d small ones, %d calls side by side: loaded %d MiB, called %d, idle again %d", c.goGuests, c.small, c.calls, loaded, called, idle)
		if called > c.busy || idle > c.idle {
			t.Errorf("at most %d and %d are wanted", c.busy, c.idle)
		}
	}
}

func buildVariant(t *testing.T, out string, n int) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X main.variant="+strconv.Itoa(n), "-o", out, "./testdata/order")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// TestResidentChild is a host with many tools.
func TestResidentChild(t *testing.T) {
	of := os.Getenv("TOOLHOST_RESIDENT")
	if of == "" {
		t.Skip("only started by TestResident")
	}
	var folder string
	var goGuests, small, calls int
	if _, err := fmt.Sscanf(of, "%s %d %d %d", &folder, &goGuests, &small, &calls); err != nil {
		t.Fatal(err)
	}
	e := engineOf(t, Options{Idle: 200 * time.Millisecond})
	before := resident(t)
	var modules []*Module
	for n := range goGuests {
		file := filepath.Join(folder, fmt.Sprintf("%d.wasm", n))
		modules = append(modules, openLazily(t, e, func() ([]byte, error) { return os.ReadFile(file) }, 32<<20))
	}
	for n := range small {
		wasm := newGuest().run(i32(int64(n)), opDrop, i32(0)).bytes()
		modules = append(modules, openLazily(t, e, func() ([]byte, error) { return wasm, nil }, 1<<20))
	}
	loaded := resident(t) - before
	for _, m := range modules {
		var wait sync.WaitGroup
		for range calls {
			wait.Go(func() {
				f, _, _ := order(`{"order_id":"LK-702219"}`)
				if _, code, err := m.Run(context.Background(), bounds(f)); err != nil || code != 0 {
					t.Error(code, err)
				}
			})
		}
		wait.Wait()
	}
	time.Sleep(200 * time.Millisecond) // memory is given back beside the calls
	called := resident(t) - before
	eventually(t, "all is idle", func() bool { e.pool.mu.Lock(); defer e.pool.mu.Unlock(); return e.pool.counted == 0 })
	time.Sleep(200 * time.Millisecond)
	fmt.Printf("MiB: loaded %d called %d idle %d\n", loaded, called, resident(t)-before)
}

// openLazily opens a module that is compiled when it is called.
func openLazily(t *testing.T, e *Engine, read func() ([]byte, error), memory int64) *Module {
	t.Helper()
	wasm, err := read()
	if err != nil {
		t.Fatal(err)
	}
	inspected, faults := Read(wasm, offer())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	m, err := e.Open(t.Context(), inspected, Limits{Memory: memory}, read)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
