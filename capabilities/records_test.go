package capabilities

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/strictjson"
)

func openDB(t testing.TB, schema string) *Database {
	t.Helper()
	file := filepath.Join(t.TempDir(), "desk #1%.db") // a name that a URI would read otherwise
	w, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "#", "%23", " ", "%20").Replace(file))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Exec(schema); err != nil {
		t.Fatal(err)
	}
	db, err := OpenSQLite("desk", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openRecords(t testing.TB, db *Database, c RecordsConfig) *Records {
	t.Helper()
	r, errs := OpenRecords(t.Context(), db, c)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return r
}

const noticeSchema = `
CREATE TABLE notices (
	id TEXT NOT NULL PRIMARY KEY, owner TEXT, published_on DATE, content TEXT, pages INTEGER, fee INTEGER,
	price TEXT, open INTEGER, tags TEXT, secret TEXT);
INSERT INTO notices VALUES
	('D1', 'u-alice', '2026-09-10', '读书会 报名 2026-09-20 截止', 3, 1250, '12.50', 1, '["a", 1.50]', 's1'),
	('D2', 'u-alice', '2026-09-16', '读书会 报名 提前到 2026-09-18', 9007199254740993, -5, '0.10', 0, '{}', 's2'),
	('D3', 'u-bob', '2026-09-16', '读书会 报名 志愿者名单', 1, 0, '-3', NULL, 'null', 's3'),
	('D4', 'u-alice', '2026-10-01', '100% of a_b is Upper', 2, 100, NULL, 1, '[]', 's4'),
	('D5', NULL, '2026-10-01', 'nobody''s', 2, 100, NULL, 1, '[]', 's5'),
	('D6', '', '2026-10-01', 'nobody''s either', 2, 100, NULL, 1, '[]', 's6');`

func notices(t testing.TB) *Records {
	t.Helper()
	return openRecords(t, openDB(t, noticeSchema), RecordsConfig{
		Name: "notices", Table: "notices", Key: "id", Scope: []string{"owner"}, MaxRows: 10, MaxBytes: 4096,
		Columns: []string{"id", "published_on", "content", "pages", "fee", "price", "open", "tags"},
		Types: map[string]ColumnType{
			"published_on": {Name: "date"}, "fee": {Name: "minor", Places: 2}, "price": {Name: "decimal"},
			"open": {Name: "boolean"}, "tags": {Name: "json"},
		},
	})
}

func call(t testing.TB, r Reach, function, request string) Answer {
	t.Helper()
	v, err := strictjson.Read([]byte(request), strictjson.Default(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Call(t.Context(), function, v)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRowsLeaveExactly(t *testing.T) {
	alice := notices(t).Reach([]string{"u-alice"}, nil)
	for name, tt := range map[string]struct{ function, request, want string }{
		"every-type": {
			"get", `{"from":"notices","key":"D1"}`,
			`{"row":{"id":"D1","published_on":"2026-09-10","content":"读书会 报名 2026-09-20 截止","pages":3,"fee":12.50,"price":12.50,"open":true,"tags":["a",1.50]}}`,
		},
		"above-2^53-and-negative-minor": {
			"get", `{"from":"notices","key":"D2","columns":["pages","fee","price","open"]}`,
			`{"row":{"pages":9007199254740993,"fee":-0.05,"price":0.10,"open":false}}`,
		},
		"null-is-null":         {"get", `{"from":"notices","key":"D4","columns":["price"]}`, `{"row":{"price":null}}`},
		"list-in-order-of-key": {"list", `{"from":"notices","columns":["id"]}`, `{"rows":[{"id":"D1"},{"id":"D2"},{"id":"D4"}],"more":false}`},
		"list-says-more":       {"list", `{"from":"notices","columns":["id"],"limit":2}`, `{"rows":[{"id":"D1"},{"id":"D2"}],"more":true}`},
		"list-sorted": {
			"list", `{"from":"notices","columns":["id","fee"],"order":[{"column":"fee","descending":true}],"limit":1}`,
			`{"rows":[{"id":"D1","fee":12.50}],"more":true}`,
		},
		"at-least-is-inclusive": {
			"list", `{"from":"notices","columns":["id"],"where":[{"column":"published_on","at_least":"2026-09-16"}]}`,
			`{"rows":[{"id":"D2"},{"id":"D4"}],"more":false}`,
		},
		"between": {
			"list", `{"from":"notices","columns":["id"],"where":[{"column":"published_on","at_least":"2026-09-11","at_most":"2026-09-30"}]}`,
			`{"rows":[{"id":"D2"}],"more":false}`,
		},
		"is-null":            {"list", `{"from":"notices","columns":["id"],"where":[{"column":"price","is":null}]}`, `{"rows":[{"id":"D4"}],"more":false}`},
		"minor-compares":     {"list", `{"from":"notices","columns":["id"],"where":[{"column":"fee","at_most":0.99}]}`, `{"rows":[{"id":"D2"}],"more":false}`},
		"boolean-compares":   {"list", `{"from":"notices","columns":["id"],"where":[{"column":"open","is":false}]}`, `{"rows":[{"id":"D2"}],"more":false}`},
		"integer-compares":   {"list", `{"from":"notices","columns":["id"],"where":[{"column":"pages","is":9007199254740993}]}`, `{"rows":[{"id":"D2"}],"more":false}`},
		"all-words-occur":    {"search", `{"from":"notices","columns":["id"],"words":"报名 读书会"}`, `{"rows":[{"id":"D1"},{"id":"D2"}],"more":false}`},
		"words-and-date":     {"search", `{"from":"notices","columns":["id"],"words":"读书会 报名","where":[{"column":"published_on","at_least":"2026-09-15"}]}`, `{"rows":[{"id":"D2"}],"more":false}`},
		"no-word-matches":    {"search", `{"from":"notices","columns":["id"],"words":"读书会 志愿者名单"}`, `{"rows":[],"more":false}`},
		"percent-is-letter":  {"search", `{"from":"notices","columns":["id"],"words":"100%"}`, `{"rows":[{"id":"D4"}],"more":false}`},
		"only-percent":       {"search", `{"from":"notices","columns":["id"],"words":"%"}`, `{"rows":[{"id":"D4"}],"more":false}`},
		"underscore-letter":  {"search", `{"from":"notices","columns":["id"],"words":"a_b"}`, `{"rows":[{"id":"D4"}],"more":false}`},
		"backslash-letter":   {"search", `{"from":"notices","columns":["id"],"words":"\\"}`, `{"rows":[],"more":false}`},
		"quote-is-a-letter":  {"search", `{"from":"notices","columns":["id"],"words":"' OR '1'='1"}`, `{"rows":[],"more":false}`},
		"ascii-case-folds":   {"search", `{"from":"notices","columns":["id"],"words":"upper"}`, `{"rows":[{"id":"D4"}],"more":false}`},
		"in-one-column":      {"search", `{"from":"notices","columns":["id"],"words":"D1","in":["content"]}`, `{"rows":[],"more":false}`},
		"text-columns-alone": {"search", `{"from":"notices","columns":["id"],"words":"s1"}`, `{"rows":[],"more":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := call(t, alice, tt.function, tt.request)
			if a.Status != OK || string(a.Body) != tt.want {
				t.Errorf("status %d %s, %s\nwant %s", a.Status, a.Reason, a.Body, tt.want)
			}
		})
	}
}

func TestNothingOutsideLeaves(t *testing.T) {
	r := notices(t)
	alice := r.Reach([]string{"u-alice"}, nil)
	d1 := "D1"
	only := r.Reach([]string{"u-alice"}, &d1)
	for name, tt := range map[string]struct {
		reach             Reach
		function, request string
		status            Status
		reason            string
	}{
		"missing-row":              {alice, "get", `{"from":"notices","key":"D9"}`, NotAvailable, "not_found"},
		"another-owners-row":       {alice, "get", `{"from":"notices","key":"D3"}`, NotAvailable, "out_of_scope:owner"},
		"row-owned-by-null":        {alice, "get", `{"from":"notices","key":"D5"}`, NotAvailable, "out_of_scope:owner"},
		"key-in-other-case":        {alice, "get", `{"from":"notices","key":"d1"}`, NotAvailable, "not_found"},
		"empty-key":                {alice, "get", `{"from":"notices","key":""}`, NotAvailable, "not_found"},
		"second-key-of-an-only":    {only, "get", `{"from":"notices","key":"D2"}`, Denied, "not_the_granted_key"},
		"missing-key-of-an-only":   {only, "get", `{"from":"notices","key":"D9"}`, Denied, "not_the_granted_key"},
		"column-not-granted":       {alice, "get", `{"from":"notices","key":"D1","columns":["secret"]}`, Denied, "column_not_granted"},
		"scope-column-not-granted": {alice, "list", `{"from":"notices","columns":["owner"]}`, Denied, "column_not_granted"},
		"filter-as-an-oracle":      {alice, "list", `{"from":"notices","where":[{"column":"secret","at_least":"s"}]}`, Denied, "column_not_granted"},
		"order-as-an-oracle":       {alice, "list", `{"from":"notices","order":[{"column":"secret"}]}`, Denied, "column_not_granted"},
		"search-as-an-oracle":      {alice, "search", `{"from":"notices","words":"s","in":["secret"]}`, Denied, "column_not_granted"},
		"column-with-a-quote":      {alice, "list", `{"from":"notices","columns":["id\" FROM notices --"]}`, Denied, "column_not_granted"},
		"column-twice":             {alice, "get", `{"from":"notices","key":"D1","columns":["id","id"]}`, Invalid, "invalid_request"},
		"column-a-thousand-times":  {alice, "list", `{"from":"notices","columns":["id"` + strings.Repeat(`,"id"`, 999) + `]}`, Invalid, "invalid_request"},
		"word-that-costs":          {alice, "search", `{"from":"notices","words":"` + strings.Repeat("a", 101) + `"}`, Invalid, "invalid_request"},
		"word-with-nul":            {alice, "search", `{"from":"notices","words":"a\u0000b"}`, Invalid, "invalid_request"},
		"column-in-other-case":     {alice, "list", `{"from":"notices","columns":["ID"]}`, Denied, "column_not_granted"},
		"rowid":                    {alice, "list", `{"from":"notices","columns":["rowid"]}`, Denied, "column_not_granted"},
		"misspelt-filter":          {alice, "list", `{"from":"notices","were":[]}`, Invalid, "invalid_request"},
		"filter-without-operator":  {alice, "list", `{"from":"notices","where":[{"column":"id"}]}`, Invalid, "invalid_request"},
		"filter-operator-unknown":  {alice, "list", `{"from":"notices","where":[{"column":"id","like":"%"}]}`, Invalid, "invalid_request"},
		"filter-without-column":    {alice, "list", `{"from":"notices","where":[{"is":"D1"}]}`, Invalid, "invalid_request"},
		"where-no-array":           {alice, "list", `{"from":"notices","where":{"column":"id","is":"D1"}}`, Invalid, "invalid_request"},
		"decimal-text-compared":    {alice, "list", `{"from":"notices","where":[{"column":"price","at_most":9}]}`, Invalid, "invalid_request"},
		"decimal-text-sorted":      {alice, "list", `{"from":"notices","order":[{"column":"price"}]}`, Invalid, "invalid_request"},
		"minor-with-too-many":      {alice, "list", `{"from":"notices","where":[{"column":"fee","is":0.001}]}`, Invalid, "invalid_request"},
		"text-as-number":           {alice, "list", `{"from":"notices","where":[{"column":"pages","is":"3"}]}`, Invalid, "invalid_request"},
		"limit-over-max-rows":      {alice, "list", `{"from":"notices","limit":11}`, Invalid, "invalid_request"},
		"limit-zero":               {alice, "list", `{"from":"notices","limit":0}`, Invalid, "invalid_request"},
		"limit-fraction":           {alice, "list", `{"from":"notices","limit":1.5}`, Invalid, "invalid_request"},
		"no-columns":               {alice, "list", `{"from":"notices","columns":[]}`, Invalid, "invalid_request"},
		"no-words":                 {alice, "search", `{"from":"notices","words":" \t"}`, Invalid, "invalid_request"},
		"words-missing":            {alice, "search", `{"from":"notices"}`, Invalid, "invalid_request"},
		"too-many-words":           {alice, "search", `{"from":"notices","words":"` + strings.Repeat("a ", 21) + `"}`, Invalid, "invalid_request"},
		"key-no-string":            {alice, "get", `{"from":"notices","key":1}`, Invalid, "invalid_request"},
		"unknown-function":         {alice, "drop", `{"from":"notices"}`, Invalid, "unknown_function"},
	} {
		t.Run(name, func(t *testing.T) {
			a := call(t, tt.reach, tt.function, tt.request)
			if a.Status != tt.status || a.Reason != tt.reason {
				t.Errorf("status %d %q, want %d %q: %s", a.Status, a.Reason, tt.status, tt.reason, a.Body)
			}
			for _, leaked := range []string{`"s1`, `"s3`, `"u-`, `"row":`, `"rows":`} {
				if strings.Contains(string(a.Body), leaked) {
					t.Errorf("the answer holds %q: %s", leaked, a.Body)
				}
			}
		})
	}
	if a := call(t, only, "list", `{"from":"notices","columns":["id"]}`); string(a.Body) != `{"rows":[{"id":"D1"}],"more":false}` {
		t.Errorf("a list through an only gives %s", a.Body)
	}
}

// What SQLite calls equal and we do not: collations and affinities.
func TestEqualityIsByteForByte(t *testing.T) {
	db := openDB(t, `
CREATE TABLE folded (id TEXT NOT NULL COLLATE NOCASE, owner TEXT COLLATE NOCASE, n TEXT);
CREATE UNIQUE INDEX folded_id ON folded (id COLLATE BINARY);
INSERT INTO folded VALUES ('AB-1', 'u-alice', 'x'), ('CD-2', 'U-ALICE', 'y'), ('Ab-1', 'U-alice', 'z');
CREATE TABLE trimmed (id TEXT NOT NULL COLLATE RTRIM, owner TEXT COLLATE RTRIM, n TEXT);
CREATE UNIQUE INDEX trimmed_id ON trimmed (id COLLATE BINARY);
INSERT INTO trimmed VALUES ('AB-1', 'u-alice', 'x'), ('CD-2', 'u-alice  ', 'y');
CREATE TABLE numbered (id INTEGER PRIMARY KEY, owner INTEGER, n TEXT);
INSERT INTO numbered VALUES (7, 12, 'x'), (8, NULL, 'y');`)
	for name, tt := range map[string]struct {
		table, key, want string
		verdict          Verdict
	}{
		"exact":                   {"folded", "AB-1", "u-alice", Verdict{Found: true, Failed: -1}},
		"key-in-other-case":       {"folded", "ab-1", "u-alice", Verdict{Failed: -1}},
		"owner-in-other-case":     {"folded", "CD-2", "u-alice", Verdict{Found: true}},
		"exact-trimmed":           {"trimmed", "AB-1", "u-alice", Verdict{Found: true, Failed: -1}},
		"key-with-space":          {"trimmed", "AB-1 ", "u-alice", Verdict{Failed: -1}},
		"owner-with-space":        {"trimmed", "CD-2", "u-alice", Verdict{Found: true}},
		"exact-number":            {"numbered", "7", "12", Verdict{Found: true, Failed: -1}},
		"number-with-zero":        {"numbered", "07", "12", Verdict{Failed: -1}},
		"number-as-float":         {"numbered", "7.0", "12", Verdict{Failed: -1}},
		"number-with-space":       {"numbered", " 7", "12", Verdict{Failed: -1}},
		"owner-number-with-zero":  {"numbered", "7", "012", Verdict{Found: true}},
		"owner-null":              {"numbered", "8", "12", Verdict{Found: true}},
		"no-such-key-next-is-own": {"numbered", "6", "12", Verdict{Failed: -1}},
		"beyond-the-last-key":     {"folded", "ZZ-9", "u-alice", Verdict{Failed: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := openRecords(t, db, RecordsConfig{Name: "r", Table: tt.table, Key: "id", Scope: []string{"owner"}, Columns: []string{"n"}, MaxRows: 5, MaxBytes: 100})
			v, err := r.Check(t.Context(), tt.key, []string{tt.want})
			if err != nil {
				t.Fatal(err)
			}
			if v.Found != tt.verdict.Found || v.Within() != tt.verdict.Within() || v.Found && v.Failed != tt.verdict.Failed {
				t.Errorf("got %+v, want %+v", v, tt.verdict)
			}
			a := call(t, r.Reach([]string{tt.want}, nil), "get", `{"from":"r","key":"`+tt.key+`"}`)
			if (a.Status == OK) != tt.verdict.Within() {
				t.Errorf("get gives status %d, the gate %+v", a.Status, v)
			}
			// A list of one row must not be used up by rows that only SQL calls equal.
			for _, order := range []string{"false", "true"} {
				a := call(t, r.Reach([]string{tt.want}, &tt.key), "list", `{"from":"r","order":[{"column":"n","descending":`+order+`}],"limit":1}`)
				if found := strings.Contains(string(a.Body), `"n":`); found != tt.verdict.Within() || strings.Contains(string(a.Body), "true") {
					t.Errorf("list gives %s, the gate %+v", a.Body, v)
				}
			}
		})
	}
}

func TestZeroVerdictDenies(t *testing.T) {
	if (Verdict{}).Within() {
		t.Error("the zero verdict is within")
	}
	r := notices(t)
	if v, err := r.Check(t.Context(), "D1", nil); err == nil && v.Within() {
		t.Error("a check without the scope's values is within")
	}
}

func TestEmptyTableGivesOneRow(t *testing.T) {
	db := openDB(t, `CREATE TABLE none (id TEXT NOT NULL PRIMARY KEY, owner TEXT)`)
	r := openRecords(t, db, RecordsConfig{Name: "none", Table: "none", Key: "id", Scope: []string{"owner"}, Columns: []string{"id"}, MaxRows: 5, MaxBytes: 100})
	if v, err := r.Check(t.Context(), "x", []string{"u"}); err != nil || v.Found {
		t.Errorf("%+v %v", v, err)
	}
}

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

// FuzzRequest: no request makes the host functions panic, err or give what was
// not granted.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"from":"notices","key":"D1"}`, `{"from":"notices","columns":["id"],"where":[{"column":"fee","at_most":0.99}],"order":[{"column":"id","descending":true}],"limit":2}`,
		`{"from":"notices","words":"报名 %_\\ '","in":["content"]}`,
	} {
		f.Add("search", s)
		f.Add("get", s)
		f.Add("list", s)
	}
	alice := notices(f).Reach([]string{"u-alice"}, nil)
	f.Fuzz(func(t *testing.T, function, request string) {
		v, err := strictjson.Read([]byte(request), strictjson.Default(4096))
		if err != nil {
			return
		}
		a, err := alice.Call(t.Context(), function, v)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{`"s1"`, `"s3"`, `"u-bob"`, "志愿者名单"} {
			if a.Status == OK && strings.Contains(string(a.Body), secret) {
				t.Fatalf("%s got %s", request, a.Body)
			}
		}
	})
}

func BenchmarkRecords(b *testing.B) {
	var rows []string
	for i := range 5000 {
		rows = append(rows, fmt.Sprintf("('K%05d', 'u-%d', 'some words about row %d')", i, i%10, i))
	}
	db := openDB(b, `CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, owner TEXT, v TEXT); INSERT INTO t VALUES `+strings.Join(rows, ","))
	r := openRecords(b, db, RecordsConfig{Name: "t", Table: "t", Key: "id", Scope: []string{"owner"}, Columns: []string{"id", "v"}, MaxRows: 20, MaxBytes: 1 << 16})
	reach := r.Reach([]string{"u-3"}, nil)
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if v, err := r.Check(b.Context(), "K00003", []string{"u-3"}); err != nil || !v.Within() {
				b.Fatal(v, err)
			}
		}
	})
	for name, request := range map[string]string{"get": `{"from":"t","key":"K00003"}`, "search": `{"from":"t","words":"about 4993"}`} {
		v, err := strictjson.Read([]byte(request), strictjson.Default(100))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a, err := reach.Call(b.Context(), name, v); err != nil || a.Status != OK {
					b.Fatal(a, err)
				}
			}
		})
	}
}
