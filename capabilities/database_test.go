package capabilities

import (
	"context"
	"testing"
)

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
