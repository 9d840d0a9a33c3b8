// Package rh asks the leave service, for the tools that only read there. Who
// asks stands in a header that the host adds; the service decides by it.
package rh

import (
	"fmt"

	"github.com/toolhost/toolhost/pdk"
)

// service is where [capabilities.rh] lets these tools go.
const service = "http://127.0.0.1:8431"

// What the service says to a question. Each is an answer that the model may have.
const (
	OK        = "ok"
	Forbidden = "forbidden" // who asks may not see it
	NotFound  = "not_found" // there is nobody of that number
)

// Get asks for a path, and fills into from the answer's JSON where the status
// is OK. Whether all is there that should be is the contract's to say: a member
// that is missing must not look like an empty list or a 0. Every other answer
// than these three is an error.
func Get(c pdk.Call, path string, into any) (status string, err error) {
	answer, err := c.Fetch("rh").Get(service + path)
	if err != nil {
		return "", err
	}
	return read(answer.Status, answer.Body.Bytes(), into)
}

func read(status int, body []byte, into any) (string, error) {
	switch status {
	case 200:
		if err := pdk.Unmarshal(body, into); err != nil {
			return "", fmt.Errorf("decode the service's answer: %w", err)
		}
		return OK, nil
	case 403:
		return Forbidden, nil
	case 404:
		return NotFound, nil
	default:
		return "", fmt.Errorf("the service answers %d", status)
	}
}
