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

func TestReadOnly(t *testing.T) {
	db := openDB(t, noticeSchema)
	for _, statement := range []string{
		"DELETE FROM notices", "UPDATE notices SET owner = 'x'", "CREATE TABLE x (y)", "PRAGMA query_only = 0; DELETE FROM notices",
	} {
		if _, err := db.db.Exec(statement); err == nil {
			t.Errorf("%s was done", statement)
		}
	}
	var n int
	if err := db.db.QueryRow("SELECT count(*) FROM notices WHERE owner IS NOT 'x'").Scan(&n); err != nil || n != 6 {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestUniqueKey(t *testing.T) {
	db := openDB(t, `
CREATE TABLE plain (k TEXT NOT NULL, v TEXT);
CREATE TABLE nullable (k TEXT UNIQUE, v TEXT);
CREATE TABLE pk_nullable (k TEXT PRIMARY KEY, v TEXT);
CREATE TABLE half (k TEXT NOT NULL, v TEXT); CREATE UNIQUE INDEX half_k ON half (k) WHERE v = 'x';
CREATE TABLE pair (k TEXT NOT NULL, v TEXT, PRIMARY KEY (k, v));
CREATE TABLE wrapped (k TEXT NOT NULL, v TEXT); CREATE UNIQUE INDEX wrapped_k ON wrapped (lower(k));
CREATE VIEW seen AS SELECT * FROM good;
CREATE TABLE good (k TEXT NOT NULL PRIMARY KEY, v TEXT);
CREATE TABLE folding (k TEXT NOT NULL COLLATE NOCASE UNIQUE, v TEXT);
CREATE TABLE descending (k INTEGER PRIMARY KEY DESC, v TEXT);
CREATE TABLE rowid (k INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE without (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID;
CREATE TABLE strict (k TEXT NOT NULL UNIQUE, v TEXT) STRICT;`)
	for table, want := range map[string]bool{
		"plain": false, "nullable": false, "pk_nullable": false, "half": false, "pair": false, "wrapped": false, "seen": false,
		"folding": false, "descending": false,
		"good": true, "rowid": true, "without": true, "strict": true,
	} {
		_, errs := OpenRecords(context.Background(), db, RecordsConfig{Name: table, Table: table, Key: "k", Columns: []string{"v"}, MaxRows: 1, MaxBytes: 1})
		if (len(errs) == 0) != want {
			t.Errorf("%s: %v", table, errs)
		}
	}
}

func TestMinor(t *testing.T) {
	for _, tt := range []struct {
		units  int64
		places int
		text   string
	}{
		{0, 2, "0.00"},
		{5, 2, "0.05"},
		{-5, 2, "-0.05"},
		{1250, 2, "12.50"},
		{7, 0, "7"},
		{-1, 3, "-0.001"},
		{9223372036854775807, 2, "92233720368547758.07"},
		{-9223372036854775808, 2, "-92233720368547758.08"},
	} {
		if got := minor(tt.units, tt.places); got != tt.text {
			t.Errorf("minor(%d, %d) = %s, want %s", tt.units, tt.places, got, tt.text)
		}
		if got, ok := minorUnits(tt.text, tt.places); !ok || got != tt.units {
			t.Errorf("minorUnits(%s, %d) = %d %t", tt.text, tt.places, got, ok)
		}
	}
	if _, ok := minorUnits("92233720368547758.08", 2); ok {
		t.Error("an amount beyond int64 has units")
	}
}
