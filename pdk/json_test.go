package pdk

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// theirs is encoding/json as this package's documentation means it.
func theirs(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func theirsInto(text []byte, v any) error {
	if !json.Valid(text) { // a Decoder would let what follows go
		return json.Unmarshal(text, v)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// texts are JSON, and not, for all types.
var texts = []string{
	``, ` `, `null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `127`, `128`, `-128`, `-129`, `255`, `256`, `65536`, `4294967296`, `9223372036854775807`,
	`9223372036854775808`, `-9223372036854775808`, `18446744073709551615`, `18446744073709551616`, `1.0`, `1.50`, `1e2`, `1E+2`, `1e-7`, `1e400`, `3.5e38`, `1e-400`, `123456789.123456789e-3`,
	`01`, `1.`, `.5`, `1e`, `+1`, `-`, `1e+`, `0x10`, `1_0`, `NaN`, `Infinity`,
	`""`, `"a"`, `"12"`, `"1.5"`, `"-"`, `"null"`, `"true"`, `" 1"`, `"1 "`, `"\"x\""`, `"a\u00e9\n\t\"\\\/\b\f\r"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`,
	`"\u12"`, `"\x"`, `"a`, `"\`, `"\u`, "\"\x01\"", "\"\n\"", "\"\x7f\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\"é\u2028\"", `"😀"`,
	`[]`, `[ ]`, `[1]`, `[1,2,3,4]`, `[1,]`, `[,1]`, `[1 2]`, `[`, `]`, `[1`, `[null]`, `[[]]`, `[true,false]`, `["a","b"]`, `[1.5,"x",null,{"a":[{}]}]`, `[{"a":"x"},{"b":1},null]`, `[256]`, `[65,66]`,
	`{}`, `{ }`, `{"a":1}`, `{"a":"x","b":null}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`, `{`, `}`, `{"a":1`, `{"a`, `{1:2}`, `{"":0}`, `{"\u0061":"x"}`, `{"a":"1","a":"2"}`,
	`{} {}`, `1 2`, `null null`, `{}x`, ` { "a" : [ 1 , 2 ] , "b" : { } } `, "\ufeff{}", `/**/{}`, `'a'`, `nul`, `truefalse`, `nullx`, `[nul]`,
	`"AP8="`, `"AP8"`, `"A P8="`, `"AP\n8="`, `"?"`, `"2026-11-30T10:00:00Z"`, `"192.0.2.1"`, `"Yes!"`,
	`{"Bool":true,"Int":-5,"Int8":-128,"Int16":3,"Int32":4,"Int64":5,"Uint":6,"Uint8":255,"Uint16":8,"Uint32":9,"Uint64":10,"Uintptr":11,"F32":1.5,"F64":2.5e10,"Text":"t","Digits":1.50}`,
	`{"Int8":128}`, `{"Uint8":-1}`, `{"F32":1e39}`, `{"F32":16777217}`, `{"Digits":"7"}`, `{"Digits":"x"}`, `{"Digits":""}`, `{"Digits":null}`, `{"Digits":true}`, `{"Text":7}`, `{"Bool":null,"Int":null,"Text":null}`, `{"Unknown":{"a":[1,2,{"b":"c"}]},"Int":7}`, `{"Unknown":[1,2,}`, `{"Unknown":"\x"}`,
	`{"text":"a","int":3,"bool":true,"float":0.1,"bytes":"AQI=","list":["x"],"map":{"k":[1]},"any":{"z":1.0}}`,
	`{"Pointer":1,"Twice":"x","Slice":[1,2],"Slices":[["a"],[],null],"Array":[1,2,3,4],"Arrays":[[true]],"None":[1],"Bytes":"aGk=","ArrayOf4":[1,2],"Structs":[{"a":"x","b":2}],"Pointers":[null,{"a":"y"}],"Any":{"n":1.50},"Anys":[1,"a",null],"Struct":{"P":1,"Q":2}}`,
	`{"Pointer":null,"Twice":null,"Slice":null,"Array":null,"Bytes":null,"Any":null,"Struct":null}`, `{"Bytes":[1,2,255]}`, `{"Bytes":[256]}`, `{"Bytes":[]}`, `{"Array":[1]}`, `{"Array":[1,2,3],"Array":[4]}`, `{"ByName":{"x":{"a":"1"},"y":{}}}`, `{"ByUint":{"1":{"a":"1"},"2":{"b":2},"3":null}}`, `{"Array":{}}`, `{"Slice":[1,2],"Slice":[3]}`, `{"Structs":[{"a":"x"}],"Structs":[{"b":1}]}`,
	`{"Anys":{"a":{"b":[1]}},"Texts":{"a":"b","c":null},"Ints":{"z":1,"a":2},"ByInt":{"-1":"x","2":"y"},"ByInt8":{"127":true},"ByUint":{"1":{"a":"b"}},"ByName":{"n":{}},"ByText":{"192.0.2.1":1},"ByUpper":{"A":1},"Maps":{"a":{"b":[1,2]}},"Rows":{"r":[ 1 ]}}`,
	`{"ByInt8":{"128":true}}`, `{"ByInt":{"x":""}}`, `{"ByUint":{"-1":null}}`, `{"ByText":{"x":1}}`, `{"Texts":{"a":1}}`, `{"Ints":{"a":1.5}}`, `{"Texts":null,"Anys":null,"ByInt":null}`, `{"Texts":[]}`,
	`{"a":1,"b":"x","c":2,"d":[1],"e":{"x":1},"f":0,"g":{"a":"x"},"h":[],"i":true,"j":1.5,"k":3,"l":"2026-11-30T10:00:00Z","m":{"a":"x"},"n":"2026-11-30T10:00:00Z","o":{"Num":7},"p":{"Num":7},"q":{},"r":"AA==","s":[0,1],"Dash":1,"-":2,"a/b.c d":3,"Bad":4}`,
	`{"int":"1","small":"-128","uint":"3","float":"1.5","bool":"true","text":"\"x\"","point":"7","digits":"1.50","list":[1]}`,
	`{"int":1}`, `{"int":"x"}`, `{"int":""}`, `{"int":"null"}`, `{"int":null,"point":null}`, `{"int":" 1"}`, `{"int":"1 "}`, `{"point":"null"}`, `{"small":"128"}`, `{"text":"x"}`, `{"text":"\"x"}`, `{"bool":"tru"}`, `{"bool":"1"}`, `{"text":"nullx"}`, `{"digits":"x"}`, `{"int":["1"]}`, `{"int":{}}`, `{"int":true}`, `{"text":"\"\\u0041\""}`,
	`{"id":"1","kind":"k","low":2,"name":"n","far":3,"loop":{"name":"m","far":4},"tagged":"t","Declared":5,"hidden":6,"myText":"x","Kind":7}`,
	`{"X":1,"Y":2,"Z":3}`, `{"C":1}`, `{"A":1}`, `{"A":1,"B":2}`, `{"B":null}`,
	`{"Time":"2026-11-30T10:00:00.5Z","Addr":"::1","Raw":[ 1, 2 ],"Big":123456789012345678901234567890,"Upper":"ABC","Uppers":["A","b"],"Shout":{"x":[ 1 ]},"Shouts":[1,null],"Point":null,"Level":"info","Holder":{"a":true},"Array":[ "q" ]}`,
	`{"Time":null,"Addr":null,"Raw":null,"Big":null,"Upper":null,"Shout":null,"Array":[null]}`, `{"Upper":7}`, `{"Upper":"a!"}`, `{"Time":"x"}`, `{"Raw":[1,}`, `{"Upper":{}}`, `{"Upper":["a"]}`,
	`{"name":"a","kids":[{"name":"b","kids":[]},{"kids":null}],"more":{"x":{"name":"c"}},"next":{"name":"d","next":{"name":"e"}}}`,
	`{"a":1.0,"b":"2","c":[3,"4.50"],"d":{"5":6},"e":{"x":7},"f":"8"}`, `{"a":"01"}`, `{"f":1.50}`, `{"f":"x"}`, `{"f":true}`, `{"f":null,"a":null}`,
	`{"rows":[{"id":1, "x":"y"},null],"more":true}`, `{"row":{"a": 1.00 }}`, `{"row":null}`, `{"rows":null}`, `{"text":"x","base64":"AA==","status":200,"headers":{"a":"b"}}`,
	`{"files":[{"name":"a.txt","bytes":12}],"folders":["old"],"more":false}`,
	`{"from":"x","words":"y","in":["a"],"where":[{"column":"c","is":1.0}],"order":[{"column":"c","descending":true}],"limit":3}`,
}

func TestDecodesAsEncodingJSON(t *testing.T) {
	held := 0
	for _, text := range texts {
		held += decodeAlike(t, []byte(text))
	}
	if held < 2500 {
		t.Errorf("%d values were held against each other: the texts fit no types", held)
	}
}

// decodeAlike fills all types by both; what is accepted, and what is in the value then, must be the same.
// It says how many values were held against each other.
func decodeAlike(t *testing.T, text []byte) (held int) {
	t.Helper()
	ours, want := fresh(), fresh()
	for i := range ours {
		if folds(text, ours[i]) {
			continue // a name that differs in case only is ours of no field
		}
		err, wantErr := Unmarshal(bytes.Clone(text), ours[i]), theirsInto(text, want[i])
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%T from %q: %v, encoding/json says %v", ours[i], text, err, wantErr)
			continue
		}
		if err != nil {
			continue
		}
		if !same(ours[i], want[i]) {
			t.Errorf("%T from %q: %s, want %s", ours[i], text, show(ours[i]), show(want[i]))
		}
		kept := fresh()[i]
		if err := unmarshal(text, kept); err != nil || !same(kept, ours[i]) {
			t.Errorf("%T from %q without copies: %s, %v", ours[i], text, show(kept), err)
		}
		held++
	}
	return held
}

// same says whether two values are the same but for the type of numbers without one, and the white
// space within a Row, which it leaves out and a RawMessage keeps.
func same(a, b any) bool { return show(a) == show(b) }

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "%" + strings.ReplaceAll(strings.TrimSpace(reflect.ValueOf(v).Elem().String()), " ", "")
	}
	return string(b)
}

// folds says whether a member's name is that of a field of v in another case.
func folds(text []byte, v any) bool {
	names := map[string]bool{}
	collect(reflect.TypeOf(v), names, map[reflect.Type]bool{})
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		name, ok := token.(string)
		if !ok {
			continue
		}
		for known := range names {
			if name != known && strings.EqualFold(name, known) {
				return true
			}
		}
	}
}

func collect(t reflect.Type, names map[string]bool, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collect(t.Elem(), names, seen)
	case reflect.Struct:
		for _, f := range fieldsLocked(t) {
			names[f.name] = true
			collect(f.plan.typ, names, seen)
		}
	default:
	}
}

func fieldsLocked(t reflect.Type) []field {
	plansLock.Lock()
	defer plansLock.Unlock()
	return fieldsOf(t)
}

// FuzzDecode: every text is accepted for a type, and gives a value, exactly as by encoding/json.
func FuzzDecode(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if depth(text) <= mostDepth {
			decodeAlike(t, text)
		}
	})
}

// depth is at least that of the arrays and objects in a text.
func depth(text []byte) int { return bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{")) }

// FuzzEncode: what encoding/json makes of a text, of each type, is written exactly as by encoding/json.
func FuzzEncode(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, v := range fresh() {
			if theirsInto(text, v) == nil && depth(text) <= mostDepth {
				encodeAlike(t, v)
				encodeAlike(t, reflect.ValueOf(v).Elem().Interface())
			}
		}
		encodeAlike(t, string(text))
		encodeAlike(t, map[string]any{string(text): text, "x": []string{string(text)}})
	})
}

func encodeAlike(t *testing.T, v any) {
	t.Helper()
	got, err := Marshal(v)
	want, wantErr := theirs(v)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%T %+v: %s %v, encoding/json says %s %v", v, v, got, err, want, wantErr)
		return
	}
	if err == nil && string(got) != want {
		t.Errorf("%T %+v: %s, want %s", v, v, got, want)
	}
}

func TestEncodesAsEncodingJSON(t *testing.T) {
	for _, text := range texts {
		for _, v := range fresh() {
			if theirsInto([]byte(text), v) == nil {
				encodeAlike(t, v)
				encodeAlike(t, reflect.ValueOf(v).Elem().Interface())
			}
		}
	}
	for _, v := range values() {
		encodeAlike(t, v)
	}
}

func values() []any {
	n, s, now := 7, "x", time.Date(2026, 11, 30, 1, 2, 3, 4, time.UTC)
	self := map[string]any{}
	self["self"] = self
	loop := &tree{}
	loop.Next = loop
	var none *small
	var noText *upper
	return []any{
		nil, true, 1, int8(-1), uint8(200), uint64(math.MaxUint64), int64(math.MinInt64), uintptr(3), 1.5, float32(0.1), math.Pi, 1e21, 1e20, 1e-6, 1e-7, 1e-10, 123456789e300,
		math.Copysign(0, -1), math.NaN(), math.Inf(1), float32(math.Inf(-1)), float32(1e21), float32(1e-7), math.MaxFloat64, math.SmallestNonzeroFloat64,
		"", "a\"b\\c\b\f\n\r\t\x00\x1f\x7f<>&/", "é漢😀\u2028\u2029\ufffd", "\xff\xfe\xed\xa0\x80é\xc3",
		&n, &s, none, noText, []int(nil),
		[]int{},
		[]int{1},
		[]string{"a"},
		[2]int{1, 2},
		[0]int{},
		[]byte(nil),
		[]byte{},
		[]byte{0, 255},
		[3]byte{1, 2, 3},
		myBytes{1, 2},
		[]any{nil, 1, "x", []any{}},
		map[string]any(nil),
		map[string]any{},
		map[string]any{"b": 1, "a": []int{2}, "": nil, "é": "x", "c": map[string]string{"z": "y", "a": "\xff"}},
		map[string]string(nil),
		map[string]string{"b": "1", "a": "2"},
		map[int]string{10: "a", -2: "b", 3: "c"},
		map[uint8]bool{1: true},
		map[upper]int{"x": 1, "a": 2},
		map[*upper]int{nil: 1},
		map[float64]int{1: 2},
		map[bool]int{},
		map[struct{}]int{},
		map[struct{}]int(nil),
		map[any]int{"a": 1},
		map[netip.Addr]int{netip.IPv6Loopback(): 1},
		scalars{Int: -1, Digits: "1.50"},
		&scalars{Digits: "x"},
		named{Any: 1},
		holders{Pointer: &n},
		options{},
		&options{A: 1, C: &n, D: []int{}, F: 0, P: picky{7}, O: &picky{7}, N: &now, L: now, T: &picky{7}},
		options{P: picky{7}, T: &now},
		options{O: &picky{8}, P: picky{8}, T: (*picky)(nil)},
		quotes{Int: 1, Float: 1.5, Text: "a\"\n", Point: &n, Bool: true, Digits: "2", Empty: &s},
		quotes{},
		quotes{Digits: "x"},
		embeds{},
		embeds{Base: Base{ID: "1", Kind: "k"}, base: base{2, 3}, Deep: &Deep{Name: "n", Deeper: &Deeper{Name: "h", Far: 4}}, myText: "m", Text: "t", Declared: 1, hidden: 2},
		&clash{X: 1, First: First{2, 3}, Second: Second{4, 5}},
		twice{},
		hiddenPointer{},
		hiddenPointer{inner: &inner{3}},
		methodical{Time: now, Upper: "x", Shouts: []*shout{nil, {}}, Raw: json.RawMessage(` {"a" : [1, "b c"]} `), Big: big.NewInt(5), Holder: map[string]shout{"a": {"s"}}},
		&methodical{Raw: json.RawMessage(`{"\\\"a" : "x\" y"}`), Holder: map[string]shout{"a": {"s"}}},
		methodical{Raw: json.RawMessage(`{`)},
		methodical{Raw: json.RawMessage(`1 2`)},
		shout{"a"},
		&shout{"a"},
		[]shout{{"a"}},
		[1]shout{{"a"}},
		&[1]shout{{"a"}},
		map[string]shout{"a": {}},
		map[string]*shout{"a": {}},
		[]any{shout{}, &shout{}},
		struct{ S shout }{},
		&struct{ S shout }{},
		byValue{3},
		&byValue{3}, (*byValue)(nil), upper("a"), noText,
		[]*upper{nil},
		json.Number("1.50"), json.Number(""), json.Number("x"), Number("1.50"), Number(""), Number("-"), json.RawMessage(nil), json.RawMessage(""), json.RawMessage(`"<"`),
		now,
		time.Time{},
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		netip.Addr{},
		big.NewInt(1), *big.NewInt(1), netip.MustParsePrefix("10.0.0.0/8"),
		Row{},
		&Row{},
		[]Row{{raw: []byte(`{"a":1.00}`)}, {}},
		Rows{},
		Condition{Column: "a", Is: Row{}},
		searchRequest{"x", Search{Words: "w", Limit: 1}},
		listRequest{},
		tree{Name: "a", Kids: []tree{{}}, More: map[string]tree{"b": {}, "a": {}}},
		self, loop,
		func() {}, make(chan int), complex(1, 2),
		struct{ F func() }{},
		struct {
			F func() `json:"-"`
		}{},
		struct{ C chan int }{},
		[]func(){nil},
		[]func(){},
		map[string]chan int{},
		struct{ E error }{},
		struct{ W textWriter }{upper("a")},
		struct{ W textWriter }{&n2{}},
		struct{ W jsonWriter }{},
		struct{ W jsonWriter }{byValue{1}},
		struct{ W jsonWriter }{&shout{}},
		struct{ A any }{&n},
		struct{ A *any }{},
		"" + strings.Repeat("a\u00e9\"", 100),
		struct{}{},
		&struct{}{},
		struct{ A, B struct{} }{},
		[][]any{{1, "a"}, nil},
	}
}

// n2 writes itself as text and as JSON.
type n2 struct{}

func (*n2) MarshalText() ([]byte, error) { return []byte("text"), nil }

func (*n2) MarshalJSON() ([]byte, error) { return []byte(`"json"`), nil }
