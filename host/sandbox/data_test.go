package sandbox

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// dataOf makes a data section.
func dataOf(segments ...segment) []byte {
	var out []byte
	for _, s := range segments {
		out = append(append(append(out, 0), i32(int64(s.at))...), opEnd)
		out = append(out, sized(s.bytes)...)
	}
	return append(leb(uint64(len(segments))), out...)
}

// image applies a data section to a memory of zeros; ok is false where a segment lies outside.
func loadedImage(body []byte, size int) (memory []byte, segments int, ok bool) {
	w := &rewriting{sections: &sections{dataCount: -1}}
	r := &reader{data: body}
	memory = make([]byte, size)
	for range r.u32() {
		s := w.readSegment(r)
		if s.end() > uint64(size) {
			return memory, segments, false
		}
		copy(memory[s.at:], s.bytes)
		segments++
	}
	return memory, segments, true
}

func joined(body []byte) []byte {
	return (&rewriting{sections: &sections{dataCount: -1}}).dataSection(body)
}

func at(n uint64, b string) segment { return segment{at: n, bytes: []byte(b)} }

// TestJoinedData: neighbours are joined, and nothing else.
func TestJoinedData(t *testing.T) {
	for _, c := range []struct {
		rule string
		data []segment
		left int
	}{
		{"neighbours", []segment{at(0, "ab"), at(2, "cd"), at(10, "e")}, 1},
		{"a-gap-too-far", []segment{at(0, "ab"), at(2+maxGap+1, "cd")}, 2},
		{"a-gap-just-near-enough", []segment{at(0, "ab"), at(2+maxGap, "cd")}, 1},
		{"an-overlap", []segment{at(0, "abcd"), at(2, "xy")}, 2},
		{"backwards", []segment{at(100, "ab"), at(0, "cd"), at(8, "ef")}, 2},
		{"a-gap-that-was-written-before", []segment{at(4, "xx"), at(0, "ab"), at(8, "cd")}, 3},
		{"an-empty-one", []segment{at(0, "ab"), at(2, ""), at(3, "cd")}, 3},
		{"an-empty-one-outside", []segment{at(0, "ab"), at(200, "")}, 2},
		{"above-the-half", []segment{at(1<<31, "ab"), at(1<<31+4, "cd")}, 1},
		{"none", nil, 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			body := dataOf(c.data...)
			after := joined(body)
			if n := (&reader{data: after}).u32(); int(n) != c.left {
				t.Errorf("%d segments are left, want %d", n, c.left)
			}
			a, _, okA := loadedImage(body, 300)
			b, _, okB := loadedImage(after, 300)
			if okA != okB || okA && !bytes.Equal(a, b) {
				t.Error("the memories differ")
			}
		})
	}
}

// TestJoinedDataIsTheSame: random segments give the same memory, or lie outside, joined as apart.
func TestJoinedDataIsTheSame(t *testing.T) {
	notUnderRace(t)
	r := rand.New(rand.NewPCG(7, 7))
	joints := 0
	for range 5_000 {
		var data []segment
		next := uint64(r.IntN(50))
		for range r.IntN(60) {
			if r.IntN(12) == 0 {
				next = uint64(r.IntN(1000))
			}
			b := slices.Repeat([]byte{byte(r.Uint32())}, r.IntN(12))
			data = append(data, segment{at: next, bytes: b})
			next += uint64(len(b) + r.IntN(maxGap+8))
		}
		body := dataOf(data...)
		a, n, okA := loadedImage(body, 1500)
		b, m, okB := loadedImage(joined(body), 1500)
		if okA != okB || okA && !bytes.Equal(a, b) {
			t.Fatalf("%v", data)
		}
		joints += n - m
	}
	if joints < 10_000 {
		t.Errorf("only %d were joined", joints)
	}
}
