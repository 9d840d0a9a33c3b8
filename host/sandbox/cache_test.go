package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustMkdir(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Mkdir(path, mode); err != nil {
		t.Fatal(err)
	}
}

// cacheRuns makes two engines on one folder and says how many of them run a guest well.
func cacheRuns(t *testing.T, dir string) int {
	t.Helper()
	well := 0
	for range 2 {
		e, err := NewEngine(Options{CacheDir: dir, Offer: offer()})
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Compile(t.Context(), newGuest().run(i32(5)).bytes(), Limits{Memory: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if _, code, err := m.Run(t.Context(), bounds(&answers{})); err == nil && code == 5 {
			well++
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return well
}

// spoil changes a byte in the middle of every cache file.
func spoil(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for i := range b[len(b)/2:] {
			b[len(b)/2+i] ^= 0xff
		}
		return os.WriteFile(path, b, 0o600)
	})
	if err != nil || files == 0 {
		t.Fatalf("%d cache files, %v", files, err)
	}
}

// TestValidModulesAreNoted, and no others: a module is validated by the first engine of a folder.
func TestValidModulesAreNoted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	e, err := NewEngine(Options{CacheDir: dir, Offer: offer()})
	if err != nil {
		t.Fatal(err)
	}
	invalid := newGuest().run(opDrop, i32(0)).bytes()
	for range 2 {
		if _, err := e.Compile(t.Context(), invalid, Limits{Memory: 1 << 20}); err == nil {
			t.Fatal("what is not valid compiles")
		}
	}
	if n := cacheRuns(t, dir); n != 2 {
		t.Errorf("%d of 2 run well", n)
	}
	notes, err := filepath.Glob(filepath.Join(dir, "valid-*"))
	if err != nil || len(notes) != 1 {
		t.Errorf("%q %v", notes, err)
	}
}

func TestValidatorIsTheWazeroInUse(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if want := "github.com/tetratelabs/wazero v" + strings.TrimPrefix(validator, "wazero-") + "\n"; err != nil || !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not have %q, %v", want, err)
	}
}
