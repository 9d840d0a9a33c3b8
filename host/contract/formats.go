package contract

import (
	"errors"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formatNames are the formats that are asserted; every other name does not
// load, because JSON Schema would take it as a note.
func formatNames() []string {
	return []string{"date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}
}

// dateFormats bound a string by themselves.
func dateFormats() []string { return []string{"date", "date-time"} }

const maxDateTime = 40 // characters; RFC 3339 sets no end to fractions of a second

// ownFormats replaces the validator's date-time, which takes fractions of a
// second of any length.
func ownFormats() []*jsonschema.Format {
	return []*jsonschema.Format{{Name: "date-time", Validate: func(v any) error {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		if len(s) > maxDateTime || new(time.Time).UnmarshalText([]byte(s)) != nil {
			return errors.New("is no RFC 3339 date and time")
		}
		return nil
	}}}
}
