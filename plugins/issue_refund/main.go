// issue_refund pays a part of an order back, once a person has agreed.
package main

import "github.com/toolhost/toolhost/pdk"

type result struct {
	Status string `json:"status"`
}

func init() { pdk.Tool(issueRefund) }

// issueRefund asks for the row that was approved; the host makes it.
func issueRefund(c pdk.Call, _ struct{}) (result, error) {
	if err := c.Outbox("refunds").Append(); err != nil {
		return result{}, err
	}
	return result{"recorded"}, nil
}

func main() {}
