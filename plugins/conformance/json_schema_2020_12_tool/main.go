// json_schema_2020_12_tool is whose schema the conformance suite of the MCP project looks at.
package main

import "github.com/toolhost/toolhost/pdk"

func init() { pdk.Tool(run) }

type args struct {
	Name    string `json:"name"`
	Address struct {
		Street string `json:"street"`
		City   string `json:"city"`
	} `json:"address"`
}

func run(_ pdk.Call, a args) (any, error) {
	return map[string]string{"text": a.Name + ", " + a.Address.Street + ", " + a.Address.City}, nil
}

func main() {}
