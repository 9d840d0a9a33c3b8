// repeats_secret puts its secrets wherever a guest can: into its result, the
// names in it, its error, its log, its output and what it asks for.
package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(repeatsSecret) }

type args struct {
	PIN string `json:"pin"`
	How string `json:"how"`
}

func repeatsSecret(c pdk.Call, a args) (any, error) {
	c.Log(pdk.Info, a.PIN)
	fmt.Println(a.PIN)
	switch a.How {
	case "name":
		return map[string]any{a.PIN: 1}, nil
	case "error": // the last copy stands where an operator's text ends
		return nil, errors.New(strings.Repeat(a.PIN+" ", 10) + strings.Repeat("x", 1885) + a.PIN)
	case "token":
		return map[string]any{"token": "tok-815-4711", "said": "the token is tok-815-4711"}, nil
	}
	_, err := c.Records(a.PIN).Get(a.PIN)
	_, other := c.Records("orders").List(pdk.Query{Where: []pdk.Condition{pdk.Is(a.PIN, a.PIN)}})
	return map[string]any{"said": fmt.Sprint(a.PIN, " ", a.PIN), "list": []string{a.PIN}, "why": fmt.Sprint(err, other)}, nil
}

func main() {}
