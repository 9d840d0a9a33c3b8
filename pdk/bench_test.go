package pdk

import "testing"

// BenchmarkCall is what a call of plugins/get_order does between the host functions.
func BenchmarkCall(b *testing.B) {
	type args struct {
		OrderID string `json:"order_id"`
	}
	asked := 0
	get := host(statusOK, `{"row":{"order_id":"LK-702219","status":"shipped","total":216.00,"note":"<&>"}}`, &asked)
	give := host(statusOK, ``, &asked)
	b.ReportAllocs()
	for b.Loop() {
		var a args
		if err := unmarshal([]byte(`{"order_id":"LK-702219"}`), &a); err != nil {
			b.Fatal(err)
		}
		var answer getAnswer
		if err := exchange("records.get", get, &getRequest{"orders", a.OrderID, nil}, &answer); err != nil {
			b.Fatal(err)
		}
		if _, err := tell("toolhost.result", give, map[string]any{"order": answer.Row}); err != nil {
			b.Fatal(err)
		}
	}
}
