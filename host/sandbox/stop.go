package sandbox

import (
	"fmt"
	"strings"
)

// Reason says why a guest was ended. The zero Reason is none of them: it never means success.
type Reason uint8

// The ways a guest ends other than by returning from run.
const (
	Deadline         Reason = iota + 1 // Call.Time is used up
	Cancelled                          // the caller's context ended first
	OutOfMemory                        // it asked for more memory than its limit, and then ended badly
	TooManyHostCalls                   // the call beyond Call.HostCalls
	Trap                               // the guest broke a rule of WebAssembly or of the ABI
	Exit                               // proc_exit before run returned, with any code
	OutOfFuel                          // Call.Fuel is used up
	HostError                          // Functions answered with an error, or panicked
)

// String gives the words used in logs.
func (r Reason) String() string {
	switch r {
	case Deadline:
		return "deadline"
	case Cancelled:
		return "cancelled"
	case OutOfMemory:
		return "out of memory"
	case TooManyHostCalls:
		return "too many host calls"
	case Trap:
		return "trap"
	case Exit:
		return "exit"
	case OutOfFuel:
		return "out of fuel"
	case HostError:
		return "host error"
	default:
		return fmt.Sprintf("unknown reason %d", uint8(r))
	}
}

// Stop is the error of a guest that did not return from run.
type Stop struct {
	Reason Reason
	Err    error // why; for HostError what Functions returned
}

// Error gives the reason and one bounded line: guests and wazero put stack traces after it.
func (s *Stop) Error() string {
	if s.Err == nil {
		return s.Reason.String()
	}
	return s.Reason.String() + ": " + firstLine(s.Err.Error())
}

// Unwrap gives Err, so that a caller finds its own error again.
func (s *Stop) Unwrap() error { return s.Err }

// maxStopText bounds the text of a Stop in bytes.
const maxStopText = 300

// oneLine joins the lines of a text of wazero's about a module.
func oneLine(text string) string { return firstLine(strings.Join(strings.Fields(text), " ")) }

// firstLine cuts a text at its first line end, and at maxStopText on a character boundary.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > maxStopText {
		text = text[:maxStopText]
	}
	return strings.ToValidUTF8(text, "")
}
