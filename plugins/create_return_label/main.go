// create_return_label makes a label for sending an order back, once a person has agreed.
package main

import "github.com/toolhost/toolhost/pdk"

type result struct {
	Status string `json:"status"`
}

func init() { pdk.Tool(createReturnLabel) }

// createReturnLabel asks for the row that was approved; the host makes it.
func createReturnLabel(c pdk.Call, _ struct{}) (result, error) {
	if err := c.Outbox("new_labels").Append(); err != nil {
		return result{}, err
	}
	return result{"recorded"}, nil
}

func main() {}
