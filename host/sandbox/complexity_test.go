package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// TestComplexity refuses each shape in a size that would take seconds or gigabytes, and takes a small one.
func TestComplexity(t *testing.T) {
	notUnderRace(t)
	for _, s := range shapes {
		if err := measure(t, s.make(10, max(1, min(s.k, 10))).bytes()); err != nil {
			t.Errorf("%s, small: %v", s.name, err)
		}
		if s.says == "" {
			continue
		}
		err := measure(t, s.make(s.n, s.k).bytes())
		if err == nil || !strings.Contains(err.Error(), s.says) {
			t.Errorf("%s: got %v, want a part %q", s.name, err, s.says)
		}
	}
}

// TestComplexityOfNothing feeds instructions that are not valid: no call may panic.
func TestComplexityOfNothing(t *testing.T) {
	c := (&sections{}).newComplexity()
	c.function(0, 0, 0)
	for range 3 {
		c.end()
		c.orElse()
		c.plain(0x0f)
		c.plain(0x6a)
		c.branch(opcodeBr, 7)
		c.end()
		c.branch(0x0d, 0xffffffff)
		c.brTable([]uint32{0, 5})
		c.end()
		c.end()
		c.call(5, 5, true)
		c.misc(11)
		c.vector(0x52)
	}
	if err := c.finish(); err != nil {
		t.Error(err)
	}
}

// measure says why a module that is valid would not be compiled.
func measure(t *testing.T, wasm []byte) error {
	t.Helper()
	s, err := readSections(wasm)
	if err != nil {
		t.Fatal(err)
	}
	return s.tooDear
}

// TestWorstAccepted compiles the worst modules that pass, in a process of their own: set
// TOOLHOST_NIGHTLY=1, and TOOLHOST_SHAPE to part of a name. It takes ten minutes.
func TestWorstAccepted(t *testing.T) {
	if os.Getenv("TOOLHOST_NIGHTLY") == "" {
		t.Skip("TOOLHOST_NIGHTLY is not set")
	}
	const seconds, megabytes = 15, 1200 // twice what the worst takes on two noisy cores
	for _, s := range shapes {
		if only := os.Getenv("TOOLHOST_SHAPE"); !strings.Contains(s.name, only) {
			continue
		}
		for _, k := range append(s.ks, make([]int, max(0, 1-len(s.ks)))...) {
			most := largest(t, func(n int) []byte { return s.make(n, k).bytes() })
			for _, n := range slices.Compact([]int{most, max(1, most/20), max(1, most/400)}) {
				times := largest(t, func(times int) []byte { return s.make(n, k).copies(min(times, maxFuncs-10)).bytes() })
				wasm := rewrittenShape(t, s.make(n, k).copies(min(times, maxFuncs-10)).bytes())
				took, peak := compileAlone(t, wasm)
				t.Logf("%s: n %d, k %d, %d times, %d bytes: %.2f s, %d MB", s.name, n, k, times+1, len(wasm), took.Seconds(), peak)
				if took.Seconds() > seconds || peak > megabytes {
					t.Errorf("%s: more than %d s or %d MB", s.name, seconds, megabytes)
				}
			}
		}
	}
}

// largest finds the largest size up to a million that is accepted.
func largest(t *testing.T, make func(n int) []byte) int {
	low, high := 0, 1
	accepted := func(n int) bool {
		return measure(t, make(n)) == nil
	}
	for high < 1_000_000 && accepted(high) {
		low, high = high, 2*high
	}
	for high-low > 1+low/50 {
		if middle := (low + high) / 2; accepted(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func rewrittenShape(t *testing.T, wasm []byte) []byte {
	t.Helper()
	s, err := readSections(wasm)
	if err != nil {
		t.Fatal(err)
	}
	return s.rewrite()
}

// compileAlone gives the time and the peak of memory, in megabytes, of a process that compiles a module.
func compileAlone(t *testing.T, wasm []byte) (time.Duration, int) {
	path := t.TempDir() + "/guest.wasm"
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCompileAlone$", "-test.v")
	cmd.Env = append(os.Environ(), "TOOLHOST_COMPILE="+path)
	out, err := cmd.CombinedOutput()
	var nanoseconds int64
	var kilobytes int
	_, after, _ := strings.Cut(string(out), "took ")
	if n, _ := fmt.Sscanf(after, "%d peak %d", &nanoseconds, &kilobytes); n != 2 {
		t.Errorf("the compiling process: %v: %.300s", err, out)
	}
	return time.Duration(nanoseconds), kilobytes >> 10
}

// TestCompileAlone is the process that compileAlone starts.
func TestCompileAlone(t *testing.T) {
	path := os.Getenv("TOOLHOST_COMPILE")
	if path == "" {
		return // the process of another test
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	config := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).
		WithCustomSections(false).WithDebugInfoEnabled(false)
	start := time.Now()
	if _, err := wazero.NewRuntimeWithConfig(ctx, config).CompileModule(ctx, wasm); err != nil {
		t.Fatalf("%.300v", err)
	}
	took := time.Since(start)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes int
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Sscan(after, &kilobytes)
	fmt.Printf("took %d peak %d\n", took.Nanoseconds(), kilobytes)
}
