package sandbox

import (
	"fmt"
	"strconv"
	"strings"
)

// specValue is an argument or an expected result, as wast2json writes it.
type specValue struct {
	Type     string
	LaneType string `json:"lane_type"` // of a vector
	Value    any    // a decimal number of the value's bits; of a vector, a list of them; nil: anything
}

// kind is the type of each lane; other values are of one lane.
func (v specValue) kind() string {
	if v.Type == "v128" {
		return v.LaneType
	}
	return v.Type
}

func (v specValue) texts() []string {
	switch value := v.Value.(type) {
	case string:
		return []string{value}
	case []any:
		texts := make([]string, len(value))
		for i := range value {
			texts[i] = value[i].(string)
		}
		return texts
	default:
		return nil
	}
}

// size is how many words wazero gives the value.
func (v specValue) size() int {
	if v.Type == "v128" {
		return 2
	}
	return 1
}

// words are the value as an argument.
func (v specValue) words() []uint64 {
	words := make([]uint64, v.size())
	width := laneWidth(v.kind())
	for i, text := range v.texts() {
		at := i * width
		words[at/64] |= laneBits(v.kind(), text) << (at % 64)
	}
	return words
}

func laneWidth(kind string) int {
	switch kind {
	case "i8":
		return 8
	case "i16":
		return 16
	case "i32", "f32":
		return 32
	default:
		return 64
	}
}

// laneBits reads a number. To wazero, the null of both reference types is 0, so the host's reference 0
// must be another number.
func laneBits(kind, text string) uint64 {
	if text == "null" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, laneWidth(kind))
	if err != nil {
		panic(fmt.Sprintf("a value of the tests: %v", err))
	}
	if kind == "externref" {
		n++
	}
	return n
}

// specLanes takes words apart.
func specLanes(words []uint64, width int) []uint64 {
	var out []uint64
	for _, w := range words {
		for at := 0; at < 64; at += width {
			out = append(out, w>>at&(^uint64(0)>>(64-width)))
		}
	}
	return out
}

// compareResults says what is wrong with the results of both sides, "" if nothing is.
func compareResults(want []specValue, plain, rewritten []uint64) string {
	size := 0
	for _, v := range want {
		size += v.size()
	}
	if len(plain) != size || len(rewritten) != size {
		return fmt.Sprintf("%d and %d words of results, want %d", len(plain), len(rewritten), size)
	}
	for i, v := range want {
		n := v.size()
		if why := v.compare(plain[:n], rewritten[:n]); why != "" {
			return fmt.Sprintf("result %d: %s", i, why)
		}
		plain, rewritten = plain[n:], rewritten[n:]
	}
	return ""
}

func (v specValue) compare(plain, rewritten []uint64) string {
	kind := v.kind()
	if kind == "" { // a vector without expectation
		kind = "i64"
	}
	a, b := specLanes(plain, laneWidth(kind)), specLanes(rewritten, laneWidth(kind))
	if v.Type != "v128" { // a narrow value is the low part of a word
		a, b = a[:1], b[:1]
	}
	for i := range a {
		if !alike(kind, a[i], b[i]) {
			return fmt.Sprintf("lane %d as %s is %#x, rewritten %#x", i, kind, a[i], b[i])
		}
	}
	for i, text := range v.texts() {
		if !matches(kind, text, a[i]) || !matches(kind, text, b[i]) {
			return fmt.Sprintf("lane %d as %s is %#x, rewritten %#x, want %s", i, kind, a[i], b[i], text)
		}
	}
	return ""
}

func matches(kind, text string, bits uint64) bool {
	if class, ok := strings.CutPrefix(text, "nan:"); ok {
		have := nanClass(kind, bits)
		return have == "canonical" || class == "arithmetic" && have == "arithmetic"
	}
	return laneBits(kind, text) == bits
}

// alike holds for results of the two sides. Which NaN an instruction gives is open within a class, and
// a function reference is an address.
func alike(kind string, a, b uint64) bool {
	switch {
	case kind == "funcref":
		return (a == 0) == (b == 0)
	case nanClass(kind, a) != "":
		return nanClass(kind, a) == nanClass(kind, b)
	default:
		return a == b
	}
}

// nanClass is "" for what is no NaN (core specification, section 2.2.3 and 4.3.3).
func nanClass(kind string, bits uint64) string {
	var fraction int // its bits
	switch kind {
	case "f32":
		fraction = 23
	case "f64":
		fraction = 52
	default:
		return ""
	}
	payload := bits & (1<<fraction - 1)
	exponent := bits >> fraction << 1 & (1<<(laneWidth(kind)-fraction) - 1) // the sign falls off
	switch quiet := uint64(1) << (fraction - 1); {
	case exponent != 1<<(laneWidth(kind)-fraction)-2 || payload == 0:
		return ""
	case payload == quiet:
		return "canonical"
	case payload&quiet != 0:
		return "arithmetic"
	default:
		return "signalling"
	}
}
