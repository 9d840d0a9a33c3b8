// says_error puts secrets into the text of its error.
package main

import (
	"errors"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(saysError) }

func saysError(_ pdk.Call, _ struct{}) (any, error) {
	return nil, errors.New("secret host=10.0.0.5 stack")
}

func main() {}
