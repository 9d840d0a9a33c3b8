package pdk

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Errors that a tool may want to tell apart, with errors.Is.
var (
	// ErrNotAvailable says that there is no such row, file or folder within the reach of this call, or
	// that no answer came. Whether it exists elsewhere, and why nothing came, is not told.
	ErrNotAvailable = errors.New("not available")
	// ErrDenied says that this tool holds no grant for what it asked, or that a URL is not allowed.
	ErrDenied = errors.New("denied")
)

// errOutside is what every question gets where there is no host.
var errOutside = errors.New("only inside toolhost")

// The statuses of docs/abi.md, and one of our own for code that runs without a host.
const (
	statusOK           = 0
	statusShort        = 1
	statusNotAvailable = 2
	statusDenied       = 3
	statusInvalid      = 4
	statusOutside      = 0xffffffff
)

// response is where the host writes. It grows to the longest response and is used again: a guest
// runs on one thread, and nothing yields between the host's write and the copy in ask.
var response = make([]byte, 4096)

// ask puts a request to one function of the host and gives a copy of its response. A response that
// is longer than the buffer is kept by the host for the very next call, which asks the same again.
func ask(name string, host func(request, response []byte) uint64, request []byte) ([]byte, error) {
	answer := host(request, response)
	if answer>>32 == statusShort {
		response = make([]byte, uint32(answer))
		answer = host(request, response)
	}
	status, length := answer>>32, uint32(answer)
	if status == statusOutside {
		return nil, fmt.Errorf("%s: %w", name, errOutside)
	}
	if int(length) > len(response) {
		return nil, fmt.Errorf("%s: a response of %d bytes did not arrive", name, length)
	}
	body := append([]byte(nil), response[:length]...)
	switch status {
	case statusOK:
		return body, nil
	case statusNotAvailable:
		return nil, fmt.Errorf("%s: %w", name, ErrNotAvailable)
	case statusDenied:
		return nil, fmt.Errorf("%s: %w: %s", name, ErrDenied, reason(body))
	case statusInvalid:
		return nil, fmt.Errorf("%s: invalid request: %s", name, reason(body))
	default:
		return nil, fmt.Errorf("%s: unknown status %d", name, status)
	}
}

// reason reads {"error":"..."}.
func reason(body []byte) string {
	var r struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &r) != nil || r.Error == "" {
		return "no reason given"
	}
	return r.Error
}
