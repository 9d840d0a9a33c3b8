//go:build unix

package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/hosttest"
	"github.com/toolhost/toolhost/host/sandbox"
)

// TestAttackModuleFileIsExchanged: a module is read again when it is first called, and meanwhile its file may be anything. The
// model hears nothing of it, an operator hears what it is, and with the file back the tool works.
func TestAttackModuleFileIsExchanged(t *testing.T) {
	good := wasm(nil, nil)
	for _, c := range []struct {
		name string
		put  func(path string) error
		why  string // "": it works
	}{
		{"another-module", func(p string) error { return os.WriteFile(p, []byte(wasm(nil, map[byte][]byte{5: {1, 0, 2}})), 0o600) }, "has changed since it was read"},
		{"no-module", func(p string) error { return os.WriteFile(p, []byte("#!/bin/sh\n"), 0o600) }, "has changed since it was read"},
		{"a-custom-section-more", func(p string) error { return os.WriteFile(p, []byte(good+"\x00\x02\x01a"), 0o600) }, ""},
		{"vanished", os.Remove, "no such file"},
		{"fifo", func(p string) error { _ = os.Remove(p); return syscall.Mkfifo(p, 0o600) }, "regular file"},
		{"folder", func(p string) error { _ = os.Remove(p); return os.Mkdir(p, 0o700) }, "regular file"},
		{"link-to-zeros", func(p string) error { _ = os.Remove(p); return os.Symlink("/dev/zero", p) }, "regular file"},
		{"huge", func(p string) error { return os.Truncate(p, sandbox.MaxModule+1) }, "regular file of at most"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, loadConfig)
			d.write(t, "plugins/plain/plugin.wasm", good)
			d.write(t, "plugins/plain/contract.json", plainContract)
			h := d.open(t)
			path := filepath.Join(d.dir, "plugins/plain/plugin.wasm")
			if err := c.put(path); err != nil {
				t.Fatal(err)
			}
			if c.why != "" {
				o := h.Call(t.Context(), Session{Role: "anyone"}, ask("plain", `{"id":"a"}`))
				if o.State != Failed || o.Code != codeUnavailable || o.Gate != GatePlugin || !strings.Contains(o.Reason, c.why) {
					t.Errorf("%s: %s", o.Line(), o.Reason)
				}
				if s := string(o.Result); strings.Contains(s, "plugin") || strings.Contains(s, "file") || strings.Contains(s, d.dir) {
					t.Errorf("the model is told %s", s)
				}
				_ = os.Remove(path)
				d.write(t, "plugins/plain/plugin.wasm", good)
			}
			if o := h.Call(t.Context(), Session{Role: "anyone"}, ask("plain", `{"id":"a"}`)); o.Code != "invalid_result" { // it runs, and gives none
				t.Errorf("%s: %s", o.Line(), o.Reason)
			}
		})
	}
}

// TestAttackPrepareAheadCloseTogether: whatever order they come in, each ends.
func TestAttackPrepareAheadCloseTogether(t *testing.T) {
	for range 5 {
		d := newDesk(t, loadConfig)
		d.write(t, "plugins/plain/plugin.wasm", wasm(nil, nil))
		d.write(t, "plugins/plain/contract.json", plainContract)
		h, err := d.tryOpen(t)
		if err != nil {
			t.Fatal(err)
		}
		h.Ahead()
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() { h.Call(context.Background(), Session{Role: "anyone"}, ask("plain", `{"id":"a"}`)) })
			wait.Go(func() { _ = h.Prepare(t.Context()) })
		}
		wait.Wait()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAttackInitialisationIsHeard: a guest that is initialised ahead of its first call says nothing to that call; its operator hears
// it all the same.
func TestAttackInitialisationIsHeard(t *testing.T) {
	module := wasm([]string{"toolhost.log"}, map[byte][]byte{
		7: []byte("\x03\x06memory\x02\x00\x03run\x00\x01\x0b_initialize\x00\x02"),
		10: []byte("\x02\x04\x00\x41\x00\x0b" +
			"\x18\x00\x41\x00\x41\xe8\xca\xb1\xe3\x06\x36\x02\x00" + // "hell" at 0
			"\x41\x00\x41\x04\x41\x00\x41\x00\x10\x00\x1a\x0b"),
	})
	d := newDesk(t, loadConfig)
	d.write(t, "plugins/plain/plugin.wasm", module)
	d.write(t, "plugins/plain/contract.json", plainContract)
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &out, Mutex: new(sync.Mutex)})
	h, err := Open(t.Context(), filepath.Join(d.dir, "config.toml"), Options{Recorder: d.recorder, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	h.Ahead()
	h.Call(t.Context(), Session{Role: "anyone"}, ask("plain", `{"id":"a"}`))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "hell"); n != 1 {
		t.Errorf("%d times in the log:\n%s", n, out.String())
	}
}

// TestAheadIsForReads: the guest of a write runs in its approver's process, so a host that serves does not compile it.
func TestAheadIsForReads(t *testing.T) {
	raw, err := os.ReadFile("../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, hosttest.OnlyTools(string(raw), "get_order", "issue_refund"), "get_order", "issue_refund")
	d.notices(t)
	d.write(t, "var/tickets/T-1/a.txt", "a")
	for _, subject := range []string{"usr-grace", "usr-mara", "E001"} {
		d.write(t, "var/keys/"+subject+".sha256", "sha256:"+strings.Repeat("0", 64))
	}
	h := d.open(t)
	h.ahead(t.Context())
	for tool, want := range map[string]uint64{"get_order": 1, "issue_refund": 0} {
		if n := h.tools[tool].module.Instances(); n != want {
			t.Errorf("%d instances of %s, want %d", n, tool, want)
		}
	}
}
