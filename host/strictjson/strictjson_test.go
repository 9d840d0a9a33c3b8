package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

type vector struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Expect  string `json:"expect"` // what AppendJSON gives; "" where the text is refused
	Reason  string `json:"reason"`
	Comment string `json:"comment"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vs []vector
	if err := json.Unmarshal(raw, &vs); err != nil {
		t.Fatal(err)
	}
	return vs
}

func TestVectors(t *testing.T) {
	for _, tt := range vectors(t) {
		t.Run(tt.Name, func(t *testing.T) {
			v, err := Read([]byte(tt.Text), Default(1<<20))
			if tt.Reason != "" {
				checkReason(t, err, tt.Reason)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(v.AppendJSON(nil)); got != tt.Expect {
				t.Errorf("got %s, want %s", got, tt.Expect)
			}
		})
	}
}

func checkReason(t *testing.T, err error, want string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Reason != want {
		t.Errorf("got error %v, want %q", err, want)
	}
}

// What cannot stand in a JSON file of vectors: broken bytes and large texts.
func TestRefusesBytes(t *testing.T) {
	for name, tt := range map[string]struct{ text, reason string }{
		"broken-utf8-in-string":   {"\"\xff\"", ReasonUTF8},
		"broken-utf8-outside":     {"\xff", ReasonUTF8},
		"overlong-utf8":           {"\"\xc0\xaf\"", ReasonUTF8},
		"utf8-of-a-surrogate":     {"\"\xed\xa0\x80\"", ReasonUTF8},
		"byte-order-mark":         {"\xef\xbb\xbf{}", ReasonSyntax},
		"raw-nul-in-string":       {"\"\x00\"", ReasonSyntax},
		"depth-100000-arrays":     {strings.Repeat("[", 100_000), ReasonTooDeep},
		"depth-100000-objects":    {strings.Repeat(`{"a":`, 100_000), ReasonTooDeep},
		"one-byte-over-the-limit": {`"` + strings.Repeat("a", 1<<20-1) + `"`, ReasonTooLong},
		"million-digits":          {strings.Repeat("9", 1_000_000), ReasonDigits},
		"million-digit-exponent":  {"1e" + strings.Repeat("9", 1_000_000), ReasonExponent},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]byte(tt.text), Default(1<<20))
			checkReason(t, err, tt.reason)
		})
	}
}

func TestZeroLimitsAcceptNothing(t *testing.T) {
	for name, l := range map[string]Limits{
		"bytes":    {Depth: 1, Digits: 1, Exponent: 1},
		"depth":    {Bytes: 9, Digits: 1, Exponent: 1},
		"digits":   {Bytes: 9, Depth: 1, Exponent: 1},
		"exponent": {Bytes: 9, Depth: 1, Digits: 1},
	} {
		if v, err := Read([]byte(`[1e1]`), l); err == nil {
			t.Errorf("%s: accepted %s", name, v.AppendJSON(nil))
		}
	}
}

// Refusing a number costs as little as its text is long, whatever it would be
// as a number. The bound is a thousand times what it takes.
func TestHugeExponentsCostNothing(t *testing.T) {
	start := time.Now()
	for range 1000 {
		if _, err := Read([]byte("1e-10000000"), Default(64)); err == nil {
			t.Fatal("accepted")
		}
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("1000 refusals took %v", d)
	}
}

func TestValueIsNotTheCallersMemory(t *testing.T) {
	text := []byte(`{"order_id":"LK-581106","n":12}`)
	v, err := Read(text, Default(100))
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] = 'x'
	}
	if got := string(v.AppendJSON(nil)); got != `{"order_id":"LK-581106","n":12}` {
		t.Errorf("the value changed with its text: %s", got)
	}
}

func TestZeroValueIsNoValue(t *testing.T) {
	var v Value
	if v.Kind() != Nothing || v.Len() != 0 {
		t.Error("the zero Value is something")
	}
	if _, ok := v.Get(""); ok {
		t.Error("the zero Value has a member")
	}
}

// FuzzRead: what Read accepts, encoding/json accepts as the same value, and
// what encoding/json accepts, Read accepts too unless one of its own named
// bounds (size, depth, digits, exponent, duplicate, NUL, UTF-8) is broken.
// Writing and reading again changes nothing.
func FuzzRead(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Text))
	}
	limits := Limits{Bytes: 4096, Depth: 8, Digits: 24, Exponent: 24}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Read(text, limits)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *Error", err)
			}
			if (e.Reason == ReasonSyntax || e.Reason == ReasonEmpty || e.Reason == ReasonTrailing) && json.Valid(text) {
				t.Fatalf("%q is JSON, but: %v", text, err)
			}
			return
		}
		if !utf8.Valid(text) || !json.Valid(text) {
			t.Fatalf("accepted %q", text)
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var other any
		if err := dec.Decode(&other); err != nil {
			t.Fatalf("encoding/json: %v", err)
		}
		if !reflect.DeepEqual(v.Any(), other) {
			t.Fatalf("%q: %#v, encoding/json %#v", text, v.Any(), other)
		}
		again := v.AppendJSON(nil)
		w, err := Read(again, Default(1<<16))
		if err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("%q became %q (%v)", text, again, err)
		}
	})
}

// Numbers are the decimals that were written: the same rational, digit by digit.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "9007199254740993", "206.05", "1E+2", "1e-64", "0.10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Read([]byte(s), Default(256))
		if err != nil || v.Kind() != Number {
			return
		}
		text, _ := v.Text()
		if text != strings.Trim(s, " \t\r\n") {
			t.Fatalf("%q became %q", s, text)
		}
		if _, ok := new(big.Rat).SetString(text); !ok {
			t.Fatalf("%q is no number", text)
		}
	})
}

var order = []byte(`{"order_id":"LK-581106","status":"shipped","total":899.00,"note":"caf\u00e9 \"quoted\"","items":[{"product":"garden shed","quantity":1,"unit_price":899.00}]}`)

func BenchmarkRead(b *testing.B) {
	small := []byte(`{"order_id":"LK-581106"}`)
	for name, text := range map[string][]byte{"small": small, "order": order} {
		b.Run("strictjson/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(text, Default(1<<16)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("encoding-json/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dec := json.NewDecoder(bytes.NewReader(text))
				dec.UseNumber()
				var v map[string]any
				if err := dec.Decode(&v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("strictjson/refused-exponent", func(b *testing.B) {
		for b.Loop() {
			if _, err := Read([]byte("1e-10000000"), Default(64)); err == nil {
				b.Fatal("accepted")
			}
		}
	})
}
