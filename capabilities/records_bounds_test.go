package capabilities

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/strictjson"
)

// A stored value that is not what its type says ends the call: an error, not an answer.
func TestWrongValuesEndTheCall(t *testing.T) {
	for name, tt := range map[string]struct{ column, value string }{
		"decimal-word":        {"decimal", "'about 5'"},
		"decimal-exponent":    {"decimal", "'1e3'"},
		"decimal-plus":        {"decimal", "'+1'"},
		"decimal-bare-dot":    {"decimal", "'.5'"},
		"decimal-empty":       {"decimal", "''"},
		"decimal-blob":        {"decimal", "x'31'"},
		"json-broken":         {"json", "'{'"},
		"json-twice":          {"json", "'{\"a\":1,\"a\":2}'"},
		"date-no-day":         {"date", "'2026-02-30'"},
		"date-with-time":      {"date", "'2026-02-03T00:00:00Z'"},
		"text-broken-utf8":    {"text", "CAST(x'ff' AS TEXT)"},
		"longer-than-allowed": {"text", "printf('%.*c', 5000, 'x')"},
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t, `CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, v TEXT); INSERT INTO t VALUES ('a', `+tt.value+`)`)
			r := openRecords(t, db, RecordsConfig{
				Name: "t", Table: "t", Key: "id", Columns: []string{"v"},
				Types: map[string]ColumnType{"v": {Name: tt.column}}, MaxRows: 5, MaxBytes: 4096,
			})
			for _, function := range []string{"get", "list"} {
				request := map[string]string{"get": `{"from":"t","key":"a"}`, "list": `{"from":"t"}`}[function]
				v, _ := strictjson.Read([]byte(request), strictjson.Default(100))
				a, err := r.Reach(nil, nil).Call(t.Context(), function, v)
				if err == nil {
					t.Errorf("%s: %s", function, a.Body)
				} else if strings.Contains(err.Error(), "about") {
					t.Errorf("%s: the error quotes the value: %v", function, err)
				}
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	db := openDB(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO t SELECT i, printf('%.*c', 100, 'x') FROM n`)
	r := openRecords(t, db, RecordsConfig{Name: "t", Table: "t", Key: "id", Columns: []string{"v"}, MaxRows: 1000, MaxBytes: 4096})
	if a := call(t, r.Reach(nil, nil), "list", `{"from":"t"}`); a.Status != Invalid || a.Reason != "answer_too_long" {
		t.Errorf("status %d %s, %d bytes", a.Status, a.Reason, len(a.Body))
	}
}

// A row can hold every column at max_bytes; an answer stops at the first that is too much.
func TestOneRowIsBounded(t *testing.T) {
	schema, columns := "CREATE TABLE t (id INTEGER PRIMARY KEY", []string{}
	for i := range 30 {
		columns = append(columns, fmt.Sprintf("c%d", i))
		schema += fmt.Sprintf(", c%d TEXT DEFAULT (printf('%%.*c', 4000, 'x'))", i)
	}
	r := openRecords(t, openDB(t, schema+"); INSERT INTO t (id) VALUES (1)"), RecordsConfig{
		Name: "t", Table: "t", Key: "id", Columns: columns, MaxRows: 10, MaxBytes: 4096,
	})
	b, err := r.Reach(nil, nil).(*recordsReach).appendRow(nil, columns, slices.Repeat([]any{strings.Repeat("x", 4000)}, 30))
	if err != nil || len(b) > 3*4096 {
		t.Errorf("%d bytes were built, %v", len(b), err)
	}
	for function, request := range map[string]string{"get": `{"from":"t","key":"1"}`, "list": `{"from":"t"}`} {
		if a := call(t, r.Reach(nil, nil), function, request); a.Reason != "answer_too_long" {
			t.Errorf("%s: %q", function, a.Reason)
		}
	}
}

// Guests that hold every connection they can have do not keep the gates waiting.
func TestGatesDoNotWaitForGuests(t *testing.T) {
	r := notices(t)
	for range connections {
		rows, err := r.db.guestRows(t.Context(), "SELECT id FROM notices", nil)
		if err != nil || !rows.Next() {
			t.Fatal(err)
		}
		defer rows.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if v, err := r.Check(ctx, "D1", []string{"u-alice"}); err != nil || !v.Within() {
		t.Errorf("%+v %v", v, err)
	}
}
