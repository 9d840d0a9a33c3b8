// Package decimal is the exact arithmetic of rules and of sums: what cannot be
// exact is an error, never a rounded value.
//
// It is cockroachdb/apd with one context, whose traps make an inexact result
// an error: 10/4 is 2.5, 10/3 is none.
package decimal

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/cockroachdb/apd/v3"
)

// Digits is how many digits a result may have. What strictjson reads has at
// most 64, with an exponent of at most 64.
const Digits = 200

// Number is an exact decimal, or "unlimited". It never changes. The zero
// Number is 0.
type Number struct{ d apd.Decimal }

// ErrInexact says that a result has no exact decimal of at most Digits digits.
var ErrInexact = fmt.Errorf("the result is not exact within %d digits", Digits)

var errUndefined = errors.New("the result is undefined")

// exact is read only.
var exact = apd.Context{
	Precision: Digits, MaxExponent: Digits, MinExponent: -Digits,
	Traps: apd.DefaultTraps | apd.Inexact,
}

// form is what a number looks like: JSON's, without blanks, of bounded length.
var form = regexp.MustCompile(`^-?[0-9]{1,200}(\.[0-9]{1,200})?([eE][+-]?[0-9]{1,3})?$`)

// Parse reads a decimal as JSON writes it. The text is kept out of the error.
func Parse(text string) (Number, error) {
	if !form.MatchString(text) {
		return Number{}, errors.New("is no decimal")
	}
	var n Number
	if _, _, err := n.d.SetString(text); err != nil {
		return Number{}, errors.New("is no decimal")
	}
	if condition, err := exact.Round(&n.d, &n.d); err != nil || condition.Inexact() {
		return Number{}, ErrInexact
	}
	return n, nil
}

// Int makes a Number of an integer.
func Int(v int64) Number {
	var n Number
	n.d.SetInt64(v)
	return n
}

// Unlimited is more than every number and equal to itself alone.
func Unlimited() Number { return Number{d: apd.Decimal{Form: apd.Infinite}} }

// IsUnlimited tells whether the number is Unlimited, or what became of it in a sum.
func (n Number) IsUnlimited() bool { return n.d.Form == apd.Infinite }

// String writes the number without exponent, with the places that it was
// written or computed with: 216.00 - 9.95 is 206.05.
func (n Number) String() string {
	if n.IsUnlimited() {
		if n.d.Negative {
			return "-unlimited"
		}
		return "unlimited"
	}
	return n.d.Text('f')
}

// Cmp compares by value: 1.0 and 1.00 are equal. It gives -1, 0 or 1.
func (n Number) Cmp(m Number) int { return n.d.Cmp(&m.d) }

// Add gives n + m.
func (n Number) Add(m Number) (Number, error) { return result(exact.Add, n, m) }

// Sub gives n - m.
func (n Number) Sub(m Number) (Number, error) { return result(exact.Sub, n, m) }

// Mul gives n * m.
func (n Number) Mul(m Number) (Number, error) { return result(exact.Mul, n, m) }

// Div gives n / m where that is a decimal; by zero there is none.
func (n Number) Div(m Number) (Number, error) {
	if err := n.divides(m); err != nil {
		return Number{}, err
	}
	out, err := result(exact.Quo, n, m)
	if err != nil {
		return Number{}, err
	}
	out.reduce()
	return out, nil
}

// reduce takes off the zeros at the end: a quotient comes with Digits digits,
// most of them zeros. apd takes one at a time.
func (n *Number) reduce() {
	var whole, rest, power apd.BigInt
	for zeros := int64(128); zeros >= 16 && n.d.Coeff.Sign() != 0; zeros /= 2 {
		power.Exp(apd.NewBigInt(10), apd.NewBigInt(zeros), nil)
		if whole.QuoRem(&n.d.Coeff, &power, &rest); rest.Sign() == 0 {
			n.d.Coeff.Set(&whole)
			n.d.Exponent += int32(zeros)
		}
	}
	n.d.Reduce(&n.d)
}

// Rem gives what is left of n after whole times m, with the sign of n.
func (n Number) Rem(m Number) (Number, error) {
	if err := n.divides(m); err != nil {
		return Number{}, err
	}
	return result(exact.Rem, n, m)
}

func (n Number) divides(m Number) error {
	switch {
	case n.IsUnlimited(), m.IsUnlimited():
		return errUndefined
	case m.d.IsZero():
		return errors.New("division by zero")
	}
	return nil
}

// Neg gives -n.
func (n Number) Neg() Number {
	var out Number
	out.d.Neg(&n.d)
	return out
}

// Int64 gives the number where it is an integer that fits.
func (n Number) Int64() (int64, bool) {
	v, err := n.d.Int64()
	return v, err == nil
}

func result(op func(d, x, y *apd.Decimal) (apd.Condition, error), n, m Number) (Number, error) {
	var out Number
	condition, err := op(&out.d, &n.d, &m.d)
	switch {
	case condition.InvalidOperation():
		return Number{}, errUndefined // unlimited - unlimited, unlimited * 0
	case err != nil:
		return Number{}, ErrInexact
	}
	return out, nil
}
