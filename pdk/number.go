package pdk

import (
	"reflect"
	"strconv"
)

// Number is a JSON number as it was written. It is what a number becomes that lands in an any.
// A json.Number is read and written in the same way.
type Number string

// String gives the digits as they were written.
func (n Number) String() string { return string(n) }

// Float64 gives the nearest float64.
func (n Number) Float64() (float64, error) { return strconv.ParseFloat(string(n), 64) }

// Int64 gives the number if it is written as an integer that fits.
func (n Number) Int64() (int64, error) { return strconv.ParseInt(string(n), 10, 64) }

// MarshalJSON writes the number as encoding/json would write a json.Number.
func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, string(n)) }

// UnmarshalJSON reads a number, or a number within a string, as encoding/json does for a json.Number.
func (n *Number) UnmarshalJSON(b []byte) error { return Unmarshal(b, n) }

// isNumber says whether a type is this package's Number or that of encoding/json, which is known by
// its name alone: to import it would bring it into every plugin.
func isNumber(t reflect.Type) bool {
	return t == reflect.TypeFor[Number]() ||
		t.Kind() == reflect.String && t.Name() == "Number" && t.PkgPath() == "encoding/json"
}

func appendNumber(b []byte, n string) ([]byte, error) {
	if n == "" {
		n = "0" // as encoding/json has it
	}
	if !numeric(n) {
		return b, failed("no number: " + strconv.Quote(n))
	}
	return append(b, n...), nil
}

func numeric(s string) bool {
	d := reader{b: []byte(s)}
	_, err := d.number()
	return err == nil && d.i == len(d.b)
}
