package capabilities

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/strictjson"
)

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
