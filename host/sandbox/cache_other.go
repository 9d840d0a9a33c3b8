//go:build !unix

package sandbox

import "errors"

// ownFolder refuses: without Unix owners and modes nobody can say who may write machine code there.
func ownFolder(string) error {
	return errors.New("the cache folder cannot be checked on this system")
}
