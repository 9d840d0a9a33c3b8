package server

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// Lines of any length and end are read, and an error of the stream is no end of it.
func TestReadLine(t *testing.T) {
	const most = 100_000
	broken := errors.New("broken")
	long := strings.Repeat("x", most+1)
	in := NewLines(io.MultiReader(strings.NewReader("one\r\n\n"+long+"\n"+long[1:]+"\n"+strings.Repeat(long, 5)+"\nlast"), errReader{broken}))
	for _, want := range []struct {
		text       string
		long, half bool
	}{{text: "one"}, {text: ""}, {text: long, long: true}, {text: long[1:]}, {text: long, long: true}} {
		l, err := ReadLine(in, most)
		if string(l.Text) != want.text || l.Long != want.long || l.Half != want.half || err != nil {
			t.Errorf("%.20q of %d bytes, %t, %t, %v", l.Text, len(l.Text), l.Long, l.Half, err)
		}
	}
	if l, err := ReadLine(in, most); !errors.Is(err, broken) {
		t.Errorf("%q, %v", l.Text, err)
	}
	in = NewLines(strings.NewReader("half"))
	if l, err := ReadLine(in, most); string(l.Text) != "half" || !l.Half || err != nil {
		t.Errorf("%q, %t, %v", l.Text, l.Half, err)
	}
	if _, err := ReadLine(in, most); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }
