// repeats_secret puts its secret argument wherever a guest can: into its
// result, its log, its output and what it asks for.
package main

import (
	"fmt"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(repeatsSecret) }

type args struct {
	PIN string `json:"pin"`
}

func repeatsSecret(c pdk.Call, a args) (any, error) {
	c.Log(pdk.Info, a.PIN)
	fmt.Println(a.PIN)
	_, err := c.Records(a.PIN).Get(a.PIN)
	_, other := c.Records("orders").List(pdk.Query{Where: []pdk.Condition{pdk.Is(a.PIN, a.PIN)}})
	return map[string]any{"said": fmt.Sprint(a.PIN, " ", a.PIN), "list": []string{a.PIN}, "why": fmt.Sprint(err, other)}, nil
}

func main() {}
