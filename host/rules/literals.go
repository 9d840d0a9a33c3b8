package rules

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/toolhost/toolhost/host/decimal"
)

// Literals become constants before anything is checked: a number is read from
// the text of the rule, as the parser would make a binary float of it; days,
// durations, times, patterns and zones are read once, and a bad one is a fault
// of the rule. Each constant is a variable "@n" that no rule can write.

// literals replaces the literals of the tree.
func (c *compiler) literals() {
	c.visit(func(e ast.Expr) {
		switch e.Kind() {
		case ast.LiteralKind:
			switch v := e.AsLiteral().(type) {
			case types.Int:
				c.constant(e, Number, &number{decimal.Int(int64(v))})
			case types.Double:
				c.numberLiteral(e, float64(v))
			case types.Uint:
				c.fault(e, "a number is written without u")
			case types.Bytes:
				c.fault(e, "a rule has no bytes")
			}
		case ast.CallKind:
			c.literalCall(e)
		default:
		}
	})
}

var numberForm = regexp.MustCompile(`^-?\s*([0-9]*\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)`)

// numberLiteral reads a number that the parser took for a binary float.
func (c *compiler) numberLiteral(e ast.Expr, parsed float64) {
	written := c.asWritten(e)
	n, err := decimal.Parse(written)
	if f, odd := strconv.ParseFloat(written, 64); odd != nil || f != parsed || err != nil {
		c.fault(e, "a number that cannot be read exactly; write it like 9.95 or -0.5")
		return
	}
	c.constant(e, Number, &number{n})
}

// asWritten is the number that stands in the source where e begins; "" where
// none does.
func (c *compiler) asWritten(e ast.Expr) string {
	at, ok := c.tree.SourceInfo().GetOffsetRange(e.ID())
	runes := []rune(c.source)
	if !ok || int(at.Start) > len(runes) {
		return ""
	}
	return strings.Join(strings.Fields(numberForm.FindString(string(runes[at.Start:]))), "")
}

// literalCall reads date("2026-10-15") and what else takes a literal text for
// something that is no text.
func (c *compiler) literalCall(e ast.Expr) {
	call := e.AsCall()
	args := call.Args()
	if len(args) == 0 || args[len(args)-1].Kind() != ast.LiteralKind {
		return
	}
	last := args[len(args)-1]
	literal, ok := last.AsLiteral().(types.String)
	if !ok {
		return
	}
	text, alone := string(literal), len(args) == 1 && !call.IsMemberFunction()
	switch name := call.FunctionName(); {
	case alone && name == "date":
		v, err := DateValue(text)
		c.literal(e, Date, v, err)
	case alone && name == "timestamp":
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			err = fmt.Errorf("%q is no time like 2026-10-15T09:00:00Z", text)
		}
		c.literal(e, Time, TimeValue(at), err)
	case alone && name == "duration":
		d, err := time.ParseDuration(text)
		if err != nil {
			err = fmt.Errorf("%q is no duration like \"36h\"; days are written days(7)", text)
		}
		c.literal(e, Duration, DurationValue(d), err)
	case call.IsMemberFunction() && name == "matches":
		c.pattern(last, text)
	case call.IsMemberFunction() && name == "namesOnlyFrom":
		if parsed, err := syntax.Parse(text, syntax.Perl); err == nil && shortestMatch(parsed) == 0 {
			c.fault(last, "a pattern that finds nothing at all names nothing; let it find a character at least")
		}
		c.pattern(last, text)
	case call.IsMemberFunction() && (name == "getHours" || name == "getDayOfWeek"), len(args) == 2 && name == "date":
		c.zone(last, text)
	}
}

func (c *compiler) literal(e ast.Expr, kind Kind, v Value, err error) {
	if err != nil {
		c.fault(e, "%s %v", e.AsCall().FunctionName(), err)
		return
	}
	c.constant(e, kind, v.v)
}

const maxPattern = 200 // characters; what RE2 makes of them is bounded by Go's regexp

func (c *compiler) pattern(e ast.Expr, text string) {
	if utf8.RuneCountInString(text) > maxPattern {
		c.fault(e, "a pattern of more than %d characters", maxPattern)
		return
	}
	switch p, err := regexp.Compile(text); {
	case err != nil:
		c.fault(e, "no pattern: %v", err)
	default:
		c.opaque(e, patternType, p, patternSize(text))
	}
}

// shortestMatch is how many characters a pattern takes at least.
func shortestMatch(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return shortestMatch(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * shortestMatch(re.Sub[0])
	case syntax.OpConcat:
		sum := 0
		for _, sub := range re.Sub {
			sum += shortestMatch(sub)
		}
		return sum
	case syntax.OpAlternate:
		least := math.MaxInt
		for _, sub := range re.Sub {
			least = min(least, shortestMatch(sub))
		}
		return least
	default: // what can be left out, or stands between characters
		return 0
	}
}

// patternSize is what a pattern counts for in costs: its instructions, each of
// which may be looked at for each character.
func patternSize(text string) uint64 {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return math.MaxUint64
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return math.MaxUint64
	}
	return uint64(len(program.Inst)) * perUnit
}

// zone takes the zones of the IANA's database. "Local" would be another one on
// another machine.
func (c *compiler) zone(e ast.Expr, text string) {
	zone, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		c.fault(e, `%q is no time zone like "Europe/Paris"`, text)
		return
	}
	c.opaque(e, zoneType, zone, 0)
}

func (c *compiler) constant(e ast.Expr, kind Kind, v ref.Val) {
	c.replace(e, v, Type{Kind: kind}.cel())
}

func (c *compiler) opaque(e ast.Expr, t *cel.Type, value any, size uint64) {
	c.replace(e, &constant{kind: t, value: value, size: size}, t)
}

// replace puts a constant in the place of an expression.
func (c *compiler) replace(e ast.Expr, v ref.Val, t *cel.Type) {
	name := fmt.Sprintf("@%d", len(c.constants))
	c.constants[name] = v
	c.declared = append(c.declared, cel.Variable(name, t))
	e.SetKindCase(ast.NewExprFactory().NewIdent(e.ID(), name))
}
