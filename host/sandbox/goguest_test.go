package sandbox

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/goplugin"
)

// buildGo builds a Go guest as docs/abi.md says; the first build takes some seconds.
func buildGo(t testing.TB, folder string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	if said, err := goplugin.Build(t.Context(), folder, out); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, said)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func compileGo(t testing.TB, folder string) *Module {
	t.Helper()
	m, err := compileWith(t, buildGo(t, folder), 32<<20)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// order is a host with one order in it. It notes the last result and error of the guest.
func order(arguments string) (f *answers, result, failure *string) {
	result, failure = new(string), new(string)
	return &answers{f: func(_ context.Context, module, function string, request []byte) (Status, []byte, error) {
		switch module + "." + function {
		case "toolhost.arguments":
			return OK, []byte(arguments), nil
		case "toolhost.result":
			*result = string(request)
		case "toolhost.error":
			*failure = string(request)
		case "records.get":
			switch string(request) {
			case `{"from":"orders","key":"LK-702219"}`:
				return OK, []byte(`{"row":{"order_id":"LK-702219","total":216.00,"note":"<&>"}}`), nil
			case `{"from":"orders","key":"LK-000000"}`:
				return NotAvailable, nil, nil
			}
			return Denied, []byte(`{"error":"no grant"}`), nil
		}
		return OK, nil, nil
	}}, result, failure
}

// TestGoGuest runs a plugin as its author writes it.
func TestGoGuest(t *testing.T) {
	m := compileGo(t, "../../plugins/get_order")
	cases := []struct {
		rule, arguments, result, failure string
		code                             int32
	}{
		{"digits-and-order-survive", `{"order_id":"LK-702219"}`, `{"order":{"order_id":"LK-702219","total":216.00,"note":"<&>"}}`, "", 0},
		{"not-available", `{"order_id":"LK-000000"}`, "", "records.get: not available", 1},
		{"denied", `{"order_id":"LK-615204"}`, "", "records.get: denied: no grant", 1},
		{
			"arguments-longer-than-the-first-buffer", `{"order_id":"LK-702219","x":"` + strings.Repeat("y", 9000) + `"}`,
			`{"order":{"order_id":"LK-702219","total":216.00,"note":"<&>"}}`, "", 0,
		},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			f, result, failure := order(c.arguments)
			usage, code, err := m.Run(t.Context(), bounds(f))
			if err != nil || code != c.code || *result != c.result || *failure != c.failure {
				t.Errorf("code %d, %v\nresult %s\nerror %s", code, err, *result, *failure)
			}
			if usage.HostCalls < 3 || usage.MemoryBytes < 1<<20 {
				t.Errorf("usage %+v", usage)
			}
		})
	}
}

// TestGoGuestImportsOnlyWhatItUses: what a module imports is held against its grants, so the pdk must
// not import a kind that the plugin does not use, nor a function that it does not call.
func TestGoGuestImportsOnlyWhatItUses(t *testing.T) {
	for folder, want := range map[string][]string{
		"../../plugins/get_order":         {"records.get", "toolhost.arguments", "toolhost.error", "toolhost.result"},
		"../../plugins/hostile/loops":     {"toolhost.arguments", "toolhost.error", "toolhost.result"},
		"../../plugins/hostile/no_result": nil,
	} {
		m, faults := Inspect(buildGo(t, folder), offer())
		if len(faults) > 0 {
			t.Errorf("%s: %v", folder, faults)
			continue
		}
		var got []string
		for _, i := range m.Imports {
			if i.Module != wasiModule {
				got = append(got, i.Module+"."+i.Name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s imports %v, want %v", folder, got, want)
		}
	}
}

// TestHostileGoGuests shows how misdeeds end that need a whole Go runtime; TestRunEndsGuests has the others.
func TestHostileGoGuests(t *testing.T) {
	notUnderRace(t)
	cases := []struct {
		folder string
		time   time.Duration
		reason Reason // 0: run returns
		code   int32
		text   string // of the error, or of what the guest told toolhost.error
	}{
		{"sleeps", time.Second, Deadline, 0, ""},
		{"panics", time.Minute, 0, 1, "panic: on purpose"},
		{"exits", time.Minute, Exit, 0, "code 3"},
		{"fills_memory", time.Minute, OutOfMemory, 0, "growth beyond 33554432 bytes"},
		{"writes_stdout", time.Minute, 0, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.folder, func(t *testing.T) {
			m := compileGo(t, "../../plugins/hostile/"+c.folder)
			f, _, failure := order(`{}`)
			out := &bytes.Buffer{}
			call := bounds(f)
			call.Time, call.Output = c.time, out
			_, code, err := m.Run(t.Context(), call)
			switch {
			case c.reason != 0:
				wantStop(t, err, c.reason, c.text)
			case err != nil || code != c.code || *failure != c.text:
				t.Errorf("code %d, %v, error %q", code, err, *failure)
			}
			if out.Len() > call.LogBytes+100 {
				t.Errorf("%d bytes of output", out.Len())
			}
		})
	}
}

func TestGoGuestRemembersNothing(t *testing.T) {
	notUnderRace(t)
	m := compileGo(t, "../../plugins/hostile/remembers")
	for range 3 {
		f, result, _ := order(`{}`)
		if _, _, err := m.Run(t.Context(), bounds(f)); err != nil || *result != `{"calls":1}` {
			t.Errorf("%s %v", *result, err)
		}
	}
}

// TestGoCollectorKeepsUp is S12: with wazero's default clock (a millisecond a reading) this guest runs
// out of memory.
func TestGoCollectorKeepsUp(t *testing.T) {
	notUnderRace(t)
	m, err := compileWith(t, buildGo(t, "testdata/collector"), 32<<20)
	if err != nil {
		t.Fatal(err)
	}
	call := bounds(&answers{})
	call.Time = 60 * time.Second
	usage, code, err := m.Run(t.Context(), call)
	if err != nil || code != 20 {
		t.Fatalf("%d %v after %+v", code, err, usage)
	}
	if usage.MemoryBytes > 24<<20 {
		t.Errorf("%d bytes for a heap of 1.3 MB", usage.MemoryBytes)
	}
}

// BenchmarkRunSmall runs a guest of some bytes: the cost of a call that is the sandbox's own.
func BenchmarkRunSmall(b *testing.B) {
	g := newGuest().imp("toolhost", "arguments")
	g.run(g.ask("toolhost.arguments", 0, 0, 64, 1000), opDrop, i32(0))
	benchmark(b, compiled(b, g))
}

// BenchmarkRunGo runs get_order: encoding/json and four host calls, in a new instance each time.
func BenchmarkRunGo(b *testing.B) { benchmark(b, compileGo(b, "../../plugins/get_order")) }

func benchmark(b *testing.B, m *Module) {
	f, _, _ := order(`{"order_id":"LK-702219"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, code, err := m.Run(b.Context(), bounds(f)); err != nil || code != 0 {
			b.Fatal(code, err)
		}
	}
}
