package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// The embedded database of the demo: a help desk of two shops. Money is TEXT,
// so that 216.00 stays 216.00.
const deskSchema = `
CREATE TABLE orders (
	order_id     TEXT NOT NULL PRIMARY KEY,
	tenant       TEXT NOT NULL,
	customer_id  TEXT NOT NULL,
	status       TEXT NOT NULL,
	ordered_on   TEXT,
	shipped_on   TEXT,
	delivered_on TEXT,
	shipping_fee TEXT NOT NULL,
	total        TEXT NOT NULL,
	currency     TEXT NOT NULL,
	items        TEXT NOT NULL CHECK (json_valid(items))
) STRICT;
CREATE INDEX orders_by_customer ON orders (tenant, customer_id);
CREATE TABLE people (
	subject TEXT NOT NULL,
	tenant  TEXT NOT NULL,
	role    TEXT NOT NULL,
	PRIMARY KEY (subject, tenant, role)
) STRICT;
INSERT INTO people VALUES ('usr-sam', 'larkfield', 'staff'), ('usr-grace', 'larkfield', 'owner');
`

// fillDesk makes the database in an empty or missing file: the rows that the
// cases name, and some that they do not, so that no table holds one row alone.
func fillDesk(ctx context.Context, file string, f *caseFile) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, deskSchema); err != nil {
		return err
	}
	for _, row := range f.Records["orders"] {
		if err := insertOrder(ctx, db, orderRow(row)); err != nil {
			return err
		}
	}
	for i := range 40 {
		err := insertOrder(ctx, db, map[string]any{
			"order_id": fmt.Sprintf("%s-%06d", []string{"LK", "BB"}[i%2], 710000+i*37), "tenant": []string{"larkfield", "bramble"}[i%2],
			"customer_id": fmt.Sprintf("C-%05d", 50000+i/4), "total": fmt.Sprintf("%d.%02d", 20+i, i),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// orderRow takes the columns that a case gives.
func orderRow(row map[string]json.RawMessage) map[string]any {
	out := map[string]any{}
	for name, raw := range row {
		switch name {
		case "items": // a text or a list: a JSON column takes both
			out[name] = string(raw)
		case "shipping_fee", "total":
			out[name] = money(string(raw))
		default:
			var s *string
			if json.Unmarshal(raw, &s) == nil && s != nil {
				out[name] = *s
			} else {
				out[name] = nil
			}
		}
	}
	return out
}

// money writes an amount with two places; 899.0 and 899.00 are one amount.
func money(s string) string {
	whole, fraction, _ := strings.Cut(s, ".")
	return whole + "." + (fraction + "00")[:max(2, len(fraction))]
}

// insertOrder fills in what a row leaves open.
func insertOrder(ctx context.Context, db *sql.DB, row map[string]any) error {
	standard := map[string]any{
		"tenant": "larkfield", "customer_id": "C-50000", "status": "delivered", "ordered_on": "2026-09-12", "shipped_on": "2026-09-14",
		"delivered_on": nil, "shipping_fee": "9.95", "total": "49.00", "currency": "CAD",
		"items": `[{"product":"watering can","quantity":1,"unit_price":39.05}]`,
	}
	columns := []string{"order_id", "tenant", "customer_id", "status", "ordered_on", "shipped_on", "delivered_on", "shipping_fee", "total", "currency", "items"}
	var values []any
	for _, name := range columns {
		v, ok := row[name]
		if !ok {
			v = standard[name]
		}
		values = append(values, v)
	}
	_, err := db.ExecContext(ctx, "INSERT INTO orders ("+strings.Join(columns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")", values...)
	return err
}
