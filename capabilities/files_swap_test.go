//go:build linux

package capabilities

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What lies under a name is exchanged while it is opened. The exchange is one
// step of the kernel, so that there is always something under the name.

const swapPath = "mid/f.txt"

// swapCase is a name below root/T-1 ("..": beside the folder itself), and what
// is exchanged for it.
type swapCase struct {
	checks int
	name   string
	other  func(t *testing.T, tree fileTree, path string)
}

func linkTo(to string) func(*testing.T, fileTree, string) {
	return func(t *testing.T, tree fileTree, path string) {
		fileMust(t, os.Symlink(strings.ReplaceAll(to, "BASE", tree.base), path))
	}
}

func aFIFO(t *testing.T, _ fileTree, path string) { fileMust(t, mkfifo(path)) }

// aFIFOThatSpeaks does not hold up who opens it, and gives another's bytes.
func aFIFOThatSpeaks(t *testing.T, tree fileTree, path string) {
	aFIFO(t, tree, path)
	fifo, err := os.OpenFile(path, os.O_RDWR, 0)
	fileMust(t, err)
	t.Cleanup(func() { _ = fifo.Close() })
	_, err = fifo.WriteString(strings.Repeat(fileMarker, 100))
	fileMust(t, err)
}

func aFile(t *testing.T, _ fileTree, path string) { fileWrite(t, path, fileMarker) }

func aFolder(t *testing.T, _ fileTree, path string) { fileMust(t, os.Mkdir(path, 0o755)) }

func aDevice(t *testing.T, _ fileTree, path string) { mknod(t, path, 1, 5) }

func aSocket(t *testing.T, _ fileTree, path string) { bindSocket(t, path) }

func aHardLink(t *testing.T, tree fileTree, path string) {
	fileMust(t, os.Link(tree.at("outside/secret.txt"), path))
}

func swapCases() map[string]swapCase {
	return map[string]swapCase{
		"file-for-a-link-to-outside":         {10_000, swapPath, linkTo("BASE/outside/secret.txt")},
		"file-for-a-link-to-a-session":       {1_500, swapPath, linkTo("../../T-10/x")},
		"file-for-a-link-to-inside":          {1_500, swapPath, linkTo("../other/f.txt")},
		"file-for-a-link-beside-it":          {1_500, swapPath, linkTo("g.txt")},
		"file-for-a-hard-link":               {1_500, swapPath, aHardLink},
		"file-for-a-fifo":                    {10_000, swapPath, aFIFO},
		"file-for-a-fifo-that-speaks":        {1_500, swapPath, aFIFOThatSpeaks},
		"file-for-a-device":                  {1_500, swapPath, aDevice},
		"file-for-a-socket":                  {1_500, swapPath, aSocket},
		"file-for-a-folder":                  {1_500, swapPath, aFolder},
		"mid-folder-for-a-link-to-outside":   {10_000, "mid", linkTo("BASE/outside/mid")},
		"mid-folder-for-a-link-to-a-session": {10_000, "mid", linkTo("../T-10/mid")},
		"mid-folder-for-a-link-beside-it":    {1_500, "mid", linkTo("other")},
		"mid-folder-for-a-fifo":              {10_000, "mid", aFIFO},
		"mid-folder-for-a-file":              {1_500, "mid", aFile},
		"folder-for-a-link-to-a-session":     {10_000, "../T-1", linkTo("T-10")},
		"folder-for-a-link-to-outside":       {1_500, "../T-1", linkTo("BASE/outside")},
		"folder-for-a-fifo":                  {10_000, "../T-1", aFIFO},
	}
}

func TestFilesSwapped(t *testing.T) {
	for name, tt := range swapCases() {
		t.Run(name, func(t *testing.T) {
			tree := newFileTree(t, swapPath)
			for _, path := range []string{"other/f.txt", "other/" + fileMarker, "mid/g.txt"} {
				fileWrite(t, tree.own(path), fileMarker) // inside, but under no name that is asked for
			}
			path, stage := filepath.Clean(tree.own(tt.name)), tree.at("stage/socket")
			tt.other(t, tree, stage)
			before := tree.handles(t)
			stop := swapNames(t, path, stage)
			inTime(t, func() { tree.askSwapped(t, tt.checks) })
			stop()
			if after := tree.handles(t); after != before {
				t.Errorf("%d handles, then %d", before, after)
			}
		})
	}
}

// swapNames exchanges two names until it is told to stop.
func swapNames(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	exchange := func() error { return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) }
	needs(t, "to exchange two names", exchange())
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
			}
			if err := exchange(); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
		}
	}()
	end := func() {
		select {
		case <-quit:
		default:
			close(quit)
		}
		<-done
	}
	t.Cleanup(end)
	return end
}

// askSwapped asks through the gate and for a read, so often in all, and more
// where all went one way.
func (tree fileTree) askSwapped(t *testing.T, checks int) {
	path := swapPath
	whole, only := tree.reach(nil), tree.reach(&path)
	read, list, body := fileRequest(t, "path", path), fileRequest(t, "folder", "mid"), readBody(insideText(path))
	given, denied := 0, 0
	start := time.Now()
	for i := 0; 2*i < checks || (given == 0 || denied == 0) && time.Since(start) < fileTime/2; i++ {
		var d *Denial
		if err := only.Admit(t.Context()); err != nil && !errors.As(err, &d) {
			t.Errorf("the gate fails: %v", err)
		}
		a := tree.ask(t, whole, "read", read)
		switch {
		case a.Status == OK && string(a.Body) == body:
			given++
		case a.Status == NotAvailable && a.Reason != "" && len(a.Body) == 0:
			denied++
		default:
			t.Errorf("read says %s %q: %s", a.Status.Word(), a.Reason, a.Body)
		}
		if i%16 == 0 {
			tree.ask(t, whole, "list", list)
		}
		if t.Failed() {
			return
		}
	}
	if given == 0 || denied == 0 {
		t.Errorf("%d times given, %d times denied: this showed nothing", given, denied)
	}
}
