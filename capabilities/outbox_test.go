package capabilities

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/strictjson"
)

const refundSchema = "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT, note TEXT);"

var refundColumns = []string{"id", "amount", "note"}

// openOutbox opens the outbox "refunds" over a schema.
func openOutbox(t testing.TB, schema string) *Outbox {
	t.Helper()
	return openOutboxOf(t, openDB(t, schema), OutboxConfig{Name: "refunds", Table: "refunds", Key: "id", Columns: refundColumns, Types: map[string]ColumnType{"amount": {Name: "decimal"}}})
}

func openOutboxOf(t testing.TB, db *Database, c OutboxConfig) *Outbox {
	t.Helper()
	o, faults := OpenOutbox(t.Context(), db, c)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// anotherOf is another process's connection to the outbox's database.
func anotherOf(t testing.TB, o *Outbox) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "#", "%23", " ", "%20").Replace(o.db.file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func run(t testing.TB, conn *sql.Conn, statement string) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(statement, err)
	}
}

// wantTable holds the table against the rows that should be there.
func wantTable(t testing.TB, o *Outbox, want ...string) {
	t.Helper()
	rows, err := o.db.db.QueryContext(t.Context(), "SELECT coalesce(id, 'NULL') || '|' || coalesce(amount, 'NULL') || '|' || coalesce(note, 'NULL') FROM refunds ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		got = append(got, one)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table has %q, want %q", got, want)
	}
}

func yes(context.Context) error { return nil }

func parsed(t testing.TB, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Read([]byte(text), strictjson.Default(len(text)))
	if err != nil {
		t.Fatal(text, err)
	}
	return v
}

// A value is stored exactly, or not at all, and comes back as what it was.
func TestStored(t *testing.T) {
	db := openDB(t, "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, text TEXT, decimal TEXT, integer INTEGER, cents INTEGER, date DATE, json TEXT, boolean INTEGER)")
	o := openOutboxOf(t, db, OutboxConfig{
		Name: "t", Table: "t", Key: "id", Columns: []string{"id", "text", "decimal", "integer", "cents", "date", "json", "boolean"},
		Types: map[string]ColumnType{"decimal": {Name: "decimal"}, "cents": {Name: "minor", Places: 2}, "date": {Name: "date"}, "json": {Name: "json"}, "boolean": {Name: "boolean"}},
	})
	const no = "no"
	for _, tt := range []struct{ column, json, want, comment string }{
		{"text", `"a"`, "a", ""},
		{"text", `""`, "", ""},
		{"text", `"\u0000\u001b[2J\u202e"`, "\x00\x1b[2J\u202e", "it is data; who shows it escapes it"},
		{"text", `"a'); DROP TABLE t; --"`, "a'); DROP TABLE t; --", ""},
		{"text", `1.50`, "1.50", "a number keeps its digits"},
		{"text", `true`, no, "no scalar text"},
		{"text", `{}`, no, ""},
		{"text", `[]`, no, ""},
		{"decimal", `5.00`, "5.00", "places are kept"},
		{"decimal", `"5.00"`, "5.00", ""},
		{"decimal", `0.1`, "0.1", ""},
		{"decimal", `-0`, "-0", ""},
		{"decimal", `9007199254740993.01`, "9007199254740993.01", "no float"},
		{"decimal", `5e0`, no, "an exponent is no sum's"},
		{"decimal", `5E2`, no, ""},
		{"decimal", `"05"`, no, ""},
		{"decimal", `"+5"`, no, ""},
		{"decimal", `" 5"`, no, ""},
		{"decimal", `"0x5"`, no, ""},
		{"decimal", `"5,00"`, no, ""},
		{"decimal", `"NaN"`, no, ""},
		{"decimal", `"Infinity"`, no, ""},
		{"decimal", `""`, no, ""},
		{"decimal", `"٥"`, no, "no other digits"},
		{"integer", `9223372036854775807`, "9223372036854775807", ""},
		{"integer", `-9223372036854775808`, "-9223372036854775808", ""},
		{"integer", `9223372036854775808`, no, "one more"},
		{"integer", `5.0`, no, "not by rounding"},
		{"integer", `5.5`, no, ""},
		{"integer", `"5"`, "5", ""},
		{"integer", `"5abc"`, no, ""},
		{"cents", `5`, "500", ""},
		{"cents", `5.0`, "500", ""},
		{"cents", `5.05`, "505", ""},
		{"cents", `-0.01`, "-1", ""},
		{"cents", `5.050`, no, "more places than there are"},
		{"cents", `5.051`, no, ""},
		{"cents", `92233720368547758.07`, "9223372036854775807", ""},
		{"cents", `92233720368547758.08`, no, ""},
		{"date", `"2026-10-01"`, "2026-10-01", ""},
		{"date", `"2026-02-30"`, no, "no day"},
		{"date", `"2026-1-1"`, no, ""},
		{"date", `"20261001"`, no, "DATE is NUMERIC, and would make a number of it"},
		{"date", `20261001`, no, ""},
		{"json", `{"a":1.50,"b":[null]}`, `{"a":1.50,"b":[null]}`, ""},
		{"json", `"x"`, `"x"`, ""},
		{"json", `true`, `true`, ""},
		{"boolean", `true`, "1", ""},
		{"boolean", `false`, "0", ""},
		{"boolean", `1`, no, ""},
		{"boolean", `"true"`, no, ""},
		{"text", `null`, "NULL", ""},
		{"decimal", `null`, "NULL", ""},
		{"json", `null`, "NULL", ""},
		{"nothing", `"a"`, no, "no column of the row"},
		{"id", `"a"`, "a", ""},
		{"decimal", strings.Repeat("9", 64), strings.Repeat("9", 64), "as many digits as there may be"},
		{"text", `"` + strings.Repeat("x", 1<<16) + `"`, strings.Repeat("x", 1<<16), ""},
	} {
		value := parsed(t, tt.json)
		stored, err := o.Stored(tt.column, value)
		got := fmt.Sprint(stored)
		switch {
		case err != nil:
			got = no
			if strings.Contains(err.Error(), strings.Trim(tt.json, `"`)) && len(tt.json) > 4 {
				t.Errorf("%s %s: the error quotes it: %v", tt.column, tt.json, err)
			}
		case stored == nil:
			got = "NULL"
		}
		if got != tt.want {
			t.Errorf("%s %.60s: %.60q, %v; want %.60q (%s)", tt.column, tt.json, got, err, tt.want, tt.comment)
		}
		if err != nil || tt.column == "id" {
			continue
		}
		row := make([]any, len(o.c.Columns))
		row[0] = fmt.Sprintf("%.40s %s", tt.json, tt.column)
		row[slices.Index(o.c.Columns, tt.column)] = stored
		if err := o.Write(t.Context(), row[0].(string), row, yes); err != nil {
			t.Errorf("%s %.60s: %v", tt.column, tt.json, err)
			continue
		}
		back, err := o.Read(t.Context(), row[0].(string))
		is, _ := back.Get(tt.column)
		again, _ := o.Stored(tt.column, is)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(stored) {
			t.Errorf("%s %.60s came back as %.60q, %v", tt.column, tt.json, again, err)
		}
	}
	if v, err := o.Stored("text", strictjson.Value{}); v != nil || err != nil {
		t.Errorf("no value is %v, %v", v, err)
	}
}

// One id has one row, whatever it is asked for, and however many ask.
func TestOneRowForAnID(t *testing.T) {
	o := openOutbox(t, refundSchema)
	if err := o.Write(t.Context(), "A", []any{"A", "5.00", nil}, yes); err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{{"A", "5.00", nil}, {"A", "9.00", "again"}, {"B", "9.00", nil}} {
		if err := o.Write(t.Context(), "A", row, yes); !errors.Is(err, ErrRowThere) {
			t.Errorf("a second row: %v", err)
		}
	}
	// The id that is looked for, and the id of the row, are two.
	if err := o.Write(t.Context(), "B", []any{"A", "9.00", nil}, yes); err == nil {
		t.Error("a row of another id was written")
	}
	var wait sync.WaitGroup
	errs := make([]error, 32)
	for i := range errs {
		wait.Go(func() { errs[i] = o.Write(context.Background(), "C", []any{"C", fmt.Sprint(i), nil}, yes) })
	}
	wait.Wait()
	written := 0
	for _, err := range errs {
		if err == nil {
			written++
		} else if !errors.Is(err, ErrRowThere) {
			t.Error(err)
		}
	}
	if written != 1 {
		t.Errorf("%d of many were written", written)
	}
	// Keys are compared byte for byte.
	for _, id := range []string{"a", "A ", "A\x00", "Á"} {
		if there, err := o.Has(t.Context(), id); there || err != nil {
			t.Errorf("%q is there: %v", id, err)
		}
		if v, err := o.Read(t.Context(), id); v.Kind() != strictjson.Nothing || err != nil {
			t.Errorf("%q is read: %v", id, err)
		}
	}
}

// What a gate asks within a Write is read in its transaction: what others write
// meanwhile waits, and what it says no to leaves nothing.
func TestGateAsksInTheTransaction(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			o := openOutbox(t, "PRAGMA journal_mode = "+mode+";"+refundSchema+"INSERT INTO refunds VALUES ('A', '1.00', NULL)")
			count, err := o.db.Prepare(t.Context(), "SELECT count(*) FROM refunds")
			if err != nil {
				t.Fatal(err)
			}
			ask := func(ctx context.Context) (n int) {
				if err := count.Row(ctx, nil, []any{&n}); err != nil {
					t.Error(err)
				}
				return n
			}
			second := anotherOf(t, o)
			run(t, second, "PRAGMA busy_timeout = 0")
			err = o.Write(t.Context(), "B", []any{"B", "2.00", nil}, func(ctx context.Context) error {
				if _, err := second.ExecContext(t.Context(), "INSERT INTO refunds VALUES ('X', '9.00', NULL)"); !isBusy(err) {
					t.Errorf("another writer got between: %v", err)
				}
				if n := ask(ctx); n != 1 {
					t.Errorf("the gate sees %d rows", n)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			no := errors.New("no")
			var within int
			if err := o.Write(t.Context(), "C", []any{"C", "3.00", nil}, func(ctx context.Context) error {
				within = ask(ctx)
				return no
			}); !errors.Is(err, no) || within != 2 {
				t.Errorf("%v, %d rows within", err, within)
			}
			run(t, second, "INSERT INTO refunds VALUES ('D', '4.00', NULL)") // nothing is locked any more
			wantTable(t, o, "A|1.00|NULL", "B|2.00|NULL", "D|4.00|NULL")
		})
	}
}

// A gate that panics leaves no transaction behind.
func TestPanicInTheTransaction(t *testing.T) {
	o := openOutbox(t, refundSchema)
	func() {
		defer func() { _ = recover() }()
		_ = o.Write(t.Context(), "A", []any{"A", "1.00", nil}, func(context.Context) error { panic("a gate") })
	}()
	if err := o.Write(t.Context(), "B", []any{"B", "2.00", nil}, yes); err != nil {
		t.Errorf("after a panic: %v", err)
	}
	wantTable(t, o, "B|2.00|NULL")
}

// Who goes away while a row is written cuts nothing in the middle.
func TestCallerGoesAway(t *testing.T) {
	o := openOutbox(t, refundSchema)
	ctx, cancel := context.WithCancel(t.Context())
	if err := o.Write(ctx, "A", []any{"A", "1.00", nil}, func(context.Context) error { cancel(); return nil }); err != nil {
		t.Error(err)
	}
	wantTable(t, o, "A|1.00|NULL")
}

// Readers hold a lock while a row is committed. In a rollback journal they hold
// it up for as long as SQLite waits, and then nothing is written; in a WAL never.
func TestReadersDuringCommit(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			o := openOutbox(t, "PRAGMA journal_mode = "+mode+";"+refundSchema+"INSERT INTO refunds VALUES ('A', '1.00', NULL)")
			reader := anotherOf(t, o)
			run(t, reader, "BEGIN")
			var n int
			if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM refunds").Scan(&n); err != nil {
				t.Fatal(err)
			}
			hurry(t, o) // what SQLite waits otherwise are five seconds
			err := o.Write(t.Context(), "B", []any{"B", "2.00", nil}, yes)
			if mode == "WAL" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || errors.Is(err, ErrUnknownEnd) || !strings.Contains(err.Error(), "cannot be written") {
				t.Errorf("held up by a reader: %v", err)
			}
			run(t, reader, "COMMIT")
			wantTable(t, o, "A|1.00|NULL")
			if err := o.Write(t.Context(), "B", []any{"B", "2.00", nil}, yes); err != nil {
				t.Errorf("once it let go: %v", err)
			}
			wantTable(t, o, "A|1.00|NULL", "B|2.00|NULL")
		})
	}
}

// hurry lets the writing connection wait for no lock.
func hurry(t testing.TB, o *Outbox) {
	t.Helper()
	conn, err := o.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, conn, "PRAGMA busy_timeout = 10")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

// Another process that writes holds us up, and then nothing is written.
func TestAnotherWriter(t *testing.T) {
	o := openOutbox(t, refundSchema)
	second := anotherOf(t, o)
	run(t, second, "BEGIN IMMEDIATE")
	hurry(t, o)
	asked := false
	err := o.Write(t.Context(), "A", []any{"A", "1.00", nil}, func(context.Context) error { asked = true; return nil })
	if err == nil || errors.Is(err, ErrUnknownEnd) || asked {
		t.Errorf("%v, asked %v", err, asked)
	}
	if err := o.Settle(t.Context(), "A", func(bool) error { asked = true; return nil }); err == nil || asked {
		t.Error("settled while somebody writes: ", err)
	}
	run(t, second, "INSERT INTO refunds VALUES ('A', '7.00', 'theirs')")
	run(t, second, "COMMIT")
	if err := o.Write(t.Context(), "A", []any{"A", "1.00", nil}, yes); !errors.Is(err, ErrRowThere) {
		t.Errorf("what they wrote is there: %v", err)
	}
	wantTable(t, o, "A|7.00|theirs")
}

// Settle waits for a Write that is held up, and sees what it did.
func TestSettleAgainstAHeldUpWrite(t *testing.T) {
	db := openDB(t, refundSchema)
	c := OutboxConfig{Name: "refunds", Table: "refunds", Key: "id", Columns: refundColumns, Types: map[string]ColumnType{"amount": {Name: "decimal"}}}
	writes, settles := openOutboxOf(t, db, c), openOutboxOf(t, db, c)
	in, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- writes.Write(context.Background(), "A", []any{"A", "1.00", nil}, func(context.Context) error {
			close(in)
			<-goOn
			return nil
		})
	}()
	<-in
	settled := make(chan bool, 1)
	go func() {
		if err := settles.Settle(context.Background(), "A", func(there bool) error { settled <- there; return nil }); err != nil {
			t.Error(err)
			settled <- false
		}
	}()
	select {
	case <-settled:
		t.Error("settled while somebody writes")
	case <-time.After(20 * time.Millisecond):
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if there := <-settled; !there {
		t.Error("settled without the row that was written")
	}
	// And the other way round: what was settled is found by who writes after it.
	gone := errors.New("gone")
	over := false
	if err := settles.Settle(t.Context(), "B", func(there bool) error { over = !there; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := writes.Write(t.Context(), "B", []any{"B", "1.00", nil}, func(context.Context) error {
		if over {
			return gone
		}
		return nil
	}); !errors.Is(err, gone) {
		t.Error(err)
	}
	if err := settles.Settle(t.Context(), "B", func(bool) error { return gone }); !errors.Is(err, gone) {
		t.Error("what decides is not heard: ", err)
	}
	wantTable(t, writes, "A|1.00|NULL")
}

// What the database refuses is not written, and nothing of it stays.
func TestConstraints(t *testing.T) {
	for name, schema := range map[string]string{
		"check":          "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT CHECK (amount <> '5.00'), note TEXT)",
		"not-null":       "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT, note TEXT NOT NULL)",
		"unique":         "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT UNIQUE, note TEXT); INSERT INTO refunds VALUES ('Z', '5.00', NULL)",
		"foreign-key":    "CREATE TABLE orders (amount TEXT PRIMARY KEY); CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT REFERENCES orders, note TEXT)",
		"raise":          refundSchema + "CREATE TRIGGER no BEFORE INSERT ON refunds BEGIN SELECT raise(ABORT, 'no'); END",
		"raise-fail":     refundSchema + "CREATE TABLE seen (id TEXT); CREATE TRIGGER no AFTER INSERT ON refunds BEGIN INSERT INTO seen VALUES (NEW.id); SELECT raise(FAIL, 'no'); END",
		"raise-rollback": refundSchema + "CREATE TRIGGER no AFTER INSERT ON refunds BEGIN SELECT raise(ROLLBACK, 'no'); END",
		"missing-column": refundSchema + "ALTER TABLE refunds ADD COLUMN must TEXT NOT NULL DEFAULT (NULL)",
	} {
		t.Run(name, func(t *testing.T) {
			o := openOutbox(t, schema)
			err := o.Write(t.Context(), "A", []any{"A", "5.00", nil}, yes)
			if err == nil || errors.Is(err, ErrUnknownEnd) {
				t.Errorf("it was written: %v", err)
			}
			if there, err := o.Has(t.Context(), "A"); there || err != nil {
				t.Errorf("the row is there: %v", err)
			}
			run(t, anotherOf(t, o), "CREATE TABLE unlocked (x)")
		})
	}
}

// A database that would make something else of a row than what was approved, or
// of other rows, writes nothing.
func TestTableThatBendsTheRow(t *testing.T) {
	const before = "INSERT INTO refunds VALUES ('Z', '5.00', 'earlier');"
	for name, schema := range map[string]string{
		"ignores-the-insert":      refundSchema + before + "CREATE TRIGGER bends BEFORE INSERT ON refunds BEGIN SELECT raise(IGNORE); END",
		"changes-it-afterwards":   refundSchema + before + "CREATE TRIGGER bends AFTER INSERT ON refunds BEGIN UPDATE refunds SET amount = '5000.00' WHERE id = NEW.id; END",
		"changes-it-at-an-update": refundSchema + before + "CREATE TRIGGER bends AFTER INSERT ON refunds BEGIN UPDATE refunds SET note = 'x' WHERE id = NEW.id; END",
		"takes-it-out-again":      refundSchema + before + "CREATE TRIGGER bends AFTER INSERT ON refunds BEGIN DELETE FROM refunds WHERE id = NEW.id; END",
		"gives-it-another-id":     refundSchema + before + "CREATE TRIGGER bends AFTER INSERT ON refunds BEGIN UPDATE refunds SET id = 'Y' WHERE id = NEW.id; END",
		"ignores-a-conflict":      "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT UNIQUE ON CONFLICT IGNORE, note TEXT);" + before,
		"replaces-an-earlier-row": "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT UNIQUE ON CONFLICT REPLACE, note TEXT);" + before,
		"replaces-a-null":         "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT, note TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'x');" + before,
		"numbers-it":              "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount INTEGER, note TEXT);" + before,
		"compares-without-a-case": "CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY COLLATE BINARY, amount TEXT, note TEXT COLLATE NOCASE);" + before + "CREATE TRIGGER bends AFTER INSERT ON refunds BEGIN UPDATE refunds SET amount = '05.00' WHERE id = NEW.id; END",
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t, schema)
			o, faults := OpenOutbox(t.Context(), db, OutboxConfig{Name: "refunds", Table: "refunds", Key: "id", Columns: refundColumns, Types: map[string]ColumnType{"amount": {Name: "decimal"}}})
			if len(faults) > 0 {
				t.Log("does not load: ", faults)
				return
			}
			defer o.Close()
			err := o.Write(t.Context(), "A", []any{"A", "5.00", nil}, yes)
			if err == nil || errors.Is(err, ErrUnknownEnd) {
				t.Errorf("it was written: %v", err)
			}
			rows := []string{"Z|5.00|earlier"}
			if strings.Contains(schema, "amount INTEGER") {
				rows = []string{"Z|5|earlier"}
			}
			wantTable(t, o, rows...)
		})
	}
}

// Other tables may note what was written: that bends nothing of it.
func TestTableThatNotesTheRow(t *testing.T) {
	o := openOutbox(t, refundSchema+"CREATE TABLE seen (id TEXT); CREATE TRIGGER notes AFTER INSERT ON refunds BEGIN INSERT INTO seen VALUES (NEW.id); END")
	if err := o.Write(t.Context(), "A", []any{"A", "5.00", nil}, yes); err != nil {
		t.Fatal(err)
	}
	wantTable(t, o, "A|5.00|NULL")
}

// A table that could hold two rows of one approval, or a row that nobody can
// write, does not load.
func TestTablesThatDoNotLoad(t *testing.T) {
	config := func(change func(*OutboxConfig)) OutboxConfig {
		c := OutboxConfig{Name: "refunds", Table: "refunds", Key: "id", Columns: refundColumns, Types: map[string]ColumnType{"amount": {Name: "decimal"}}}
		if change != nil {
			change(&c)
		}
		return c
	}
	for name, tt := range map[string]struct {
		schema string
		change func(*OutboxConfig)
		want   string
	}{
		"key-not-unique":         {"CREATE TABLE refunds (id TEXT NOT NULL, amount TEXT, note TEXT)", nil, "must be declared TEXT, unique"},
		"key-null":               {"CREATE TABLE refunds (id TEXT PRIMARY KEY, amount TEXT, note TEXT)", nil, "NOT NULL"},
		"key-without-case":       {"CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY COLLATE NOCASE, amount TEXT, note TEXT)", nil, "byte for byte"},
		"key-unique-in-part":     {"CREATE TABLE refunds (id TEXT NOT NULL, amount TEXT, note TEXT); CREATE UNIQUE INDEX one ON refunds (id) WHERE amount IS NULL", nil, "unique"},
		"key-unique-with-more":   {"CREATE TABLE refunds (id TEXT NOT NULL, amount TEXT, note TEXT, PRIMARY KEY (id, amount))", nil, "unique"},
		"key-unique-of-a-text":   {"CREATE TABLE refunds (id TEXT NOT NULL, amount TEXT, note TEXT); CREATE UNIQUE INDEX one ON refunds (lower(id))", nil, "unique"},
		"key-an-integer":         {"CREATE TABLE refunds (id INTEGER PRIMARY KEY, amount TEXT, note TEXT)", nil, "TEXT"},
		"a-view":                 {"CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, amount TEXT, note TEXT); CREATE VIEW refunds AS SELECT * FROM t; CREATE TRIGGER bends INSTEAD OF INSERT ON refunds BEGIN INSERT INTO t VALUES (NEW.id, '5000', NULL); END", nil, "unique"},
		"no-table":               {"CREATE TABLE other (id TEXT)", nil, `database "desk" has no table "refunds"`},
		"no-column":              {"CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT)", nil, `"note"`},
		"column-of-another-case": {"CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT, Note TEXT)", nil, `"note"`},
		"a-float":                {"CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount REAL, note TEXT)", nil, `"amount"`},
		"a-decimal-as-integer":   {"CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount INTEGER, note TEXT)", nil, `"amount"`},
		"a-generated-column":     {"CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT, note TEXT AS (amount || '0'))", nil, `"note"`},
		"a-stored-one":           {"CREATE TABLE refunds (id TEXT NOT NULL PRIMARY KEY, amount TEXT, note TEXT AS (amount || '0') STORED)", nil, `"note"`},
	} {
		t.Run(name, func(t *testing.T) {
			o, faults := OpenOutbox(t.Context(), openDB(t, tt.schema), config(tt.change))
			if o != nil || len(faults) == 0 {
				t.Fatalf("it loads")
			}
			for _, f := range faults {
				if strings.Contains(f.Text, tt.want) {
					return
				}
			}
			t.Errorf("%v; want %q", faults, tt.want)
		})
	}
}
