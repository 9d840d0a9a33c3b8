package pdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// What differs from encoding/json on purpose; doc.go has the same list.
func TestDiffersFromEncodingJSON(t *testing.T) {
	t.Run("names-are-exact", func(t *testing.T) {
		var v struct {
			OrderID string `json:"order_id"`
		}
		if err := Unmarshal([]byte(`{"ORDER_ID":"x"}`), &v); err != nil || v.OrderID != "" {
			t.Errorf("%+v %v", v, err)
		}
	})
	t.Run("untyped-number-is-a-Number", func(t *testing.T) {
		var v any
		if err := Unmarshal([]byte(`[1.50]`), &v); err != nil || v.([]any)[0] != Number("1.50") {
			t.Errorf("%#v %v", v, err)
		}
	})
	t.Run("first-error-ends", func(t *testing.T) {
		v := struct{ A, B int }{}
		if err := Unmarshal([]byte(`{"A":"x","B":2}`), &v); err == nil || v.B != 0 {
			t.Errorf("%+v %v", v, err)
		}
	})
	t.Run("depth", func(t *testing.T) {
		for n, ok := range map[int]bool{mostDepth: true, mostDepth + 1: false} {
			text := []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
			for _, v := range []any{new(any), new([]any), new(struct{}), new(Row), new(json.RawMessage)} {
				if err := Unmarshal(text, v); errors.Is(err, errDepth) == ok {
					t.Errorf("%d deep into %T: %v", n, v, err)
				}
			}
			var v any = []any{}
			for range n - 1 {
				v = []any{v}
			}
			if _, err := Marshal(v); errors.Is(err, errDepth) == ok {
				t.Errorf("%d deep: %v", n, err)
			}
		}
	})
	t.Run("text-of-the-option-string-is-JSON", func(t *testing.T) {
		var v struct {
			N float64 `json:"n,string"`
		}
		for _, text := range []string{`{"n":"01"}`, `{"n":"0x1p3"}`, `{"n":"Inf"}`} {
			if err := Unmarshal([]byte(text), &v); err == nil {
				t.Errorf("%s gives %v", text, v.N)
			}
		}
	})
}

func TestErrorsSayWhereAndWhatToDo(t *testing.T) {
	cases := []struct {
		rule string
		err  error
		want string
	}{
		{"type", Unmarshal([]byte(`{"Struct":{"P":"x"}}`), new(holders)), "field Struct: field P: a string at byte 15 does not fit int"},
		{"element", Unmarshal([]byte(`[1,300]`), new([]uint8)), "element 1: the number 300 at byte 3 does not fit uint8"},
		{"member", Unmarshal([]byte(`{"a":1.5}`), new(map[string]int)), "member a: the number 1.5 at byte 5 does not fit int"},
		{"end", Unmarshal([]byte(`{"a":`), new(any)), "expected a number at byte 5, found the end"},
		{"behind", Unmarshal([]byte(`{} 1`), new(any)), `expected the end at byte 3, found "1"`},
		{"func", Unmarshal([]byte(`{"F":1}`), new(struct{ F func() })), `field F: a field of type func() cannot be read from JSON: give it the tag json:"-" or a method UnmarshalJSON`},
		{"no-pointer", Unmarshal([]byte(`{}`), small{}), "what is filled must be a pointer that is not nil"},
		{"nil", Unmarshal([]byte(`{}`), nil), "what is filled must be a pointer that is not nil"},
		{"nil-pointer", Unmarshal([]byte(`{}`), (*small)(nil)), "what is filled must be a pointer that is not nil"},
		{"chan", encodeError(map[string]any{"c": make(chan int)}), `member c: a value of type chan int cannot be written as JSON: give its field the tag json:"-" or it a method MarshalJSON`},
		{"keys", encodeError(map[float64]int{}), "a map with keys of type float64 cannot be written as JSON: give them a method MarshalText"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			if c.err == nil || c.err.Error() != c.want {
				t.Errorf("%v, want %q", c.err, c.want)
			}
		})
	}
}

func encodeError(v any) error {
	_, err := Marshal(v)
	return err
}

func TestBrokenTextFillsNothing(t *testing.T) {
	v := small{A: "before"}
	if err := Unmarshal([]byte(`{"a":"after"}}`), &v); err == nil || v.A != "before" {
		t.Errorf("%+v %v", v, err)
	}
}

// An author may write what Unmarshal was given, and what Marshal gave.
func TestUnmarshalKeepsNothingOfItsText(t *testing.T) {
	text := []byte(`{"a":"text","n":1.5,"r":{"b":"row"},"k":{"key":"x"}}`)
	var v struct {
		A string            `json:"a"`
		N Number            `json:"n"`
		R Row               `json:"r"`
		K map[string]string `json:"k"`
	}
	var untyped any
	if err := errors.Join(Unmarshal(text, &v), Unmarshal(text, &untyped)); err != nil {
		t.Fatal(err)
	}
	typedBefore, untypedBefore := show(v), show(untyped)
	for i := range text {
		text[i] = '#'
	}
	if show(v) != typedBefore || show(untyped) != untypedBefore {
		t.Errorf("%s %s", show(v), show(untyped))
	}
	row, err := v.R.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	row[2] = '#'
	if got := v.R.Text("b"); got != "row" {
		t.Errorf("%q", got)
	}
}

// Responses lie behind each other in one buffer: a later one must leave an earlier one alone.
func TestResponsesAreKept(t *testing.T) {
	forget(t)
	asked := 0
	var rows []Row
	var want []string
	for i := range 3000 {
		raw := `{"n":"` + strings.Repeat("x", i) + `"}`
		var answer getAnswer
		if err := exchange("records.get", host(statusOK, `{"row":`+raw+`}`, &asked), &getRequest{}, &answer); err != nil {
			t.Fatal(err)
		}
		rows, want = append(rows, answer.Row), append(want, raw)
	}
	for i, row := range rows {
		if string(row.raw) != want[i] {
			t.Fatalf("row %d is %.100q", i, row.raw)
		}
	}
	if asked != len(rows) {
		t.Errorf("asked %d times for %d rows that have room", asked, len(rows))
	}
}

// A method of an author's type may ask the host while it is written.
func TestRequestsWithinRequests(t *testing.T) {
	var inner, outer string
	note := func(to *string) func(request, response []byte) uint64 {
		return func(request, _ []byte) uint64 { *to = string(request); return statusOK }
	}
	if _, err := tell("toolhost.log", note(&inner), strings.Repeat("x", 500)); err != nil { // leaves a buffer to share
		t.Fatal(err)
	}
	v := asking(func() { _, _ = tell("toolhost.log", note(&inner), strings.Repeat("y", 100)) })
	if _, err := tell("toolhost.result", note(&outer), map[string]any{"a": "x", "b": v, "c": "z"}); err != nil {
		t.Fatal(err)
	}
	if outer != `{"a":"x","b":1,"c":"z"}` || inner != `"`+strings.Repeat("y", 100)+`"` {
		t.Errorf("%s %s", outer, inner)
	}
}

type asking func()

func (a asking) MarshalJSON() ([]byte, error) { a(); return []byte("1"), nil }

func TestSaying(t *testing.T) {
	var none *small
	cases := []struct {
		rule  string
		value any
		want  string
	}{
		{"text", "on purpose", "on purpose"},
		{"error", ErrDenied, "denied"},
		{"own-words", Number("1"), "1"},
		{"number", 42, "42"},
		{"struct", small{A: "x"}, `{"a":"x","b":null}`},
		{"no-json", make(chan int), "a value of type chan int"},
		{"nil-pointer", none, "null"},
		{"panics-itself", saysNothing{}, "a value that cannot say what it is"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			if got := saying(c.value); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

type saysNothing struct{}

func (saysNothing) String() string { panic("again") }

func TestNumber(t *testing.T) {
	n := Number("9007199254740993")
	i, err := n.Int64()
	f, ferr := n.Float64()
	if i != 9007199254740993 || f != 9007199254740992 || n.String() != "9007199254740993" || err != nil || ferr != nil {
		t.Errorf("%d %f %s %v %v", i, f, n, err, ferr)
	}
	if _, err := Number("1.5").Int64(); err == nil {
		t.Error("1.5 is an integer")
	}
	var back struct{ N Number }
	raw, err := json.Marshal(struct{ N Number }{"1.50"})
	if err != nil || string(raw) != `{"N":1.50}` || json.Unmarshal(raw, &back) != nil || back.N != "1.50" {
		t.Errorf("encoding/json makes %s of it, and back %v, %v", raw, back, err)
	}
}

// FuzzRowText: a column's text is what encoding/json would find, if no name is there twice.
func FuzzRowText(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text), "a")
	}
	f.Fuzz(func(t *testing.T, text []byte, column string) {
		(Row{text}).Text(column) // whatever the bytes are
		var row Row
		if Unmarshal(text, &row) != nil || twiceNamed(text) {
			return
		}
		var columns map[string]json.RawMessage
		want := ""
		if json.Unmarshal(text, &columns) == nil {
			raw := columns[column]
			if len(raw) > 0 && string(raw) != "null" && json.Unmarshal(raw, &want) != nil {
				var b bytes.Buffer
				_ = json.Compact(&b, raw)
				want = b.String()
			}
		}
		if got := row.Text(column); got != want {
			t.Errorf("%q of %s is %q, want %q", column, text, got, want)
		}
	})
}

// twiceNamed says whether the outermost object has fewer names than members.
func twiceNamed(text []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil {
		return false
	}
	d := reader{b: text}
	d.peek()
	members := 0
	for more, err := d.open('}'); more && err == nil; members++ {
		_, _ = d.name()
		_ = d.skip()
		more, err = d.more('}')
	}
	return members != len(m)
}
