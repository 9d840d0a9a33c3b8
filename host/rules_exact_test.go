package host

import (
	"database/sql"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/rules"
	"github.com/toolhost/toolhost/host/strictjson"
)

// sums are the facts of one table of money: as TEXT, as cents and as INTEGER.
type sums struct {
	db    *sql.DB
	facts map[string]*capabilities.SumFact
}

func openSums(t *testing.T) *sums {
	t.Helper()
	file := filepath.Join(t.TempDir(), "money.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE TABLE money (id INTEGER PRIMARY KEY, grp TEXT, txt TEXT, cents INTEGER, whole INTEGER)"); err != nil {
		t.Fatal(err)
	}
	opened, err := capabilities.OpenSQLite("money", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	records, faults := capabilities.OpenRecords(t.Context(), opened, capabilities.RecordsConfig{
		Name: "money", Table: "money", Key: "id", Columns: []string{"id", "grp", "txt", "cents", "whole"}, MaxRows: 10, MaxBytes: 1000,
		Types: map[string]capabilities.ColumnType{"txt": {Name: "decimal"}, "cents": {Name: "minor", Places: 2}, "whole": {Name: "decimal"}},
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	s := &sums{db: db, facts: map[string]*capabilities.SumFact{}}
	for _, column := range []string{"txt", "cents", "whole", ""} {
		if s.facts[column], err = records.SumFact(t.Context(), capabilities.SumConfig{Column: column, Where: []string{"grp"}}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// randomDecimal is a number of at most 30 digits as someone may write it.
func randomDecimal(r *rand.Rand) string {
	digits := make([]byte, 1+r.IntN(30))
	for i := range digits {
		digits[i] = byte('0' + r.IntN(10))
	}
	whole := strings.TrimLeft(string(digits[:r.IntN(len(digits)+1)]), "0")
	text := "0"
	if whole != "" {
		text = whole
	}
	if fraction := string(digits[len(digits)-r.IntN(len(digits)+1):]); fraction != "" && len(whole)+len(fraction) <= 30 {
		text += "." + fraction
	}
	if r.IntN(2) == 0 {
		text = "-" + text
	}
	return text
}

func rat(t *testing.T, text string) *big.Rat {
	t.Helper()
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return v
}

// fill puts up to n random rows into a group and gives their sums.
func (s *sums) fill(t *testing.T, r *rand.Rand, group string, n int) map[string]*big.Rat {
	t.Helper()
	want := map[string]*big.Rat{"txt": new(big.Rat), "cents": new(big.Rat), "whole": new(big.Rat), "": new(big.Rat)}
	for range r.IntN(n + 1) {
		text, cents, whole := randomDecimal(r), int64(r.Uint64()), int64(r.Uint64())>>r.IntN(60)
		if _, err := s.db.Exec("INSERT INTO money (grp, txt, cents, whole) VALUES (?, ?, ?, ?)", group, text, cents, whole); err != nil {
			t.Fatal(err)
		}
		want["txt"].Add(want["txt"], rat(t, text))
		want["cents"].Add(want["cents"], big.NewRat(cents, 100))
		want["whole"].Add(want["whole"], new(big.Rat).SetInt64(whole))
		want[""].Add(want[""], big.NewRat(1, 1))
	}
	return want
}

// Money that comes from a table, is added up and compared is exact at every
// step: as math/big has it, and never a float's.
func TestMoneyIsExact(t *testing.T) {
	const seed = 20261015
	s, r := openSums(t), rand.New(rand.NewPCG(seed, 4))
	env, err := rules.NewEnv([]rules.Field{{Name: "a", Type: rules.Type{Kind: rules.Number}}, {Name: "b", Type: rules.Type{Kind: rules.Number}}, {Name: "c", Type: rules.Type{Kind: rules.Number}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 150 {
		group := fmt.Sprint("g", i)
		want := s.fill(t, r, group, 12)
		in := rules.Input{}
		for name, column := range map[string]string{"a": "txt", "b": "cents", "c": "whole"} {
			sum, err := s.facts[column].Read(t.Context(), nil, []strictjson.Value{strictjson.Text(group)}, "")
			if err != nil {
				t.Fatal(err)
			}
			if rat(t, sum.String()).Cmp(want[column]) != 0 {
				t.Errorf("%s of %s: %s, want %s", column, group, sum, want[column].RatString())
			}
			in[name] = rules.NumberValue(sum)
		}
		count, err := s.facts[""].Read(t.Context(), nil, []strictjson.Value{strictjson.Text(group)}, "")
		if err != nil || rat(t, count.String()).Cmp(want[""]) != 0 {
			t.Errorf("count of %s: %s %v, want %s", group, count, err, want[""].RatString())
		}
		compareExactly(t, r, env, in, want["txt"], want["cents"], want["whole"])
	}
}

// compareExactly compares by rules, near the values and at them.
func compareExactly(t *testing.T, r *rand.Rand, env *rules.Env, in rules.Input, a, b, c *big.Rat) {
	t.Helper()
	near, mul := randomDecimal(r), randomDecimal(r)
	one := "0." + strings.Repeat("0", 29) + "1"
	left := new(big.Rat).Add(new(big.Rat).Mul(a, rat(t, mul)), new(big.Rat).Sub(b, c))
	for _, d := range []string{near, "0", one, "-" + one} {
		for sign, holds := range map[string]func(int) bool{
			"<": func(c int) bool { return c < 0 }, "<=": func(c int) bool { return c <= 0 }, "==": func(c int) bool { return c == 0 },
			"!=": func(c int) bool { return c != 0 }, ">=": func(c int) bool { return c >= 0 }, ">": func(c int) bool { return c > 0 },
		} {
			source := fmt.Sprintf("a * (%s) + (b - c) %s a * (%s) + b - c + (%s)", point(mul), sign, point(mul), point(d))
			rule, faults := env.Compile(source)
			if faults != nil {
				t.Fatal(source, faults)
			}
			got, err := rule.Holds(in)
			if right := new(big.Rat).Add(left, rat(t, d)); err != nil || got != holds(left.Cmp(right)) {
				t.Errorf("%s: %t %v", source, got, err)
			}
		}
	}
}

// point ends a whole number of many digits as a rule must write it.
func point(text string) string {
	if strings.Contains(text, ".") {
		return text
	}
	return text + ".0"
}

// everyType has a column of each type; the row that is asked for is named by an
// argument.
const everyType = `[capabilities.rows]
kind = "records"
database = "desk"
table = "everything"
key = "id"
columns = ["id", "t", "i", "d", "di", "m", "m0", "day", "day2", "b", "b2"]
types = { d = "decimal", di = "decimal", m = "minor(2)", m0 = "minor(0)", day = "date", day2 = "date", b = "boolean", b2 = "boolean" }
scope = "everyone"
[tools.pay.facts]
row = { from = "rows", key = "{args.order_id}" }
`

const everyTable = `CREATE TABLE everything (id TEXT NOT NULL PRIMARY KEY, t TEXT, i INTEGER, d TEXT, di INTEGER, m INTEGER, m0 INTEGER, day TEXT, day2 DATE, b INTEGER, b2 BOOLEAN);
	INSERT INTO everything VALUES ('full', 'é"\' || char(10), 9223372036854775807, '-123456789012345678901234567890.10', 7, -5, 12, '2026-02-28', '2026-10-15', 1, 0);
	INSERT INTO everything (id) VALUES ('null');`

// Each column type means in a rule what is stored, digit by digit; NULL is no
// value, and what a column cannot hold is none either.
func TestRowFactOfEveryType(t *testing.T) {
	columns := map[string]struct{ is, bad string }{
		"t": {`== "é\"\\\n"`, "x'00'"}, "i": {"== 9223372036854775807", "1.5"}, "d": {"== -123456789012345678901234567890.100", "'1e5'"},
		"di": {"== 7", "7.5"}, "m": {"== -0.05", "'x'"}, "m0": {"== 12", "0.5"}, "day": {`== date("2026-02-28")`, "'2026-02-30'"},
		"day2": {`== date("2026-10-15")`, "20261015"}, "b": {"== true", "2"}, "b2": {"== false", "'yes'"},
	}
	for column, c := range columns {
		t.Run(column, func(t *testing.T) {
			d := newPayDesk(t, effectWrite, everyType+payRule("r", "facts.row."+column+" "+c.is, ""))
			d.sql(t, everyTable)
			d.sql(t, "INSERT INTO everything (id, "+column+") VALUES ('bad', "+c.bad+")")
			h := d.open(t)
			call := func(id string) Outcome {
				return h.Call(t.Context(), staff(), ask("pay", `{"order_id":"`+id+`","amount":5}`))
			}
			if o := call("full"); !passesRules(h, o, 0) {
				t.Errorf("as stored: %s %s", o.Line(), o.Reason)
			}
			if o := call("null"); o.Code != codeWriteRefused || !strings.Contains(o.Reason, "facts.row."+column+" has no value") {
				t.Errorf("NULL: %s %s", o.Line(), o.Reason)
			}
			if o := call("bad"); o.Gate != GateRules || o.Code != codeUnavailable {
				t.Errorf("%s: %s %s", c.bad, o.Line(), o.Reason)
			}
		})
	}
}
