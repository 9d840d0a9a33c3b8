package capabilities

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/strictjson"
)

// ColumnType says how a column's values leave as JSON. No type is a float:
// what was a decimal in the database is the same decimal in the result.
type ColumnType struct {
	Name   string // "text", "integer", "decimal", "minor", "json", "date", "boolean"; "" takes the declared type's
	Places int    // minor: decimal places
}

// String is the type as the config writes it.
func (t ColumnType) String() string {
	if t.Name == "minor" {
		return fmt.Sprintf("minor(%d)", t.Places)
	}
	return t.Name
}

// affinity is SQLite's own rule (datatype3, section 3.1): it decides how a
// value is stored, and so whether a decimal could have become a float.
func affinity(declared string) string {
	has := func(part string) bool { return strings.Contains(declared, part) }
	switch {
	case has("INT"):
		return "INTEGER"
	case has("CHAR"), has("CLOB"), has("TEXT"):
		return "TEXT"
	case declared == "", has("BLOB"):
		return "BLOB"
	case has("REAL"), has("FLOA"), has("DOUB"):
		return "REAL"
	default:
		return "NUMERIC"
	}
}

// typeFor settles the type of a column, or says why it cannot be exact.
func typeFor(wanted ColumnType, declared string) (ColumnType, error) {
	stored := affinity(declared)
	if wanted.Name == "" {
		switch stored {
		case "TEXT":
			return ColumnType{Name: "text"}, nil
		case "INTEGER":
			return ColumnType{Name: "integer"}, nil
		}
		return wanted, fmt.Errorf("is declared %q, whose values may have no exact JSON; declare it TEXT or INTEGER, say in types what it is, or leave it out", declared)
	}
	fits := map[string][]string{
		"text":    {"TEXT"},
		"integer": {"INTEGER"},
		"decimal": {"TEXT", "INTEGER"},
		"minor":   {"INTEGER"},
		"json":    {"TEXT"},
		"date":    {"TEXT", "NUMERIC"}, // DATE is NUMERIC, and keeps text that is no number
		"boolean": {"INTEGER", "NUMERIC"},
	}[wanted.Name]
	for _, f := range fits {
		if f == stored {
			return wanted, nil
		}
	}
	return wanted, fmt.Errorf("has type %s, but is declared %q (SQLite stores it as %s); it must be one of %s",
		wanted, declared, stored, strings.Join(fits, ", "))
}

// appendJSON writes one value as the type says. An error says what is wrong
// with the stored value and does not quote it.
func (t ColumnType) appendJSON(b []byte, stored any) ([]byte, error) {
	switch v := stored.(type) {
	case nil:
		return append(b, "null"...), nil
	case int64:
		return t.appendInteger(b, v)
	case string:
		return t.appendText(b, v)
	default:
		return nil, fmt.Errorf("is stored as %s, which has no exact %s", storage(stored), t)
	}
}

func storage(stored any) string {
	switch stored.(type) {
	case float64:
		return "a float"
	case []byte:
		return "a blob, or is longer than max_bytes"
	default:
		return fmt.Sprintf("%T", stored)
	}
}

func (t ColumnType) appendInteger(b []byte, v int64) ([]byte, error) {
	switch t.Name {
	case "integer", "decimal":
		return strconv.AppendInt(b, v, 10), nil
	case "minor":
		return append(b, minor(v, t.Places)...), nil
	case "boolean":
		if v == 0 || v == 1 {
			return strconv.AppendBool(b, v == 1), nil
		}
	}
	return nil, fmt.Errorf("is stored as an integer, which is no %s", t)
}

func (t ColumnType) appendText(b []byte, v string) ([]byte, error) {
	if !utf8.ValidString(v) {
		return nil, fmt.Errorf("is not valid UTF-8")
	}
	switch t.Name {
	case "text":
		return strictjson.AppendString(b, v), nil
	case "decimal":
		if isDecimal(v) {
			return append(b, v...), nil
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, v); err == nil {
			return strictjson.AppendString(b, v), nil
		}
	case "json":
		if value, err := strictjson.Read([]byte(v), strictjson.Default(len(v))); err == nil {
			return value.AppendJSON(b), nil
		}
	}
	return nil, fmt.Errorf("is stored as a text that is no %s", t)
}

// minor writes an amount in minor units as the decimal that it is.
func minor(v int64, places int) string {
	digits, sign := strconv.FormatInt(v, 10), ""
	if digits[0] == '-' {
		digits, sign = digits[1:], "-"
	}
	if places == 0 {
		return sign + digits
	}
	if len(digits) <= places {
		digits = strings.Repeat("0", places+1-len(digits)) + digits
	}
	return sign + digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}

// minorUnits is the way back: exact, or not at all.
func minorUnits(text string, places int) (int64, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if !isDecimal(text) || len(fraction) > places {
		return 0, false
	}
	v, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
	return v, err == nil
}

// isDecimal accepts what JSON accepts as a number without exponent, with at
// most 64 digits.
func isDecimal(s string) bool {
	if strings.ContainsAny(s, "eE \t\r\n") {
		return false
	}
	v, err := strictjson.Read([]byte(s), strictjson.Default(80))
	return err == nil && v.Kind() == strictjson.Number
}
