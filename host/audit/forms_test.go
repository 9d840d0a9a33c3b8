package audit

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// Looking for a secret in files, in whatever form it may lie there.

// forms are the ways in which a text may lie in a file.
func forms(text string) map[string][]byte {
	out := map[string][]byte{
		"raw": []byte(text),
		"hex": []byte(hex.EncodeToString([]byte(text))),
		"HEX": []byte(strings.ToUpper(hex.EncodeToString([]byte(text)))),
	}
	backwards := []byte(text)
	slices.Reverse(backwards)
	out["reversed"] = backwards
	for name, e := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
		for before := range 3 {
			whole := e.EncodeToString(append(make([]byte, before), text...))
			first, last := (before*8+5)/6, (before+len(text))*8/6 // digits of this text alone
			out[fmt.Sprintf("%s-%d", name, before)] = []byte(whole[first:last])
		}
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		low, high := byte(unit), byte(unit>>8) //nolint:gosec // two halves
		out["utf-16le"] = append(out["utf-16le"], low, high)
		out["utf-16be"] = append(out["utf-16be"], high, low)
	}
	for _, b := range []byte(text) {
		out["percent"] = fmt.Appendf(out["percent"], "%%%02X", b)
	}
	return out
}

// files are all files of the audit and state folders.
func (p place) files(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, folder := range []string{"audit", "state"} {
		must(t, filepath.WalkDir(p.path(folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			out[path], err = os.ReadFile(path)
			return err
		}))
	}
	return out
}

func wantNowhere(t testing.TB, p place, secrets []string) {
	t.Helper()
	files := p.files(t)
	for _, secret := range secrets {
		for form, bytesOf := range forms(secret) {
			for path, data := range files {
				if bytes.Contains(data, bytesOf) {
					t.Errorf("%s holds %q (%s)", path, secret, form)
				}
			}
		}
	}
}

// Every form is found where it is: else the search shows nothing.
func TestFormsAreFound(t *testing.T) {
	const text = "KD-7742109"
	for form, bytesOf := range forms(text) {
		if form == "raw" {
			continue
		}
		if len(bytesOf) < len(text) || bytes.Contains([]byte(text), bytesOf) {
			t.Errorf("%s: %q is no form of %q", form, bytesOf, text)
		}
	}
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte("xyz"[:before] + text + "tail"))
		if !strings.Contains(encoded, string(forms(text)[fmt.Sprintf("base64-%d", before)])) {
			t.Errorf("%q is not found in %q", text, encoded)
		}
	}
}
