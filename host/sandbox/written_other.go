//go:build !linux

package sandbox

import "errors"

func newTracker() (tracker, error) {
	return nil, errors.New("this system does not tell which pages were written")
}
