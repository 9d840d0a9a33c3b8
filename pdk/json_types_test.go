package pdk

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"time"
)

// The types that the codec is held against encoding/json with.

type scalars struct {
	Bool    bool
	Int     int
	Int8    int8
	Int16   int16
	Int32   int32
	Int64   int64
	Uint    uint
	Uint8   uint8
	Uint16  uint16
	Uint32  uint32
	Uint64  uint64
	Uintptr uintptr
	F32     float32
	F64     float64
	Text    string
	Digits  json.Number
}

type named struct {
	Text  myText  `json:"text"`
	Int   myInt   `json:"int"`
	Bool  myBool  `json:"bool"`
	Float myFloat `json:"float"`
	Bytes myBytes `json:"bytes"`
	List  myList  `json:"list"`
	Map   myMap   `json:"map"`
	Any   myAny   `json:"any"`
}

type (
	myText  string
	myInt   int16
	myBool  bool
	myFloat float32
	myByte  byte
	myBytes []myByte
	myList  []string
	myMap   map[string]any
	myAny   any
)

type holders struct {
	Pointer  *int
	Twice    **string
	Slice    []int
	Slices   [][]string
	Array    [3]int
	Arrays   [2][2]bool
	None     [0]int
	Bytes    []byte
	ArrayOf4 [4]byte
	Structs  []small
	Pointers []*small
	Any      any
	Anys     []any
	Struct   struct{ P, Q int }
}

type small struct {
	A string `json:"a"`
	B *int   `json:"b"`
}

type maps struct {
	Anys    map[string]any
	Texts   map[string]string
	Ints    map[string]int
	ByInt   map[int]string
	ByInt8  map[int8]bool
	ByUint  map[uint16]*small
	ByName  map[myText]small
	ByText  map[netip.Addr]int
	ByUpper map[upper]int
	Maps    map[string]map[string][]int
	Rows    map[string]json.RawMessage
}

type options struct {
	A    int               `json:"a,omitempty"`
	B    string            `json:"b,omitempty"`
	C    *int              `json:"c,omitempty"`
	D    []int             `json:"d,omitempty"`
	E    map[string]int    `json:"e,omitempty"`
	F    any               `json:"f,omitempty"`
	G    small             `json:"g,omitempty"`
	H    [0]int            `json:"h,omitempty"`
	I    bool              `json:"i,omitempty"`
	J    float64           `json:"j,omitempty"`
	K    int               `json:"k,omitzero"`
	L    time.Time         `json:"l,omitzero"`
	M    small             `json:"m,omitzero"`
	N    *time.Time        `json:"n,omitzero"`
	O    *picky            `json:"o,omitzero"`
	P    picky             `json:"p,omitzero"`
	Q    map[string]string `json:"q,omitzero"`
	R    []byte            `json:"r,omitempty"`
	S    [2]int            `json:"s,omitzero"`
	Dash int               `json:"-"`
	Real int               `json:"-,"` //nolint:staticcheck // what encoding/json makes of such tags is held too
	Odd  int               `json:"a/b.c d"`
	Bad  int               `json:"a\"b"` //nolint:staticcheck // as above
	T    zeroer            `json:"t,omitzero"`
}

type picky struct{ Num int }

func (p *picky) IsZero() bool { return p.Num == 7 }

type quotes struct {
	Int    int         `json:"int,string"`
	Small  int8        `json:"small,string"`
	Uint   uint        `json:"uint,string"`
	Float  float64     `json:"float,string"`
	Bool   bool        `json:"bool,string"`
	Text   string      `json:"text,string"`
	Point  *int        `json:"point,string"`
	Digits json.Number `json:"digits,string"`
	List   []int       `json:"list,string"` //nolint:staticcheck // it means nothing there
	Empty  *string     `json:"empty,omitempty,string"`
}

type Base struct {
	ID   string `json:"id"`
	Kind string
}

type base struct {
	Low  int `json:"low"`
	Kind int // stands against Base.Kind: neither counts
}

type Deep struct {
	*Deeper
	Name string `json:"name"`
}

type Deeper struct {
	Name string `json:"name"` // is hidden
	Far  int    `json:"far"`
	Loop *Deep  `json:"loop,omitempty"`
}

type embeds struct {
	Base
	base
	*Deep
	myText
	Text     `json:"tagged"`
	Declared int
	hidden   int
}

type Text string

type clash struct {
	First
	Second
	X int
}

type First struct{ Y, Z int }

type Second struct {
	Y int
	Z int `json:"Z"` // wins by its tag
}

type twice struct {
	Left
	Right
}

type (
	Left  struct{ Common }
	Right struct{ Common }
)

type Common struct{ C int }

type hiddenPointer struct {
	*inner
	A int
}

type inner struct{ B int }

type methodical struct {
	Time    time.Time
	Addr    netip.Addr
	Raw     json.RawMessage
	Big     *big.Int
	Upper   upper
	Uppers  []upper
	Shout   shout
	Shouts  []*shout
	ByValue byValue
	Point   *byValue
	Level   Level
	Holder  map[string]shout
	Array   [1]shout
}

// upper writes and reads itself as text.
type upper string

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(u))), nil }

func (u *upper) UnmarshalText(b []byte) error {
	if strings.Contains(string(b), "!") {
		return errors.New("an exclamation mark")
	}
	*u = upper(strings.ToLower(string(b)))
	return nil
}

// shout writes itself where it can be addressed alone.
type shout struct{ S string }

func (s *shout) MarshalJSON() ([]byte, error) { return []byte(` [ "` + "x" + `" , 1.0 ] `), nil }

func (s *shout) UnmarshalJSON(b []byte) error {
	s.S = string(b)
	return nil
}

type byValue struct{ n int }

func (v byValue) MarshalJSON() ([]byte, error) { return json.Marshal(v.n) }

type tree struct {
	Name string          `json:"name"`
	Kids []tree          `json:"kids"`
	More map[string]tree `json:"more,omitempty"`
	Next *tree           `json:"next,omitempty"`
}

type numbers struct {
	A json.Number            `json:"a"`
	B *json.Number           `json:"b"`
	C []json.Number          `json:"c"`
	D map[json.Number]int    `json:"d"`
	E map[string]json.Number `json:"e"`
	F Number                 `json:"f"`
}

// fresh are pointers to new values of all these types.
func fresh() []any {
	return []any{
		new(any), new(scalars), new(named), new(holders), new(maps), new(options), new(quotes), new(embeds),
		new(clash), new(twice), new(hiddenPointer), new(methodical), new(tree), new(numbers), new(small),
		new(int), new(int8), new(uint32), new(float64), new(float32), new(string), new(bool), new(*int), new([]int), new([2]int), new([]byte),
		new(map[string]any), new(map[string]string), new(map[int]int), new([]any), new(json.Number), new(Number), new(json.RawMessage),
		new(time.Time), new(upper), new(*upper), new(shout), new(Row), new([]Row), new(Rows), new(getAnswer), new(Folder), new(carried), new(fetchAnswer),
		new(searchRequest), new(error), new(struct{}), new(func()), new(chan int), new(complex128),
	}
}
