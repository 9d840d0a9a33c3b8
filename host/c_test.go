package host

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// needs skips a test on a machine that lacks a program, and says so in one
// line; with TOOLHOST_NEEDS=all that is a failure.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("TOOLHOST_NEEDS") == "all" {
			t.Fatalf("needs %s", p)
		}
		t.Skipf("needs %s", p)
	}
}

// docs/abi.md is enough to write a plugin in another language: the C one gives
// the very bytes that the Go one gives.
func TestPluginInC(t *testing.T) {
	needs(t, "clang", "wasm-ld")
	out := filepath.Join(t.TempDir(), "plugin.wasm")
	cmd := exec.Command("clang", "--target=wasm32", "-O2", "-Wall", "-Werror", "-ffreestanding", "-nostdlib", "-fno-builtin",
		"-Wl,--no-entry", "-Wl,--strip-all", "-Wl,--stack-first", "-Wl,-z,stack-size=16384", "-o", out, "get_order.c")
	cmd.Dir = "testdata/c"
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	module, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	inGo, inC := newDesk(t, "", "get_order"), newDesk(t, "", "get_order")
	inC.write(t, "plugins/get_order/plugin.wasm", string(module))
	g, c := inGo.open(t), inC.open(t)
	for _, id := range []string{"LK-500000", "LK-500003", "LK-500060", "LK-999999"} {
		p := ask("get_order", `{"order_id":"`+id+`"}`)
		want, got := g.Call(t.Context(), tom(), p), c.Call(t.Context(), tom(), p)
		if want.State != got.State || want.Code != got.Code || !bytes.Equal(want.Result, got.Result) {
			t.Errorf("%s: in Go %s %s\nin C %s %s (%s)", id, want.Line(), want.Result, got.Line(), got.Result, got.Reason)
		}
	}
	t.Logf("C: %d bytes, %v; Go: %d bytes", len(module), c.Reports()[0].Imports, g.Reports()[0].Size)
}
