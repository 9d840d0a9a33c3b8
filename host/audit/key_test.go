package audit

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"
)

// A key file that is not one is refused, and no part of it stands in the error.
func TestKeyFilesThatAreRefused(t *testing.T) {
	p := finished(t)
	data, err := os.ReadFile(p.keyFile())
	must(t, err)
	signing, sealing, _ := strings.Cut(strings.TrimSuffix(string(data), "\n"), "\n"+sealingPrefix)
	if _, err := parseKey(data); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty":                "",
		"one-line":             signing + "\n",
		"no-sealing":           signing + "\n" + sealingPrefix + "\n",
		"short-sealing":        signing + "\n" + sealingPrefix + sealing[:20] + "\n",
		"long-sealing":         signing + "\n" + sealingPrefix + base64.StdEncoding.EncodeToString(make([]byte, 33)) + "\n",
		"a-third-line":         signing + "\n" + sealingPrefix + sealing + "\n" + sealing + "\n",
		"the-public-key":       p.publicText(t) + sealingPrefix + sealing + "\n",
		"of-another-program":   strings.Replace(signing, originPrefix, "elsewhere/", 1) + "\n" + sealingPrefix + sealing + "\n",
		"a-damaged-signing":    signing[:len(signing)-4] + "\n" + sealingPrefix + sealing + "\n",
		"white-space-in-front": " " + string(data),
		"nul":                  string(data) + "\x00",
	} {
		must(t, os.WriteFile(p.keyFile(), []byte(text), 0o600))
		_, err := readKey(p.keyFile())
		if err == nil {
			t.Errorf("%s was taken for a key", name)
			continue
		}
		for _, secret := range []string{sealing[:16], signing[len(signing)-20 : len(signing)-4]} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error has a part of the key: %v", name, err)
			}
		}
	}
}

func (p place) publicText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.keyFile() + ".pub")
	must(t, err)
	return string(text)
}

// A key that others can read, or that is no file, is not used.
func TestKeyIsClosedToOthers(t *testing.T) {
	p := finished(t)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		must(t, os.Chmod(p.keyFile(), mode))
		openAfter(t, p, "chmod 600 it", "")
	}
	must(t, os.Remove(p.keyFile()))
	must(t, os.Mkdir(p.keyFile(), 0o700))
	openAfter(t, p, "audit key", "")
}

// A public key is read as it lies beside the key, and nothing else is.
func TestParsePublicKey(t *testing.T) {
	text := finished(t).publicText(t)
	if v, err := ParsePublicKey([]byte(text)); err != nil || !strings.HasPrefix(text, v.Name()) {
		t.Errorf("%q: %v", text, err)
	}
	for _, bad := range []string{"", "toolhost-audit/X", text[:len(text)-8], "x" + text, text + text} {
		if _, err := ParsePublicKey([]byte(bad)); err == nil || !strings.Contains(err.Error(), "is no public key of an audit log") {
			t.Errorf("%q was read: %v", bad, err)
		}
	}
}

// The folder, and all that is in it, is its owner's alone.
func TestOnlyTheOwnerMayRead(t *testing.T) {
	p := filed(t)
	p.found(t, p.keyFile(), Filter{})
	for _, name := range p.names(t) {
		info, err := os.Stat(name)
		must(t, err)
		if open := info.Mode().Perm() & 0o077; open != 0 && name != p.dir && !strings.HasSuffix(name, ".pub") {
			t.Errorf("%s is open to others: %s", name, info.Mode())
		}
	}
}

// The end of a call whose start has kept who asked does not keep it again.
func TestGoesOn(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	start, end := agnes().event(1), agnes().event(1)
	start.Kind, end.GoesOn, end.Values = Started, true, end.Values[1:2]
	must(t, l.Append(start))
	must(t, l.Append(end))
	must(t, l.Close())
	got := p.found(t, p.keyFile(), Filter{Call: start.Call.ID})
	if len(got) != 2 || len(got[0].Values) != 4 || len(got[1].Values) != 1 || got[0].Entry.Call.Who != got[1].Entry.Call.Who {
		t.Errorf("start and end: %+v", got)
	}
	wantSound(t, p)
}
