package decimal

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func parse(t testing.TB, text string) Number {
	t.Helper()
	n, err := Parse(text)
	if err != nil {
		t.Fatalf("%q %v", text, err)
	}
	return n
}

// random gives a decimal of up to 30 digits, as a text and as a reference.
func random(r *rand.Rand) (string, *big.Rat) {
	digits := make([]byte, 1+r.IntN(30))
	for i := range digits {
		digits[i] = byte('0' + r.IntN(10))
	}
	text := string(digits)
	if point := r.IntN(len(text)); point > 0 {
		text = text[:point] + "." + text[point:]
	}
	if r.IntN(2) == 0 {
		text = "-" + text
	}
	ref, _ := new(big.Rat).SetString(text)
	return text, ref
}

// Sums, differences, products and comparisons are those of math/big; quotients
// too, where they are given at all.
func TestAgreesWithBig(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 20_000 {
		a, x := random(r)
		b, y := random(r)
		n, m := parse(t, a), parse(t, b)
		if n.Cmp(m) != x.Cmp(y) {
			t.Fatalf("%s compared with %s is %d", a, b, n.Cmp(m))
		}
		for _, op := range []struct {
			sign string
			ours func(Number) (Number, error)
			big  func(x, y *big.Rat) *big.Rat
		}{
			{"+", n.Add, new(big.Rat).Add}, {"-", n.Sub, new(big.Rat).Sub}, {"*", n.Mul, new(big.Rat).Mul},
		} {
			got, err := op.ours(m)
			if err != nil {
				t.Fatalf("%s %s %s: %v", a, op.sign, b, err)
			}
			if back, ok := new(big.Rat).SetString(got.String()); !ok || back.Cmp(op.big(x, y)) != 0 {
				t.Fatalf("%s %s %s is %s", a, op.sign, b, got)
			}
		}
		quotient, err := n.Div(m)
		switch {
		case y.Sign() == 0:
			if err == nil {
				t.Fatalf("%s / 0 is %s", a, quotient)
			}
		case err == nil:
			if back, _ := new(big.Rat).SetString(quotient.String()); back.Cmp(new(big.Rat).Quo(x, y)) != 0 {
				t.Fatalf("%s / %s is %s", a, b, quotient)
			}
		case !errors.Is(err, ErrInexact):
			t.Fatalf("%s / %s: %v", a, b, err)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"216.00": "216.00", "-0.05": "-0.05", "1e3": "1000", "1E-2": "0.01", "0": "0", "-0": "-0",
		"9007199254740993": "9007199254740993", strings.Repeat("9", 200): strings.Repeat("9", 200),
	} {
		if n, err := Parse(text); err != nil || n.String() != want {
			t.Errorf("%s is %s, %v", text, n, err)
		}
	}
	for _, text := range []string{
		"", " 1", "1 ", "+1", ".5", "5.", "1e", "0x1F", "1_000", "NaN", "Infinity", "-Infinity", "unlimited", "1e1000", "1e-10000000", "1e201", "1e-201",
		"１", "1,5", strings.Repeat("9", 201), "0." + strings.Repeat("0", 300) + "1",
	} {
		if n, err := Parse(text); err == nil {
			t.Errorf("%q is %s", text, n)
		}
	}
}

func TestEdges(t *testing.T) {
	for _, tt := range []struct{ a, op, b, want string }{
		{"216.00", "-", "9.95", "206.05"},
		{"0.1", "+", "0.2", "0.3"},
		{"1.10", "*", "3", "3.30"},
		{"10", "/", "4", "2.5"},
		{"100", "/", "10", "10"},
		{"10", "/", "3", ErrInexact.Error()},
		{"1", "/", "0", "division by zero"},
		{"0", "/", "0", "division by zero"},
		{"7", "%", "0", "division by zero"},
		{"7.5", "%", "2", "1.5"},
		{"-7", "%", "2", "-1"},
		{"1e100", "+", "1e-150", ErrInexact.Error()},
		{"1e150", "*", "1e150", ErrInexact.Error()},
		{"1e-150", "*", "1e-150", ErrInexact.Error()},
		{"unlimited", "-", "3", "unlimited"},
		{"3", "-", "unlimited", "-unlimited"},
		{"unlimited", "-", "unlimited", "the result is undefined"},
		{"unlimited", "*", "0", "the result is undefined"},
		{"3", "/", "unlimited", "the result is undefined"},
		{"unlimited", "%", "3", "the result is undefined"},
	} {
		number := func(text string) Number {
			if text == "unlimited" {
				return Unlimited()
			}
			return parse(t, text)
		}
		a, b := number(tt.a), number(tt.b)
		n, err := map[string]func(Number) (Number, error){"+": a.Add, "-": a.Sub, "*": a.Mul, "/": a.Div, "%": a.Rem}[tt.op](b)
		got := n.String()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s %s %s gives %s, want %s", tt.a, tt.op, tt.b, got, tt.want)
		}
	}
	if Unlimited().Cmp(parse(t, strings.Repeat("9", 200))) != 1 || Unlimited().Cmp(Unlimited()) != 0 || (Number{}).Cmp(Int(0)) != 0 {
		t.Error("unlimited, or the zero Number, compares wrongly")
	}
}

// What parses is written so that it parses to the same number, and no
// operation panics or takes long.
func FuzzNumber(f *testing.F) {
	f.Add("216.00", "9.95")
	f.Add("1e64", "8e-64")
	f.Fuzz(func(t *testing.T, a, b string) {
		n, err := Parse(a)
		m, err2 := Parse(b)
		if err != nil || err2 != nil {
			return
		}
		if back, err := Parse(n.String()); len(n.String()) <= 200 && (err != nil || back.Cmp(n) != 0) {
			t.Fatalf("%s is written %s", a, n)
		}
		for _, op := range []func(Number) (Number, error){n.Add, n.Sub, n.Mul, n.Div, n.Rem} {
			if out, err := op(m); err == nil && len(out.String()) > 2*Digits+3 {
				t.Fatalf("%s and %s give %s", a, b, out)
			}
		}
	})
}

func ExampleNumber_Sub() {
	total, _ := Parse("216.00")
	refunded, _ := Parse("9.95")
	left, _ := total.Sub(refunded)
	fmt.Println(left)
	// Output: 206.05
}

// A quotient is written with the digits that it needs, whatever their number.
func TestQuotientHasNoZerosAtItsEnd(t *testing.T) {
	for _, c := range []struct{ n, by, want string }{
		{"216.00", "8", "27"},
		{"-10", "4", "-2.5"},
		{"0.00", "7", "0"},
		{"1e150", "1e10", "1" + strings.Repeat("0", 140)},
		{"1", "1e-130", "1" + strings.Repeat("0", 130)},
		{"-3e120", "1.5", "-2" + strings.Repeat("0", 120)},
		{"1", "8", "0.125"},
		{"1.0", strings.Repeat("1", 20), ""},
	} {
		n, errN := Parse(c.n)
		by, errBy := Parse(c.by)
		got, err := n.Div(by)
		if errN != nil || errBy != nil || (err != nil) != (c.want == "") {
			t.Errorf("%s / %s: %v %v %v", c.n, c.by, errN, errBy, err)
			continue
		}
		if err == nil && (got.String() != c.want || got.d.Exponent < 0 && !strings.Contains(c.want, ".")) {
			t.Errorf("%s / %s = %s, want %s", c.n, c.by, got, c.want)
		}
	}
}
