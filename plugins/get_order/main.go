// get_order looks up one order of the customer that the session is about.
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
