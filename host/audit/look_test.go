package audit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Look says what Open would, as far as it can, and changes nothing.
func TestLook(t *testing.T) {
	for _, test := range looks {
		t.Run(test.name, func(t *testing.T) {
			p := finished(t)
			test.change(t, p)
			before := strings.Join(p.names(t), "\n") + p.bytes(t)
			o := Options{Folder: p.folder(), Key: p.keyFile(), State: keptNote(p.kept(t))}
			err := Look(o)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Look says %v, want %q", err, test.want)
			}
			if after := strings.Join(p.names(t), "\n") + p.bytes(t); after != before {
				t.Errorf("who looked has changed\n%s\nto\n%s", before, after)
			}
			l, openErr := Open(p.options(t))
			if openErr == nil {
				must(t, l.Close())
			}
			if (openErr == nil) != (err == nil) {
				t.Errorf("Look says %v, Open %v", err, openErr)
			}
		})
	}
}

// looks are states in which a host may find a log.
var looks = []struct {
	name   string
	change func(*testing.T, place)
	want   string // "": a host could write
}{
	{name: "a-sound-log", change: func(*testing.T, place) {}},
	{
		name: "none-yet",
		change: func(t *testing.T, p place) {
			for _, name := range []string{"audit", "keys", "state"} {
				must(t, os.RemoveAll(p.path(name)))
			}
		},
	},
	{
		name:   "the-folder-is-gone",
		change: func(t *testing.T, p place) { must(t, os.RemoveAll(p.folder())) },
		want:   "is not there, but the state database knows it",
	},
	{
		name:   "the-key-is-gone",
		change: func(t *testing.T, p place) { must(t, os.Remove(p.keyFile())) },
		want:   "no such file",
	},
	{
		name:   "others-may-read-the-key",
		change: func(t *testing.T, p place) { must(t, os.Chmod(p.keyFile(), 0o644)) }, //nolint:gosec // on purpose
		want:   "others may read it (mode 0644)",
	},
	{
		name:   "another-key",
		change: func(t *testing.T, p place) { p.replace(t, finished(t), "keys/audit.key") },
		want:   "the last one is signed by another key",
	},
	{
		name:   "cut-everywhere",
		change: func(t *testing.T, p place) { p.cutTo(t, 4) },
		want:   "its end was cut off",
	},
	{
		name:   "the-state-database-of-another-log",
		change: func(t *testing.T, p place) { p.replace(t, finished(t), "state/state.db") },
		want:   "the checkpoint that the state database keeps is signed by another key",
	},
}

// keptNote is a state database that cannot be written.
type keptNote []KeptCheckpoint

func (k keptNote) Checkpoint() ([]byte, error) {
	if len(k) == 0 {
		return nil, nil //nolint:nilnil // none is kept
	}
	return k[0].Note, nil
}

func (keptNote) KeepCheckpoint(int64, []byte) error { return os.ErrPermission }

// names are the names of all files of a place.
func (p place) names(t *testing.T) (out []string) {
	t.Helper()
	must(t, filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	}))
	return out
}
