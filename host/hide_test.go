package host

import (
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// What is hidden is every byte of every occurrence: the same as looking at
// each place for each secret.
func FuzzHider(f *testing.F) {
	f.Add("abcabcabcd", "abcabcd", "bcab")
	f.Add("aaaaaaaaaa", "aaaa", "aaab")
	f.Add("the secret is in \"quotes\" \\n", "quotes\" ", "e se")
	f.Fuzz(func(t *testing.T, text, one, other string) {
		h := newHider([]string{one, other})
		if h.withhold || len(text) > 200 {
			return
		}
		marks := make([]bool, len(text))
		for _, s := range h.secrets {
			for i := 0; i+len(s.text) <= len(text); i++ {
				for j := range s.text {
					if text[i:i+len(s.text)] == s.text {
						marks[i+j] = true
					}
				}
			}
		}
		want := ""
		for i := range len(text) {
			switch {
			case !marks[i]:
				want += text[i : i+1]
			case i == 0 || !marks[i-1]:
				want += hidden
			}
		}
		if got := h.replace(text); got != want {
			t.Errorf("%q without %q, %q is %q, want %q", text, one, other, got, want)
		}
	})
}

// The time is linear in the text: with time that grows with both, a megabyte of
// this text and this secret would take hours.
func TestHidingIsLinear(t *testing.T) {
	secret := strings.Repeat("a", 500_000) + "b"
	text := strings.Repeat("a", 1<<20) + "b"
	h := newHider([]string{secret, strings.Repeat("a", 1000) + "c", strings.Repeat("ab", 1000)})
	if got := h.replace(text); len(got) != len(text)-len(secret)+len(hidden) {
		t.Errorf("%d bytes are left", len(got))
	}
	if got := h.replace(strings.Repeat("a", 1<<20)); len(got) != 1<<20 {
		t.Errorf("%d bytes are left", len(got))
	}
}

// A result is hidden in its texts and numbers, at any depth.
func TestHiddenValue(t *testing.T) {
	v, err := strictjson.Read([]byte(`{"a":["x 4711 y",4711,{"b":47110,"c":"4712"}],"d":true}`), strictjson.Default(100))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"a":["x (secret) y","(secret)",{"b":"(secret)0","c":"4712"}],"d":true}`
	if got := string(newHider([]string{"4711"}).value(v).AppendJSON(nil)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var none *hider
	if got := string(none.value(v).AppendJSON(nil)); !strings.Contains(got, "4711") {
		t.Errorf("without secrets: %s", got)
	}
}

// BenchmarkHide shows that twice the text takes twice the time.
func BenchmarkHide(b *testing.B) {
	h := newHider([]string{strings.Repeat("a", 100_000) + "b", "hunter2xyz"})
	for _, size := range []int{128 << 10, 256 << 10, 512 << 10, 1 << 20} {
		text := strings.Repeat("a", size-10) + "hunter2xyz"
		b.Run(strconv.Itoa(size>>10)+"KiB", func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				h.replace(text)
			}
		})
	}
}
