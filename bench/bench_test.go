package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain serves as a plugin process where the bench started this binary as one.
func TestMain(m *testing.M) {
	served, err := serveProcess(context.Background())
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		os.Exit(1)
	}
	if !served {
		os.Exit(m.Run())
	}
}

// names are the rows that a run prints, in order.
func names() []string {
	ways := []string{
		"stock/new+deadline", "stock/new", "stock/reused+deadline", "stock/reused", "engine", "engine+reset",
		"extism/new", "extism/new+timeout", "extism/reused", "wasmtime/new", "wasmtime/reused", "wasmtime/reused+fuel",
	}
	var all []string
	for _, way := range append(slices.Clone(ways), "process/grpc", "process/stdio-mcp", "native") {
		all = append(all, "go "+way)
	}
	for _, way := range ways {
		all = append(all, "small "+way)
	}
	return all
}

// TestEveryRow opens each row, checks its results and measures it for a moment.
func TestEveryRow(t *testing.T) {
	all, said := runShort(t)
	var got []string
	for _, f := range all {
		got = append(got, f.Guest+" "+f.Way)
		if f.P50 <= 0 || f.P99 < f.P50 || f.Calls <= 0 {
			t.Errorf("%+v", f)
		}
	}
	for _, name := range names() {
		if !slices.Contains(got, name) {
			leftOut(t, name, said)
		}
	}
	want := slices.DeleteFunc(names(), func(name string) bool { return !slices.Contains(got, name) })
	if !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	wantJSON(t, all)
}

// leftOut fails for a row that is not there, unless the run says why and it may be so.
func leftOut(t *testing.T, name, said string) {
	t.Helper()
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "left out: "+name+": ") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if os.Getenv("TOOLHOST_NEEDS") == "all" {
				t.Fatal(strings.TrimSpace(line))
			}
			t.Skip(strings.TrimSpace(line))
		})
		return
	}
	t.Errorf("%s is neither measured nor named as left out", name)
}

func runShort(t *testing.T) (all []figures, said string) {
	t.Helper()
	var stderr bytes.Buffer
	all, err := run(t.Context(), options{rounds: 1, slice: time.Millisecond, callers: 2, stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	return all, stderr.String()
}

// wantJSON says that -json prints a list of objects with exactly these members.
func wantJSON(t *testing.T, all []figures) {
	t.Helper()
	var b bytes.Buffer
	if err := writeJSON(&b, all); err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(b.Bytes(), &list); err != nil || len(list) != len(all) {
		t.Fatalf("%v, %d objects of %d", err, len(list), len(all))
	}
	want := []string{"calls_per_s", "guest", "p50_ns", "p99_ns", "way"}
	for _, object := range list {
		if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, want) {
			t.Errorf("members %q, want %q", got, want)
		}
	}
}

func TestJSONOfNothingIsAList(t *testing.T) {
	var b bytes.Buffer
	if err := writeJSON(&b, nil); err != nil || b.String() != "[]\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestWrongResultsAreErrors: a row that gives something else has no figure, at once or later.
func TestWrongResultsAreErrors(t *testing.T) {
	gives := func(results ...string) row {
		calls := 0
		return row{guest: guestSmall, way: "wrong", open: func(context.Context) (func() (caller, error), error) {
			return func() (caller, error) {
				return func() ([]byte, error) {
					result := results[min(calls, len(results)-1)]
					calls++
					return []byte(result), nil
				}, nil
			}, nil
		}}
	}
	right := expected(guestSmall)
	if _, err := prepareAll(t.Context(), []row{gives(`{"row":null}`)}, options{callers: 1}); err == nil {
		t.Error("wrong at once: no error")
	}
	all, err := prepareAll(t.Context(), []row{gives(right, right, `{"row":null}`)}, options{callers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := measure(t.Context(), all, options{rounds: 1, slice: time.Millisecond}); err == nil {
		t.Error("wrong later: no error")
	}
}

// TestText prints every row, the aims that are known and those that are not.
func TestText(t *testing.T) {
	all := []figures{
		{guestGo, baseline, 30_000, 60_000, 60_000},
		{guestGo, "engine", 33_000, 70_000, 50_000},
	}
	var b bytes.Buffer
	if err := writeText(&b, all, options{rounds: 1, callers: 2}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"go     engine        33.0 us  70.0 us  50000    1.10",
		"go engine p50 : stock/reused p50                1.10          <= 1.25  met",
		"small engine p50 in us                          not measured  <= 5",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

func TestSignedNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "\x00", 35: "\x23", 63: "\x3f", 64: "\xc0\x00", 1024: "\x80\x08", 4096: "\x80\x20", -1: "\x7f", -65: "\xbf\x7f"} {
		if got := string(signed(n)); got != want {
			t.Errorf("%d is %x, want %x", n, got, want)
		}
	}
}
