// send_email writes to the customer, once a person has agreed.
package main

import "github.com/toolhost/toolhost/pdk"

type result struct {
	Status string `json:"status"`
}

func init() { pdk.Tool(sendEmail) }

// sendEmail asks for the row that was approved; the host makes it.
func sendEmail(c pdk.Call, _ struct{}) (result, error) {
	if err := c.Outbox("emails").Append(); err != nil {
		return result{}, err
	}
	return result{"recorded"}, nil
}

func main() {}
