package capabilities

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

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
		"words-that-cost-together": {alice, "search", `{"from":"notices","words":"` + strings.Repeat(strings.Repeat("a", 90)+" b", 3) + `"}`, Invalid, "invalid_request"},
		"date-that-is-no-day":      {alice, "list", `{"from":"notices","where":[{"column":"published_on","at_least":"9999"}]}`, Invalid, "invalid_request"},
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
