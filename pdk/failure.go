package pdk

import "errors"

// failure is an error with words of ours before its cause. fmt.Errorf would do the same and bring
// package fmt, and with it os, into every plugin.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text + ": " + f.cause.Error() }

func (f *failure) Unwrap() error { return f.cause }

// because puts words before an error.
func because(text string, cause error) error { return &failure{text, cause} }

func failed(text string) error { return errors.New(text) }
