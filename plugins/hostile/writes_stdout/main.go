// writes_stdout fills stdout and stderr, then gives a good result.
package main

import (
	"fmt"
	"os"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(writesStdout) }

func writesStdout(_ pdk.Call, _ struct{}) (any, error) {
	for i := range 20_000 {
		fmt.Println("line", i, "of far too many")
		fmt.Fprintln(os.Stderr, "and once more", i)
	}
	return map[string]string{"text": "done"}, nil
}

func main() {}
