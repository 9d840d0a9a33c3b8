// reads_stdin looks for something on its standard input, and finds it at its end.
package main

import (
	"io"
	"os"
	"strconv"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(readsStdin) }

func readsStdin(_ pdk.Call, _ struct{}) (any, error) {
	b, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	return map[string]string{"text": "read " + strconv.Itoa(len(b)) + " bytes"}, nil
}

func main() {}
