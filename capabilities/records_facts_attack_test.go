package capabilities

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

// spent are rows as somebody writes them who wants a sum to miss one.
const spentSchema = `CREATE TABLE spent (id TEXT NOT NULL PRIMARY KEY, owner TEXT COLLATE NOCASE, paid_on DATE, amount TEXT, note TEXT, barred_on TEXT);
INSERT INTO spent VALUES ('S1', 'u-alice', '2026-10-14', '5', NULL, NULL), ('S2', 'u-alice', '2026-10-15', '7.00', NULL, NULL),
	('S3', 'u-alice', NULL, '100', NULL, NULL), ('S4', 'U-Alice', '2026-10-15', '1000', NULL, NULL), ('S5', 'u-bob', 20261015, 'x', NULL, NULL),
	('S6', 'u-alice', '2026-10-16', '0.25', NULL, NULL);`

func spent(t testing.TB, more string) *Records {
	t.Helper()
	return openRecords(t, openDB(t, spentSchema+more), RecordsConfig{
		Name: "spent", Table: "spent", Key: "id", Scope: []string{"owner"}, MaxRows: 10, MaxBytes: 4096,
		Columns: []string{"id", "paid_on", "amount", "note", "barred_on"},
		Types:   map[string]ColumnType{"paid_on": {Name: "date"}, "amount": {Name: "decimal"}},
	})
}

func sumSince(t testing.TB, r *Records, c SumConfig, since string) (string, error) {
	t.Helper()
	f, err := r.SumFact(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	n, err := f.Read(t.Context(), []string{"u-alice"}, nil, since)
	return n.String(), err
}

// What is in a date column and is no day is not left out of a window: the sum
// would be less than was spent, and a budget that is used up would look open.
func TestAttackSumOfDaysThatAreNone(t *testing.T) {
	for name, tt := range map[string]struct{ day, sum, count string }{
		"a-day-before":      {"'2026-10-14'", "7.25", "2"},
		"the-day":           {"'2026-10-15'", "11.25", "3"},
		"null":              {"NULL", "7.25", "2"},
		"an-integer":        {"20261015", "", ""},
		"a-float":           {"2461329.5", "", ""},
		"a-blob":            {"x'323032362D31302D3135'", "", ""},
		"a-blank-before":    {"' 2026-10-15'", "", ""},
		"an-hour":           {"'2026-10-15 10:00'", "", ""},
		"no-month":          {"'2026-13-40'", "", ""},
		"no-month-before":   {"'2025-13-40'", "", ""},
		"no-day":            {"'2026-02-30'", "", ""},
		"another-order":     {"'15.10.2026'", "", ""},
		"empty":             {"''", "", ""},
		"later-than-letter": {"'z'", "", ""},
		"now":               {"'now'", "", ""},
		"nul":               {"'2026-10-15' || char(0)", "", ""},
		"wide-digits":       {"'２０２６-10-15'", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := spent(t, "INSERT INTO spent VALUES ('S9', 'u-alice', "+tt.day+", '4', NULL, NULL)")
			for what, want := range map[string]string{"amount": tt.sum, "": tt.count} {
				got, err := sumSince(t, r, SumConfig{Column: what, Since: "paid_on"}, "2026-10-15")
				if (err != nil) != (want == "") || err == nil && got != want {
					t.Errorf("sum of %q: %s %v, want %q", what, got, err, want)
				}
			}
		})
	}
}

// A text that is as long as one may be does not hide the columns after it.
func TestAttackLongTextBeforeAnotherColumn(t *testing.T) {
	for _, n := range []int{10, 4000, 4090, 4096, 4097, 100_000} {
		r := spent(t, fmt.Sprintf("INSERT INTO spent VALUES ('S9', 'u-alice', NULL, '4', '%s', '2026-10-01'), ('S8', 'u-alice', NULL, '4', '%[1]s', '%[1]s')", strings.Repeat("a", n)))
		for _, columns := range [][]string{{"note", "barred_on"}, {"barred_on", "note"}, {"amount", "note", "barred_on"}} {
			f, err := r.RowFact(t.Context(), columns)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"S8", "S9"} {
				row, err := f.Read(t.Context(), key, []string{"u-alice"})
				if barred, ok := row.Get("barred_on"); err == nil && (!ok || barred.Kind() != strictjson.String) {
					t.Errorf("%d characters, %v of %s: %s", n, columns, key, row.AppendJSON(nil))
				}
			}
		}
	}
}
