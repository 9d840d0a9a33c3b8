//go:build unix

package host

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A token proves who somebody is, as [approvers] has it now.
func TestTokens(t *testing.T) {
	d := refundDesk(t)
	grace := hashOfToken(tokenOf("usr-grace"))
	d.edit(t, `"`+grace+`"`, `"file:grace.sha256"`)
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	want := func(token, subject string) {
		t.Helper()
		who, err := h.Approver(token)
		if who.Subject() != subject || (err == nil) != (subject != "") {
			t.Errorf("%.40q is the token of %q, %v; want %q", token, who.Subject(), err, subject)
		}
	}
	want(tokenOf("usr-grace"), "") // her file is not there
	want(tokenOf("usr-mara"), "usr-mara")
	d.write(t, "grace.sha256", grace+"\n")
	want(tokenOf("usr-grace"), "usr-grace")
	for _, token := range []string{"", "x", strings.Repeat("x", 19), strings.Repeat("x", 20), tokenOf("usr-mara") + " ", strings.ToUpper(tokenOf("usr-mara")), grace, hashOfToken(tokenOf("usr-mara")), strings.Repeat("\x00", 64)} {
		want(token, "")
	}
	if _, err := h.Approver(strings.Repeat("x", 19)); err == nil || errors.Is(err, ErrNobody) {
		t.Error("a short token is told from a wrong one: ", err)
	}

	// Her token is replaced while the host runs.
	d.write(t, "grace.sha256", hashOfToken("another token of usr-grace"))
	want(tokenOf("usr-grace"), "")
	want("another token of usr-grace", "usr-grace")
	for name, text := range map[string]string{
		"empty": "", "no-prefix": strings.TrimPrefix(grace, "sha256:"), "upper-case": strings.ToUpper(grace), "short": grace[:40], "two": grace + "\n" + grace,
		"long": grace + strings.Repeat(" ", 2000), "a-token": tokenOf("usr-grace"), "odd-digit": grace + "0",
	} {
		d.write(t, "grace.sha256", text)
		if who, err := h.Approver(tokenOf("usr-grace")); err == nil {
			t.Errorf("%s: is taken for %s", name, who.Subject())
		}
	}
	// A link to a regular file is one, a FIFO is not and holds nobody up.
	d.write(t, "elsewhere.sha256", grace)
	for _, make := range []func(path string) error{
		func(path string) error { return os.Symlink(d.path("elsewhere.sha256"), path) },
		func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		if err := errors.Join(os.Remove(d.path("grace.sha256")), make(d.path("grace.sha256"))); err != nil {
			t.Fatal(err)
		}
		who, err := h.Approver(tokenOf("usr-grace"))
		info, stat := os.Stat(d.path("grace.sha256"))
		if stat != nil || (err == nil) != info.Mode().IsRegular() {
			t.Errorf("a file of mode %v: %q, %v", info.Mode(), who.Subject(), err)
		}
	}

	// Who is taken out of [approvers] is nobody.
	d.edit(t, `usr-mara = "`+hashOfToken(tokenOf("usr-mara"))+`"`, "")
	h = d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	want(tokenOf("usr-mara"), "")
}

// Two people whose files hold the same token cannot be told apart, and so are
// nobody: else one person's approval could be taken for the other's.
func TestOneTokenOfTwoPeopleIsNobodys(t *testing.T) {
	d := refundDesk(t)
	d.edit(t, `"`+hashOfToken(tokenOf("usr-grace"))+`"`, `"file:grace.sha256"`)
	d.write(t, "grace.sha256", hashOfToken(tokenOf("usr-mara")))
	h := d.openAs(t, func(o *Options) { o.Recorder = NewMemoryRecorder(100) })
	if who, err := h.Approver(tokenOf("usr-mara")); err == nil {
		t.Errorf("the token of two people is taken for %s", who.Subject())
	}
}
