package capabilities

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFetchDialsPublicAddresses runs in a network of its own, which has nothing
// but a loopback device. That device also has a public address, so that one is
// dialled and nothing leaves this machine.
func TestFetchDialsPublicAddresses(t *testing.T) {
	if os.Getenv(apart) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFetchDialsPublicAddresses$", "-test.v")
		again.Env = append(os.Environ(), apart+"=1")
		again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
		out, err := again.CombinedOutput()
		if again.ProcessState == nil {
			needs(t, "a network namespace", err)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	device(t, "lo", func(socket int, r *unix.Ifreq) error {
		r.SetUint16(unix.IFF_UP)
		return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, r)
	})
	device(t, "lo:1", func(socket int, r *unix.Ifreq) error {
		if err := r.SetInet4Addr([]byte{93, 184, 216, 34}); err != nil {
			return err
		}
		return unix.IoctlIfreq(socket, unix.SIOCSIFADDR, r)
	})
	searchDomain(t, "evil.test")
	s := newSite(t)
	l := listen(t, "93.184.216.34:0")
	serveConns(l, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1000))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\npublic")
	})
	a := entry(t, "http://track.example:"+portOf(l)+"/")
	a.Addresses = nil
	newCanary(t, "127.0.0.1:"+portOf(l))
	r := s.reach(t, a)
	s.names.change("track.example", []string{"93.184.216.34"}, []string{"127.0.0.1"}, []string{"127.0.0.1", "93.184.216.34"}, []string{"2606:4700::1111"})
	wantText(t, s.get(t, r, a.URL.String()), 200, "public")
	want(t, s.get(t, r, a.URL.String()), NotAvailable, "address")
	wantText(t, s.get(t, r, a.URL.String()), 200, "public")
	want(t, s.get(t, r, a.URL.String()), NotAvailable, "no_connection") // it was let through, to no network
	a.Addresses = entry(t, "http://track.example/").Addresses
	s.names.set("track.example", "93.184.216.34")
	want(t, s.get(t, s.reach(t, a), a.URL.String()), NotAvailable, "address")

	s.names.set("other.example.evil.test", "127.0.0.1")
	other := entry(t, "http://other.example:"+portOf(l)+"/")
	want(t, s.get(t, s.reach(t, other), other.URL.String()), NotAvailable, "name")
	if n := s.names.lookups("other.example.evil.test"); n > 0 {
		t.Errorf("%d lookups of a name with the search domain behind it", n)
	}
}

// searchDomain sets the system's search domain, for the processes that see the
// file system as this one does: itself.
func searchDomain(t *testing.T, domain string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte("nameserver 127.0.0.1\nsearch "+domain+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(file, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount("/etc/resolv.conf", unix.MNT_DETACH) })
}

func device(t *testing.T, name string, do func(socket int, r *unix.Ifreq) error) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	r, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(socket, r); err != nil {
		t.Fatal(err)
	}
}
