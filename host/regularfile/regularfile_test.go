//go:build unix

package regularfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("good"), []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path string
		most int64
		want string // part of the error; "": none
	}{
		"good":        {at("good"), 4, ""},
		"too-long":    {at("good"), 3, "at most 3 bytes"},
		"fifo":        {at("fifo"), 9, "regular file"}, // would block for ever
		"folder":      {dir, 9, "regular file"},
		"zero-device": {"/dev/zero", 9, "regular file"},
		"missing":     {at("none"), 9, "no such file"},
	} {
		data, err := Read(tt.path, tt.most)
		if tt.want == "" && (err != nil || string(data) != "1234") || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}
