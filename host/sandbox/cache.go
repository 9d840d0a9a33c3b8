package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Compiled modules are kept in a folder for each module, with a digest over all of its files. wazero's
// own checksum covers the machine code alone: a bit that changed in what stands before it can take all
// memory or make calls jump elsewhere. The digest guards against accidents; against those who can write
// into the folder its mode does (ownFolder).

// cacheOf is the folder of a module's machine code, "" where none is kept.
func (e *Engine) cacheOf(wasm []byte) string {
	if e.cacheDir == "" {
		return ""
	}
	sum := sha256.Sum256(wasm)
	return filepath.Join(e.cacheDir, hex.EncodeToString(sum[:]))
}

// digestFile stands in the folder that it is about.
const digestFile = "sha256"

// intact tells whether the files of a folder are those that were sealed.
func intact(dir string) bool {
	want, err := os.ReadFile(filepath.Join(dir, digestFile))
	if err != nil {
		return false
	}
	have, err := digest(dir)
	return err == nil && have == string(want)
}

// keep seals what was compiled into the folder next and puts it in the place of dir, whole: others, in this
// process or another, see all of it or nothing. No error matters, because what is not there is made anew.
func keep(next, dir string) {
	defer os.RemoveAll(next) // if it is still there
	sum, err := digest(next)
	if err != nil || os.WriteFile(filepath.Join(next, digestFile), []byte(sum), 0o600) != nil {
		return
	}
	if os.Rename(next, dir) != nil && !intact(dir) { // somebody's, and damaged
		_ = os.RemoveAll(dir)
		_ = os.Rename(next, dir)
	}
}

// digest is over the names and bytes of all files in a folder, in order.
func digest(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(dir, digestFile) {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		h.Write([]byte(path[len(dir):] + "\x00"))
		n, err := io.Copy(h, f)
		h.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// A module that was found valid is noted beside the compiled ones: validating it again takes half the time of a load. The note is worth as
// much as the machine code that lies there.

// knownValid says whether this program has found the module valid before.
func (e *Engine) knownValid(digest [sha256.Size]byte) bool {
	if e.cacheDir == "" {
		return false
	}
	_, err := os.Lstat(e.noteOf(digest))
	return err == nil
}

// noteValid notes it. No error matters: it is validated again then.
func (e *Engine) noteValid(digest [sha256.Size]byte) {
	if e.cacheDir != "" {
		_ = os.WriteFile(e.noteOf(digest), nil, 0o600)
	}
}

// validator is the wazero that validates: another may judge otherwise (TestValidatorIsTheWazeroInUse).
const validator = "wazero-1.12.0"

// noteOf is the note's file.
func (e *Engine) noteOf(digest [sha256.Size]byte) string {
	return filepath.Join(e.cacheDir, "valid-"+validator+"-"+hex.EncodeToString(digest[:]))
}
