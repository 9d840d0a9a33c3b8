// A guest that does what plugins/get_order does; variant makes modules of it that are not the same.
package main

import "github.com/toolhost/toolhost/pdk"

var variant = "none"

type args struct {
	OrderID string `json:"order_id"`
}

func init() { pdk.Tool(get) }

func get(c pdk.Call, a args) (any, error) {
	if a.OrderID == variant {
		return nil, nil
	}
	order, err := c.Records("orders").Get(a.OrderID)
	return map[string]any{"order": order}, err
}

func main() {}
