package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// The disk is full, read-only, or gone: Append says so, what is there stays
// sound (A2), and it goes on when the disk does.

// newSmallPlace is a place whose log lies on a disk of 4 MiB. Who may not mount
// one skips the test; with TOOLHOST_NEEDS=all that is a failure.
func newSmallPlace(t *testing.T) place {
	t.Helper()
	p := newPlace(t)
	must(t, os.MkdirAll(p.folder(), 0o700))
	if err := mount("-t", "tmpfs", "-o", "size=4m,mode=0700", "toolhost-audit", p.folder()); err != nil {
		if os.Getenv("TOOLHOST_NEEDS") == "all" {
			t.Fatalf("needs to mount a tmpfs: %v", err)
		}
		t.Skipf("needs to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if said, err := exec.Command("umount", "-l", p.folder()).CombinedOutput(); err != nil { //nolint:gosec // of this test
			t.Errorf("umount: %v: %s", err, said)
		}
	})
	return p
}

func mount(args ...string) error {
	said, err := exec.Command("mount", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mount: %w: %s", err, bytes.TrimSpace(said))
	}
	return nil
}

// fill leaves so many bytes free.
func (p place) fill(t *testing.T, free int64) {
	t.Helper()
	must(t, os.WriteFile(p.file("filler"), nil, 0o600))
	now, err := freeBytes(p.folder())
	must(t, err)
	must(t, os.WriteFile(p.file("filler"), make([]byte, max(0, now-free)), 0o600))
}

func (p place) empty(t *testing.T) {
	t.Helper()
	must(t, os.Remove(p.file("filler")))
}

// Whatever is the first that does not fit (who is new, what is sealed, the
// line, its hash), no part of the entry stays.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	p := newSmallPlace(t)
	l := p.open(t, eights)
	known := agnes()
	must(t, l.Append(known.event(0)))
	written, failed := int64(2), map[string]bool{}
	for round := range 40 {
		p.fill(t, int64(round%4)*4096)
		var err error
		for n := 0; err == nil; n++ {
			e := known.event(n)
			switch round % 3 {
			case 0:
				e = Event{Kind: Loaded, At: e.At, Load: &LoadInfo{Config: e.Call.Config}}
			case 1:
				e.Who.Customer, e.Who.Session = fmt.Sprintf("C-%d-%d", round, n), fmt.Sprintf("s-%d-%d", round, n)
			case 2:
				e.Values = append(e.Values, TextValue("note", strings.Repeat("long ", 1000*(n%3))))
			}
			if err = l.Append(e); err == nil {
				written++
			}
		}
		failed[where(err)] = true
		if r := p.verify(t); len(r.Findings) > 0 || r.Entries != written {
			t.Fatalf("round %d, %v: %d entries, want %d%s", round, err, r.Entries, written, inWords(r))
		}
		p.empty(t)
		must(t, l.Append(known.event(round)))
		written++
	}
	must(t, l.Close())
	if r := wantSound(t, p); r.Recoveries > 0 {
		t.Errorf("%d recoveries; an error leaves nothing to put right", r.Recoveries)
	}
	for _, name := range []string{peopleFile, valuesFolder, entriesFile, treeFile} {
		if !failed[name] {
			t.Errorf("the disk was never full at %s: %v", name, failed)
		}
	}
}

// where tells which file an error names.
func where(err error) string {
	for _, name := range []string{peopleFile, valuesFolder, entriesFile, treeFile} {
		if strings.Contains(err.Error(), name) {
			return name
		}
	}
	return err.Error()
}

// The start of a call is refused while its end still fits.
func TestDiskNearlyFull(t *testing.T) {
	p := newSmallPlace(t)
	l := p.open(t)
	start := func(n int) error {
		e := ended(n, "C-00001")
		e.Kind = Started
		return l.Append(e)
	}
	must(t, start(1))
	p.fill(t, reserve-8192)
	if err := start(2); err == nil || !strings.Contains(err.Error(), "bytes are free on its disk") {
		t.Errorf("a call was started on a disk that is nearly full: %v", err)
	}
	must(t, l.Append(ended(1, "C-00001")))
	p.empty(t)
	must(t, start(2))
	must(t, l.Close())
	wantSound(t, p)
}

// What a crash has left is put right once there is room to say so (A7).
func TestRecoveryOnAFullDisk(t *testing.T) {
	p := newSmallPlace(t)
	l := p.open(t)
	appendAll(t, l, 5, 1)
	must(t, l.Close())
	p.write(t, entriesFile, append(p.read(t, entriesFile), "{torn"...))
	p.fill(t, 0)
	before := p.bytes(t)
	if l, err := Open(p.options(t)); err == nil {
		l.Close()
		t.Fatal("a log was put right on a full disk")
	}
	if after := p.bytes(t); after != before {
		t.Errorf("a log that was not opened was changed: %s, then %s", before, after)
	}
	p.empty(t)
	must(t, p.open(t).Close())
	wantRecovered(t, p, Recovery{EntryBytes: 5})
}

func TestDiskReadOnly(t *testing.T) {
	p := newSmallPlace(t)
	l := p.open(t)
	appendAll(t, l, 3, 1)
	l.mu.Lock()
	l.drop() // as an error does; the kernel turns no disk read-only under a file that is open to write
	l.mu.Unlock()
	must(t, mount("-o", "remount,ro", p.folder()))
	for range 2 {
		if err := l.Append(ended(4, "C-00001")); err == nil {
			t.Error("an entry was written to a disk that is read-only")
		}
	}
	must(t, mount("-o", "remount,rw", p.folder()))
	must(t, l.Append(ended(5, "C-00001")))
	must(t, l.Close())
	if r := wantSound(t, p); r.Entries != 5 {
		t.Errorf("%d entries, want 5", r.Entries)
	}
}

// A folder that is renamed is not followed, and what takes its place is not the
// log, before its first checkpoint and after.
func TestFolderRenamed(t *testing.T) {
	for name, every := range map[string]int{"without-a-checkpoint": 1000, "with-one": 2} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			l := p.open(t, func(o *Options) { o.CheckpointEntries = every })
			appendAll(t, l, 3, 1)
			must(t, os.Rename(p.folder(), p.path("away")))
			if err := l.Append(ended(4, "C-00001")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("an entry was written to nowhere: %v", err)
			}
			must(t, os.Mkdir(p.folder(), 0o700))
			for range 2 {
				if err := l.Append(ended(5, "C-00001")); err == nil || !strings.Contains(err.Error(), "holds 0 entries") {
					t.Errorf("an entry was written to an empty folder in the log's place: %v", err)
				}
			}
			must(t, os.RemoveAll(p.folder()))
			must(t, os.Rename(p.path("away"), p.folder()))
			must(t, l.Append(ended(6, "C-00001")))
			must(t, l.Close())
			if r := wantSound(t, p); r.Entries != 5 || r.Recoveries != 0 {
				t.Errorf("%d entries, %d recoveries; want 5 and none", r.Entries, r.Recoveries)
			}
		})
	}
}

// A day's values that are deleted while the log is open are lost, and verify
// says so; those of the next call are not written to the deleted file.
func TestValuesDeletedWhileOpen(t *testing.T) {
	p := newPlace(t)
	l := p.open(t, eights)
	appendAll(t, l, 1, 1)
	must(t, os.Remove(p.file(valuesFolder+"/"+theDay)))
	must(t, l.Append(ended(1, "C-00001")))
	must(t, l.Close())
	got := p.found(t, p.keyFile(), Filter{Last: 2})
	if got[0].Gone != GoneDamaged || got[1].Gone != "" || len(got[1].Values) != 3 {
		t.Errorf("of the call before is shown %q %v, of the one after %q %v", got[0].Gone, got[0].Values, got[1].Gone, got[1].Values)
	}
	if r := p.verify(t); len(r.Findings) != 2 || r.Findings[0].Fault != FaultValues {
		t.Errorf("verify found %v, want the two sealed texts of the first call", told(r))
	}
}

func TestDiskWarning(t *testing.T) {
	p := newSmallPlace(t)
	var said saidBy
	l := p.open(t, func(o *Options) {
		o.Log = hclog.New(&hclog.LoggerOptions{Output: &said})
		o.WarnFree, o.CheckpointTime = 2<<20, 200*time.Millisecond
	})
	const warning = "disk is nearly full"
	must(t, l.Append(ended(1, "C-00001")))
	waitFor(t, "a checkpoint by time", func() bool { return len(p.read(t, checkpointsFile)) > 0 })
	if strings.Contains(said.String(), warning) {
		t.Errorf("warned of a disk with room: %s", said.String())
	}
	p.fill(t, 1<<20)
	waitFor(t, "the warning", func() bool { return strings.Contains(said.String(), warning) })
	must(t, l.Close())
	if n := strings.Count(said.String(), warning); n != 1 {
		t.Errorf("warned %d times within ten minutes", n)
	}
}

// saidBy is what a logger wrote.
type saidBy struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *saidBy) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *saidBy) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
