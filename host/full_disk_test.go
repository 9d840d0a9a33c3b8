package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A full disk refuses calls, runs nothing, and is over when there is space again.
func TestNothingRunsOnAFullDisk(t *testing.T) {
	d := newDesk(t, "", "get_order")
	if err := os.MkdirAll(d.path("var/audit"), 0o700); err != nil {
		t.Fatal(err)
	}
	mounted := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "toolhost-audit", d.path("var/audit"))
	if said, err := mounted.CombinedOutput(); err != nil {
		if os.Getenv("TOOLHOST_NEEDS") == "all" {
			t.Fatalf("needs to mount a tmpfs: %s", said)
		}
		t.Skipf("needs to mount a tmpfs: %s", said)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", d.path("var/audit")).Run() })
	h := d.openAudited(t)
	defer h.Close()
	call := func() Outcome {
		return h.Call(t.Context(), tom(), Proposal{Tool: "get_order", Arguments: []byte(`{"order_id":"LK-500000"}`)})
	}
	if o := call(); o.State != OK {
		t.Fatal(o.Line(), o.Reason)
	}
	filler := filepath.Join(d.path("var/audit"), "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	before := h.Stats().Runs["get_order"]
	for _, s := range []Session{tom(), {Role: "visitor"}} {
		o := h.Call(t.Context(), s, Proposal{Tool: "get_order", Arguments: []byte(`{"order_id":"LK-500000"}`)})
		if o.Code != codeAuditUnavailable || o.Gate != GateAudit || string(o.Result) != `{"ok":false,"error":"The tool cannot be used at the moment."}` {
			t.Errorf("on a full disk: %s, %s", o.Line(), o.Result)
		}
	}
	if h.Stats().Runs["get_order"] != before {
		t.Error("a guest was started on a full disk")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if o := call(); o.State != OK {
		t.Errorf("with space again: %s, %s", o.Line(), o.Reason)
	}
}
