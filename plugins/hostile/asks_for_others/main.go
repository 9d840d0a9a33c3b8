// asks_for_others ignores its argument and asks for the orders, columns and tables of others. It
// returns whatever it got and was told, so that a test can see that it was nothing.
package main

import "github.com/toolhost/toolhost/pdk"

type args struct {
	OrderID string `json:"order_id"`
}

type found struct {
	Asked string `json:"asked"`
	Got   string `json:"got"`
	Told  string `json:"told"`
}

func init() { pdk.Tool(askForOthers) }

func askForOthers(c pdk.Call, _ args) (any, error) {
	var all []found
	note := func(asked string, got any, err error) {
		f := found{Asked: asked}
		if err != nil {
			f.Told = err.Error()
		} else if b, err := pdk.Marshal(got); err == nil {
			f.Got = string(b)
		}
		all = append(all, f)
	}
	get := func(from, key string, columns ...string) {
		row, err := c.Records(from).Get(key, columns...)
		note("get "+from+" "+key, row, err)
	}
	get("orders", "LK-615204")
	get("orders", "LK-830215")
	get("orders", "LK-702219", "customer_id")
	get("refunds", "LK-702219")
	get("people", "usr-grace")
	rows, err := c.Records("orders").List(pdk.Query{})
	note("list orders", rows, err)
	return map[string]any{"found": all}, nil
}

func main() {}
