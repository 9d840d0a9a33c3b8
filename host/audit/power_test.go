package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A disk has of a place's lines and sealed texts what was put on it, and no more.
type disk struct {
	of    place
	mu    sync.Mutex
	files map[string][]byte
}

// sync is what Options.datasync does on this disk.
func (d *disk) sync(f *os.File) error {
	if err := syncData(f); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	data, err := os.ReadFile(f.Name())
	if name, relErr := filepath.Rel(d.of.folder(), f.Name()); relErr == nil {
		d.files[name] = data
	}
	return err
}

// powerCut is the place as it is found after a power cut. The tree has as little as can be.
func (d *disk) powerCut(t *testing.T) place {
	t.Helper()
	p := d.of.copy(t)
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, data := range d.files {
		p.write(t, name, data)
	}
	return p
}

// What a host that was killed had sealed and not put on disk is put there before
// the tree has a hash of it: else a power cut took, with that line, what was
// answered after it (A1).
func TestKillAndThenPowerCut(t *testing.T) {
	l, _, left := startedSoon(t)
	defer l.Close()
	lines := left.lines(t)
	sealed := entry(t, lines[11]).Sealed[0]
	values := filepath.Join(valuesFolder, sealed.File)
	d := &disk{of: left, files: map[string][]byte{
		entriesFile: []byte(strings.Join(lines[:11], "\n") + "\n"),
		values:      left.read(t, values)[:sealed.At],
		treeFile:    left.read(t, treeFile),
	}}
	next := left.open(t, func(o *Options) { o.datasync = d.sync })
	must(t, next.Append(Event{Kind: Loaded, Load: &LoadInfo{}})) // nothing is sealed with it
	after := d.powerCut(t)
	must(t, next.Close())

	must(t, after.open(t).Close())
	if !strings.Contains(string(after.read(t, entriesFile)), `"kind":"loaded"`) {
		t.Error("an entry was on disk when Append returned, and the next start has cut it off")
	}
	wantSound(t, after)
}

var errDisk = errors.New("the disk has an error")

// An error of the disk is told once; asked again it says that all is well. A start
// whose sealed text it has lost stays lost.
func TestDiskErrorIsToldOnce(t *testing.T) {
	start := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		file  string
		later time.Duration
	}{
		"lines":                    {file: entriesFile},
		"sealed":                   {file: "2026-11-30"},
		"sealed-on-the-day-before": {file: "2026-11-30", later: 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			now, fail := start, false
			p := newPlace(t)
			l := p.open(t, func(o *Options) {
				o.Clock = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
				o.datasync = func(f *os.File) error {
					mu.Lock()
					defer mu.Unlock()
					if fail && filepath.Base(f.Name()) == test.file {
						fail = false
						return errDisk
					}
					return syncData(f)
				}
			})
			l.settleIn = time.Hour
			appendAll(t, l, 10, 1)
			must(t, l.Append(startOf(ended(10, "C-00001"))))
			mu.Lock()
			now, fail = now.Add(test.later), true
			mu.Unlock()
			if err := l.Append(ended(11, "C-00001")); !errors.Is(err, errDisk) {
				t.Fatalf("what could not be put on disk was written: %v", err)
			}
			if err := l.Append(goingOn(ended(10, "C-00001"))); !errors.Is(err, errStartLost) {
				t.Errorf("the end, without what its start has sealed: %v", err)
			}
			must(t, l.Append(ended(12, "C-00001")))
			must(t, l.Close())
			if strings.Contains(string(p.read(t, entriesFile)), ended(10, "").Call.ID) {
				t.Error("the start stands in the log")
			}
			wantSound(t, p)
		})
	}
}

// A row of people.db that is damaged tells nothing of a crash: the log opens, and
// verify tells of the row.
func TestDamagedRowIsNoCrash(t *testing.T) {
	l, _, left := startedSoon(t)
	defer l.Close()
	left.sql(t, "UPDATE person SET wrapped = zeroblob(60) WHERE pseudonym = ?", entry(t, left.lines(t)[11]).Sealed[0].Person)
	next := left.open(t)
	must(t, next.Append(ended(20, "C-00002")))
	must(t, next.Close())
	if n := len(left.lines(t)); n < 14 { // a start, recovered, an end
		t.Errorf("%d lines", n)
	}
}
