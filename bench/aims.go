package main

import "fmt"

// aim is a number of one run that is to be met.
type aim struct {
	what    string
	measure func(all []figures) (value float64, known bool)
	wanted  string
	met     func(value float64) bool
}

func aims() []aim {
	engine, reused, slow, wasmtime := "engine", baseline, "stock/new+deadline", "wasmtime/reused"
	return []aim{
		{"go engine p50 : " + reused + " p50", ratio(p50, engine, reused), "<= 1.25", atMost(1.25)},
		{"go " + slow + " p50 : engine p50", ratio(p50, slow, engine), ">= 30", atLeast(30)},
		{"go engine calls/s : " + slow + " calls/s", ratio(calls, engine, slow), ">= 10", atLeast(10)},
		{"small engine p50 in us", microseconds(guestSmall, engine), "<= 5", atMost(5)},
		{"go engine p50 : " + wasmtime + " p50", ratio(p50, engine, wasmtime), "< 1", func(v float64) bool { return v < 1 }},
	}
}

func p50(f figures) float64   { return float64(f.P50) }
func calls(f figures) float64 { return f.Calls }

// ratio compares two ways of the guest go.
func ratio(of func(figures) float64, way, to string) func([]figures) (float64, bool) {
	return func(all []figures) (float64, bool) {
		a, hasA := find(all, guestGo, way)
		b, hasB := find(all, guestGo, to)
		return of(a) / of(b), hasA && hasB
	}
}

func microseconds(guest, way string) func([]figures) (float64, bool) {
	return func(all []figures) (float64, bool) {
		f, ok := find(all, guest, way)
		return float64(f.P50) / 1e3, ok
	}
}

func atMost(n float64) func(float64) bool  { return func(v float64) bool { return v <= n } }
func atLeast(n float64) func(float64) bool { return func(v float64) bool { return v >= n } }

// line is a row of the text output.
func (a aim) line(all []figures) string {
	value, known := a.measure(all)
	if !known {
		return fmt.Sprintf("%s\tnot measured\t%s", a.what, a.wanted)
	}
	verdict := "missed"
	if a.met(value) {
		verdict = "met"
	}
	return fmt.Sprintf("%s\t%.2f\t%s\t%s", a.what, value, a.wanted, verdict)
}
