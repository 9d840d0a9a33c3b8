package capabilities

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// openPaid makes a table of what was paid, with a scope column that SQLite
// compares as a number where it can.
func openPaid(t *testing.T, rows string) *Records {
	t.Helper()
	file := filepath.Join(t.TempDir(), "paid.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE paid (id INTEGER PRIMARY KEY, shop NUMERIC, who TEXT COLLATE NOCASE, day DATE, ok BOOLEAN, n INTEGER, m INTEGER); INSERT INTO paid (shop, who, day, ok, n, m) VALUES " + rows); err != nil {
		t.Fatal(err)
	}
	opened, err := OpenSQLite("paid", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	records, faults := OpenRecords(t.Context(), opened, RecordsConfig{
		Name: "paid", Table: "paid", Key: "id", Columns: []string{"id", "who", "day", "ok", "n", "m"}, Scope: []string{"shop"}, MaxRows: 10, MaxBytes: 100,
		Types: map[string]ColumnType{"day": {Name: "date"}, "ok": {Name: "boolean"}, "m": {Name: "minor", Places: 2}},
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return records
}

// A sum has every row that it should, or it is none: it must not get smaller by
// what cannot be compared.
func TestSumsLeaveNothingOut(t *testing.T) {
	raw := func(text string) []strictjson.Value {
		v, err := strictjson.Read([]byte(text), strictjson.Default(100))
		if err != nil {
			t.Fatal(err)
		}
		return []strictjson.Value{v}
	}
	anyDay := SumConfig{Column: "n"}
	since := SumConfig{Column: "n", Since: "day"}
	where := func(column string) SumConfig { return SumConfig{Column: "n", Where: []string{column}} }
	for name, c := range map[string]struct {
		rows   string
		config SumConfig
		shop   string
		values []strictjson.Value
		want   string // a sum, or what the error says
	}{
		"all-of-a-shop":                  {"(7,'a','2026-10-15',1,1,0), (7,'b',NULL,1,2,0), (8,'a','2026-10-15',1,4,0)", anyDay, "7", nil, "3"},
		"shop-that-sqlite-takes-for-it":  {"(7,'a','2026-10-15',1,1,0)", anyDay, "7.0", nil, "a row came back that was not asked for"},
		"shop-as-a-float":                {"(7.5,'a','2026-10-15',1,1,0)", anyDay, "7.5", nil, "a row came back that was not asked for"},
		"since-has-its-first-day":        {"(7,'a','2026-10-01',1,1,0), (7,'a','2026-09-30',1,2,0), (7,'a','9999-12-31',1,4,0)", since, "7", nil, "5"},
		"since-without-a-day":            {"(7,'a',NULL,1,1,0), (7,'a','2026-10-02',1,2,0)", since, "7", nil, "2"},
		"since-with-another-form-of-day": {"(7,'a','10/02/2026',1,1,0)", since, "7", nil, `a value of column "day" is no date`},
		"since-with-a-short-day":         {"(7,'a','2026-1-5',1,1,0)", since, "7", nil, `a value of column "day" is no date`},
		"since-with-a-number":            {"(7,'a',20261002,1,1,0)", since, "7", nil, `a value of column "day" is no date`},
		"since-with-a-day-that-is-none":  {"(7,'a','2026-10-32',1,1,0)", since, "7", nil, `a value of column "day" is no date`},
		"since-with-a-blob":              {"(7,'a',x'3230',1,1,0)", since, "7", nil, `a value of column "day" is no date`},
		"text-byte-for-byte":             {"(7,'a','2026-10-15',1,1,0), (7,'A','2026-10-15',1,2,0)", where("who"), "7", raw(`"a"`), "1"},
		"empty-text":                     {"(7,'','2026-10-15',1,1,0), (7,NULL,'2026-10-15',1,2,0)", where("who"), "7", raw(`""`), "1"},
		"boolean":                        {"(7,'a','2026-10-15',1,1,0), (7,'a','2026-10-15',0,2,0)", where("ok"), "7", raw("false"), "2"},
		"day":                            {"(7,'a','2026-10-15',1,1,0), (7,'a','2026-10-16',0,2,0)", where("day"), "7", raw(`"2026-10-16"`), "2"},
		"amount-in-cents":                {"(7,'a','2026-10-15',1,1,150), (7,'a','2026-10-15',1,2,15)", where("m"), "7", raw("1.50"), "1"},
		"amount-of-half-a-cent":          {"(7,'a','2026-10-15',1,1,150)", where("m"), "7", raw("1.505"), ErrIncomparable.Error()},
		"whole-number":                   {"(7,'a','2026-10-15',1,5,0), (7,'a','2026-10-15',1,6,0)", where("n"), "7", raw("5"), "5"},
		"fraction-of-a-whole-number":     {"(7,'a','2026-10-15',1,5,0)", where("n"), "7", raw("5.5"), ErrIncomparable.Error()},
		"null":                           {"(7,NULL,'2026-10-15',1,5,0)", where("who"), "7", raw("null"), ErrIncomparable.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := openPaid(t, c.rows).SumFact(t.Context(), c.config)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Read(t.Context(), []string{c.shop}, c.values, "2026-10-01")
			switch {
			case err == nil && got.String() == c.want:
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("%s, %v; want %s", got, err, c.want)
			case errors.Is(err, ErrIncomparable) != (c.want == ErrIncomparable.Error()):
				t.Errorf("%v is of the wrong kind", err)
			}
		})
	}
}
