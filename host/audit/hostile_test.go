package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// What an outsider may put into a value, or a name of a person.
func hostileTexts() map[string]string {
	return map[string]string{
		"a-line-end":          "one\ntwo\r\nthree",
		"a-line-of-the-log":   "x\"}\n{\"at\":\"2026-11-30T08:00:00Z\",\"begin\":{\"origin\":\"x\"},\"kind\":\"begun\",\"seq\":0,\"v\":1}\n",
		"escapes-of-terminal": "\x1b[2J\x1b]0;title\x07\u009b31m",
		"right-to-left":       "\u202egnp.exe\u2066\u2069",
		"line-separators":     "a\u2028b\u2029c\u0085d",
		"nul":                 "a\x00b",
		"no-utf-8":            "a\xff\xfe\xc0\x80\xed\xa0\x80b",
		"a-byte-order-mark":   "\ufeffx",
		"astral":              "\U0001f9a4\U0010ffff",
		"json-in-a-text":      `"},"salt":"AAAA","values":{"arguments":"x`,
		"long":                strings.Repeat("\u202e\x00\"\\long", 1<<20/12),
	}
}

// Whatever a value or a name holds, its entry is one canonical line of ASCII,
// and what was sealed opens equal; what is no UTF-8 is replaced (A4).
func TestHostileValues(t *testing.T) {
	p := newPlace(t)
	l := p.open(t, eights)
	texts := hostileTexts()
	n := 0
	for name, text := range texts {
		e := ended(n, "")
		n++
		e.Call.ID = name
		short := text[:min(len(text), 200)]
		e.Who = Who{Customer: short, Subject: short + "s", Tenant: short, Session: short, Ticket: short}
		e.Values = []Value{TextValue("arguments", text), TextValue("result", text)}
		must(t, l.Append(e))
	}
	must(t, l.Close())
	lines := p.lines(t)
	if len(lines) != 1+len(texts) {
		t.Errorf("%d lines of %d entries", len(lines), 1+len(texts))
	}
	for _, line := range lines {
		wantCanonical(t, []byte(line))
		if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
			t.Errorf("byte %d is none of printable ASCII: %q", i, line)
		}
		if len(line) > 4096 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	for name, text := range texts {
		got := p.found(t, p.keyFile(), Filter{Call: name})
		want := strictjson.AppendString(nil, text)
		if len(got) != 1 || got[0].Gone != "" || len(got[0].Values) != 3 {
			t.Errorf("%s: found %d, values %d, gone %q", name, len(got), len(got[0].Values), got[0].Gone)
			continue
		}
		for _, v := range got[0].Values {
			if v.Name != subjectValue && !bytes.Equal(v.JSON, want) {
				t.Errorf("%s: %s opens as %.200q, want %.200q", name, v.Name, v.JSON, want)
			}
		}
		short := text[:min(len(text), 200)]
		if found := p.found(t, p.keyFile(), Filter{Ticket: short, Session: short, Customer: short}); len(found) != 1 {
			t.Errorf("%s: by its names %d entries are found", name, len(found))
		}
	}
	wantSound(t, p)
}

// What is not one JSON value, or has the name of another one, is refused whole:
// it could pass for a value that was not there.
func TestValuesThatAreRefused(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	for name, values := range map[string][]Value{
		"no-JSON":               {{Name: "a", JSON: []byte(`{"order_id":`)}},
		"empty":                 {{Name: "a"}},
		"two-values":            {{Name: "a", JSON: []byte(`1 2`)}},
		"another-value-in-it":   {{Name: "a", JSON: []byte(`1,"b":2`)}},
		"the-end-of-all-values": {{Name: "a", JSON: []byte(`1},"c":{"d":2`)}},
		"no-UTF-8":              {{Name: "a", JSON: []byte("\"\xff\"")}},
		"a-name-twice":          {TextValue("a", "1"), TextValue("a", "2")},
		"the-name-of-ours":      {TextValue(subjectValue, "somebody else")},
		"a-name-in-it-twice":    {{Name: "a", JSON: []byte(`{"b":1,"b":2}`)}},
	} {
		for _, subject := range []string{"C-00001", "another"} {
			e := ended(1, "C-00001")
			e.Who.Subject, e.Values = subject, values
			if err := l.Append(e); err == nil {
				t.Errorf("%s was written", name)
			}
		}
	}
	must(t, l.Append(ended(2, "C-00001")))
	must(t, l.Close())
	if r := wantSound(t, p); r.Entries != 2 {
		t.Errorf("%d entries, want 2", r.Entries)
	}
}

// White space in a value is kept, around it not.
func TestValuesWithWhiteSpace(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	e := ended(1, "C-00001")
	e.Values = []Value{{Name: "arguments", JSON: []byte("\n { \"a\" : [ 1 ,\t2 ] }\r\n")}}
	must(t, l.Append(e))
	must(t, l.Close())
	got := p.found(t, p.keyFile(), Filter{Call: e.Call.ID})[0].Values
	opened := slices.IndexFunc(got, func(v Value) bool { return v.Name == "arguments" })
	if want := "{ \"a\" : [ 1 ,\t2 ] }"; opened < 0 || string(got[opened].JSON) != want {
		t.Errorf("opened: %v, want %v", got, want)
	}
	wantSound(t, p)
}

// Fields that are ours are not checked one by one; what would be no line of
// JSON is an error all the same.
func TestFieldsThatAreRefused(t *testing.T) {
	p := newPlace(t)
	l := p.open(t)
	for n, change := range []func(*Event){
		func(e *Event) { e.Call.ID = "\xff" },
		func(e *Event) { e.Call.Tool = "a\xc0" },
		func(e *Event) { e.Values[0].Name = "\xfe" },
		func(e *Event) { e.At = e.At.AddDate(9000, 0, 0) },
	} {
		e := ended(n, "C-00001")
		change(&e)
		if err := l.Append(e); err == nil {
			t.Errorf("change %d was written", n)
		}
	}
	must(t, l.Append(ended(9, fmt.Sprintf("C-%d", 9))))
	must(t, l.Close())
	wantSound(t, p)
}
