package pdk

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestRowKeepsItsBytes(t *testing.T) {
	const raw = `{"total":216.00,"id":9007199254740993,"note":"<&>","gone":null}`
	var row Row
	if err := json.Unmarshal([]byte(raw), &row); err != nil {
		t.Fatal(err)
	}
	if got, err := Marshal(map[string]any{"order": row}); err != nil || string(got) != `{"order":`+raw+`}` {
		t.Errorf("%s %v", got, err)
	}
	for column, want := range map[string]string{"total": "216.00", "id": "9007199254740993", "note": "<&>", "gone": "", "absent": ""} {
		if got := row.Text(column); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
	var columns map[string]any
	if err := row.Decode(&columns); err != nil || columns["id"] != Number("9007199254740993") {
		t.Errorf("%v %v", columns, err)
	}
	if got, err := Marshal(Row{}); err != nil || string(got) != "null" {
		t.Errorf("the zero Row is %s, %v", got, err)
	}
}

func TestRequestsAreWhatTheABISays(t *testing.T) {
	q := Query{
		Columns: []string{"order_id"},
		Where:   []Condition{Is("status", "shipped"), AtLeast("ordered_on", "2026-09-15"), AtMost("total", 0), Is("delivered_on", nil)},
		Order:   []Order{{Column: "ordered_on", Descending: true}, {Column: "order_id"}},
		Limit:   20,
	}
	want := `{"columns":["order_id"],"where":[{"column":"status","is":"shipped"},{"column":"ordered_on","at_least":"2026-09-15"},` +
		`{"column":"total","at_most":0},{"column":"delivered_on","is":null}],"order":[{"column":"ordered_on","descending":true},{"column":"order_id"}],"limit":20}`
	if got, err := Marshal(q); err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
}

// host is a stand-in for the host: it answers with a status and a body, and keeps the ABI's rule for short buffers.
func host(status uint64, body string, asked *int) func(request, response []byte) uint64 {
	return func(_, response []byte) uint64 {
		*asked++
		if len(body) > len(response) {
			return statusShort<<32 | uint64(len(body))
		}
		copy(response, body)
		return status<<32 | uint64(len(body))
	}
}

func TestAsk(t *testing.T) {
	long := strings.Repeat("x", 3*someRoom)
	cases := []struct {
		rule, body string
		status     uint64
		is         error
		text       string
		asked      int
	}{
		{"ok", "short", statusOK, nil, "", 1},
		{"short-buffer-asks-again", long, statusOK, nil, "", 2},
		{"not-available", "", statusNotAvailable, ErrNotAvailable, "records.get: not available", 1},
		{"denied", `{"error":"no grant"}`, statusDenied, ErrDenied, "records.get: denied: no grant", 1},
		{"invalid", `{"error":"no key"}`, statusInvalid, nil, "records.get: invalid request: no key", 1},
		{"unknown-status", "", 77, nil, "records.get: unknown status 77", 1},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			asked := 0
			got, err := ask("records.get", host(c.status, c.body, &asked), nil)
			if asked != c.asked {
				t.Errorf("asked %d times, want %d", asked, c.asked)
			}
			if c.text == "" {
				if err != nil || string(got) != c.body {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				return
			}
			if err == nil || err.Error() != c.text || (c.is != nil && !errors.Is(err, c.is)) {
				t.Errorf("%v, want %q", err, c.text)
			}
		})
	}
}

func TestOutsideToolhost(t *testing.T) {
	if _, err := (Call{}).Records("orders").Get("LK-702219"); err == nil || !strings.Contains(err.Error(), "only inside toolhost") {
		t.Error(err)
	}
	Call{}.Log(Info, "goes nowhere")
	Call{}.Progress(1, 2)
}
