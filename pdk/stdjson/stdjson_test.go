package stdjson

import (
	"encoding/json"
	"testing"
)

func TestIsEncodingJSON(t *testing.T) {
	var v struct {
		OrderID string `json:"order_id"`
		Rest    any    `json:"rest"`
	}
	if err := decode([]byte(`{"ORDER_ID":"x","rest":1.50}`), &v); err != nil || v.OrderID != "x" || v.Rest != json.Number("1.50") {
		t.Errorf("%+v %v", v, err)
	}
	if got, err := encode(map[string]string{"a": "<&>"}); err != nil || string(got) != `{"a":"<&>"}` {
		t.Errorf("%s %v", got, err)
	}
	if _, err := encode(func() {}); err == nil {
		t.Error("a function is encoded")
	}
}
