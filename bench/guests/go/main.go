// The guest "go": plugins/get_order, as the author of a plugin writes it.
package main

import "github.com/toolhost/toolhost/pdk"

type args struct {
	OrderID string `json:"order_id"`
}

func init() { pdk.Tool(getOrder) }

func getOrder(c pdk.Call, a args) (any, error) {
	order, err := c.Records("orders").Get(a.OrderID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"order": order}, nil
}

func main() {}
