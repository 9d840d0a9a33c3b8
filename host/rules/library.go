package rules

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // zones are there on every machine

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/toolhost/toolhost/host/decimal"
)

// The language: every function that a rule can use, with what it costs. What
// does not stand here does not exist. docs/rules.md lists the same table, and a
// test holds the two together.

// A function is one overload.
type function struct {
	name     string
	overload string
	member   bool // written x.f(y)
	args     []*cel.Type
	result   *cel.Type
	run      func(args []ref.Val) ref.Val // nil: the evaluator's own
	cost     func(sizes []uint64) uint64  // nil: linear
	like     string                       // how docs/rules.md writes it; "": it is no function of its own
}

var (
	text     = cel.StringType
	boolean  = cel.BoolType
	instant  = cel.TimestampType
	duration = cel.DurationType
	anyItem  = cel.TypeParamType("T")
	list     = cel.ListType(anyItem)
)

// library gives the table.
func library() []function {
	table := []function{
		{name: operators.LogicalNot, overload: overloads.LogicalNot, args: of(boolean), result: boolean, run: not, like: "!a"},
		{name: operators.LogicalAnd, overload: overloads.LogicalAnd, args: of(boolean, boolean), result: boolean, like: "a && b"},
		{name: operators.LogicalOr, overload: overloads.LogicalOr, args: of(boolean, boolean), result: boolean, like: "a || b"},
		{name: operators.Conditional, overload: overloads.Conditional, args: of(boolean, anyItem, anyItem), result: anyItem, like: "a ? b : c"},
		{name: operators.NotStrictlyFalse, overload: overloads.NotStrictlyFalse, args: of(boolean), result: boolean, run: notStrictlyFalse},

		{name: operators.Add, overload: "add_number", args: of(numberType, numberType), result: numberType, run: numbers(decimal.Number.Add), like: "number + number"},
		{name: operators.Subtract, overload: "subtract_number", args: of(numberType, numberType), result: numberType, run: numbers(decimal.Number.Sub), like: "number - number"},
		{name: operators.Multiply, overload: "multiply_number", args: of(numberType, numberType), result: numberType, run: numbers(decimal.Number.Mul), like: "number * number"},
		{name: operators.Divide, overload: "divide_number", args: of(numberType, numberType), result: numberType, run: numbers(decimal.Number.Div), cost: division, like: "number / number"},
		{name: operators.Modulo, overload: "modulo_number", args: of(numberType, numberType), result: numberType, run: numbers(decimal.Number.Rem), like: "number % number"},
		{name: operators.Negate, overload: "negate_number", args: of(numberType), result: numberType, run: negate, like: "-number"},

		{name: operators.Add, overload: overloads.AddString, args: of(text, text), result: text, run: join, like: "text + text"},
		{name: "size", overload: "size_text", args: of(text), result: numberType, run: size, like: "size(text)"},
		{name: "size", overload: "text_size", member: true, args: of(text), result: numberType, run: size},
		{name: "contains", overload: "text_contains", member: true, args: of(text, text), result: boolean, run: texts(strings.Contains), cost: product, like: `text.contains("part")`},
		{name: "containsWord", overload: "text_contains_word", member: true, args: of(text, text), result: boolean, run: texts(containsWord), cost: product, like: `text.containsWord("LK-702219")`},
		{name: "namesOnlyFrom", overload: "text_names_only_from", member: true, args: of(text, text, patternType), result: boolean, run: namesOnly, cost: twoScans, like: `text.namesOnlyFrom(text, "LK-[0-9]+")`},
		{name: "startsWith", overload: "text_starts_with", member: true, args: of(text, text), result: boolean, run: texts(strings.HasPrefix), cost: shorter, like: `text.startsWith("LK-")`},
		{name: "endsWith", overload: "text_ends_with", member: true, args: of(text, text), result: boolean, run: texts(strings.HasSuffix), cost: shorter, like: `text.endsWith("@larkfield.example")`},
		{name: "matches", overload: "text_matches", member: true, args: of(text, patternType), result: boolean, run: matches, cost: product, like: `text.matches("^[A-Z]+$")`},
		{name: "lowerAscii", overload: "text_lower_ascii", member: true, args: of(text), result: text, run: letters('A', 'Z', 'a'-'A'), like: "text.lowerAscii()"},
		{name: "upperAscii", overload: "text_upper_ascii", member: true, args: of(text), result: text, run: letters('a', 'z', 'A'-'a'), like: "text.upperAscii()"},

		{name: "size", overload: "size_list", args: of(list), result: numberType, run: size, like: "size(list)"},
		{name: "size", overload: "list_size", member: true, args: of(list), result: numberType, run: size},

		{name: "date", overload: "date_of_time", args: of(instant), result: dateType, run: dateOf, like: "date(now)"},
		{name: "date", overload: "date_of_time_in_zone", args: of(instant, zoneType), result: dateType, run: dateOf, like: `date(now, "Europe/Paris")`},
		{name: operators.Subtract, overload: "subtract_date", args: of(dateType, dateType), result: duration, run: between, like: "date - date"},
		{name: operators.Add, overload: "add_date_duration", args: of(dateType, duration), result: dateType, run: shiftDate(1), like: "date + duration"},
		{name: operators.Subtract, overload: "subtract_date_duration", args: of(dateType, duration), result: dateType, run: shiftDate(-1), like: "date - duration"},
		{name: "getDayOfWeek", overload: "date_day_of_week", member: true, args: of(dateType), result: numberType, run: part(weekday), like: "date.getDayOfWeek()"},

		{name: operators.Subtract, overload: "subtract_time", args: of(instant, instant), result: duration, run: between, like: "time - time"},
		{name: operators.Add, overload: "add_time_duration", args: of(instant, duration), result: instant, run: shiftTime(1), like: "time + duration"},
		{name: operators.Subtract, overload: "subtract_time_duration", args: of(instant, duration), result: instant, run: shiftTime(-1), like: "time - duration"},
		{name: "getDayOfWeek", overload: "time_day_of_week", member: true, args: of(instant, zoneType), result: numberType, run: part(weekday), like: `time.getDayOfWeek("Europe/Paris")`},
		{name: "getHours", overload: "time_hours", member: true, args: of(instant, zoneType), result: numberType, run: part(time.Time.Hour), like: `time.getHours("Europe/Paris")`},

		{name: operators.Add, overload: "add_duration", args: of(duration, duration), result: duration, run: shiftDuration(1), like: "duration + duration"},
		{name: operators.Subtract, overload: "subtract_duration", args: of(duration, duration), result: duration, run: shiftDuration(-1), like: "duration - duration"},
		{name: "days", overload: "days_number", args: of(numberType), result: duration, run: lengthOf(24 * time.Hour), like: "days(31)"},
		{name: "hours", overload: "hours_number", args: of(numberType), result: duration, run: lengthOf(time.Hour), like: "hours(48)"},
		{name: "minutes", overload: "minutes_number", args: of(numberType), result: duration, run: lengthOf(time.Minute), like: "minutes(15)"},
		{name: "getDays", overload: "duration_days", member: true, args: of(duration), result: numberType, run: wholeOf(24 * time.Hour), like: "duration.getDays()"},
		{name: "getHours", overload: "duration_hours", member: true, args: of(duration), result: numberType, run: wholeOf(time.Hour), like: "duration.getHours()"},
	}
	return append(table, perType()...)
}

// perType are what there is of each type alike.
func perType() []function {
	var table []function
	for _, t := range []*cel.Type{numberType, dateType, instant, duration} {
		table = append(table, comparisons(t)...)
	}
	for _, t := range []*cel.Type{numberType, dateType, instant, duration, text, boolean} {
		name := typeWord(t)
		table = append(
			table,
			function{name: operators.Equals, overload: "equal_" + name, args: of(t, t), result: boolean, cost: shorter, like: name + " == " + name},
			function{name: operators.NotEquals, overload: "not_equal_" + name, args: of(t, t), result: boolean, cost: shorter, like: name + " != " + name},
			function{name: operators.In, overload: "in_list_" + name, args: of(t, cel.ListType(t)), result: boolean, run: in, cost: product, like: name + " in list"},
		)
	}
	return table
}

func of(t ...*cel.Type) []*cel.Type { return t }

// typeWord is a type as the docs call it.
func typeWord(t *cel.Type) string {
	switch t {
	case text:
		return "text"
	case boolean:
		return "boolean"
	case instant:
		return "time"
	case duration:
		return "duration"
	}
	return t.TypeName()
}

func comparisons(t *cel.Type) []function {
	name := typeWord(t)
	var out []function
	for _, c := range []struct {
		operator, overload, sign string
		holds                    func(int) bool
	}{
		{operators.Less, "less_", " < ", func(c int) bool { return c < 0 }},
		{operators.LessEquals, "less_equals_", " <= ", func(c int) bool { return c <= 0 }},
		{operators.Greater, "greater_", " > ", func(c int) bool { return c > 0 }},
		{operators.GreaterEquals, "greater_equals_", " >= ", func(c int) bool { return c >= 0 }},
	} {
		out = append(out, function{
			name: c.operator, overload: c.overload + name, args: of(t, t), result: boolean, like: name + c.sign + name,
			run: func(args []ref.Val) ref.Val { return types.Bool(c.holds(compare(args[0], args[1]))) },
		})
	}
	return out
}

// compare orders two values of one type, which the checker has seen to.
func compare(a, b ref.Val) int {
	switch a := a.(type) {
	case *number:
		return a.Cmp(b.(*number).Number)
	case date:
		return a.Compare(b.(date).Time)
	case types.Timestamp:
		return a.Time.Compare(b.(types.Timestamp).Time)
	default:
		// Not by the difference: of two long durations it does not fit.
		return cmp.Compare(a.(types.Duration).Duration, b.(types.Duration).Duration)
	}
}

func not(args []ref.Val) ref.Val { return !args[0].(types.Bool) }

// notStrictlyFalse says whether a loop goes on: CEL's macros ask it.
func notStrictlyFalse(args []ref.Val) ref.Val { return types.Bool(args[0] != types.False) }

func numbers(op func(a, b decimal.Number) (decimal.Number, error)) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		n, err := op(args[0].(*number).Number, args[1].(*number).Number)
		if err != nil {
			return types.WrapErr(err)
		}
		return &number{n}
	}
}

func negate(args []ref.Val) ref.Val { return &number{args[0].(*number).Neg()} }

func join(args []ref.Val) ref.Val { return args[0].(types.String) + args[1].(types.String) }

func size(args []ref.Val) ref.Val { return &number{decimal.Int(int64(sizeOf(args[0])))} }

func texts(op func(a, b string) bool) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		return types.Bool(op(string(args[0].(types.String)), string(args[1].(types.String))))
	}
}

func matches(args []ref.Val) ref.Val {
	pattern := args[1].Value().(*regexp.Regexp)
	return types.Bool(pattern.MatchString(string(args[0].(types.String))))
}

func namesOnly(args []ref.Val) ref.Val {
	return types.Bool(namesOnlyFrom(string(args[0].(types.String)), string(args[1].(types.String)), args[2].Value().(*regexp.Regexp)))
}

// letters moves the ASCII letters from first to last by an offset.
func letters(first, last, by rune) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		return types.String(strings.Map(func(r rune) rune {
			if first <= r && r <= last {
				return r + by
			}
			return r
		}, string(args[0].(types.String))))
	}
}

func in(args []ref.Val) ref.Val {
	items := args[1].Value().([]ref.Val)
	for _, item := range items {
		if item.Equal(args[0]) == types.True {
			return types.True
		}
	}
	return types.False
}

var errTooFar = types.WrapErr(errors.New("a date or a duration out of range"))

// dateOf is the day of a point in time, in UTC or in a zone.
func dateOf(args []ref.Val) ref.Val {
	at := timeOf(args[0]).UTC()
	if len(args) == 2 {
		at = at.In(args[1].Value().(*time.Location))
	}
	return date{time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)}
}

// between is the time from the second argument to the first.
func between(args []ref.Val) ref.Val {
	a, b := timeOf(args[0]), timeOf(args[1])
	d := a.Sub(b) // the longest or shortest where it is out of range
	if !b.Add(d).Equal(a) {
		return errTooFar
	}
	return types.Duration{Duration: d}
}

func timeOf(v ref.Val) time.Time {
	if d, ok := v.(date); ok {
		return d.Time
	}
	return v.(types.Timestamp).Time
}

func shiftDate(sign int64) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		d := args[1].(types.Duration).Duration
		if d%(24*time.Hour) != 0 {
			return types.WrapErr(errors.New("a date moves by whole days"))
		}
		at := args[0].(date).AddDate(0, 0, int(sign)*int(d/(24*time.Hour)))
		return inRange(at, date{at})
	}
}

func shiftTime(sign int64) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		by := args[1].(types.Duration).Duration
		if sign < 0 {
			if by == shortest {
				return errTooFar
			}
			by = -by
		}
		at := args[0].(types.Timestamp).Time.Add(by)
		return inRange(at, types.Timestamp{Time: at})
	}
}

// shortest is the one duration that has no opposite.
const shortest = time.Duration(math.MinInt64)

// inRange is v if its time lies in the years that RFC 3339 can write.
func inRange(at time.Time, v ref.Val) ref.Val {
	if at.Year() < 1 || at.Year() > 9999 {
		return errTooFar
	}
	return v
}

func shiftDuration(sign int64) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		a, b := args[0].(types.Duration).Duration, args[1].(types.Duration).Duration
		sum := a + time.Duration(sign)*b // "+" grows where b is above 0, "-" where it is below
		if grows := (b > 0) == (sign > 0); b != 0 && (grows && sum <= a || !grows && sum >= a) {
			return errTooFar
		}
		return types.Duration{Duration: sum}
	}
}

func part(of func(time.Time) int) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		at := timeOf(args[0])
		if len(args) == 2 {
			at = at.In(args[1].Value().(*time.Location))
		}
		return &number{decimal.Int(int64(of(at)))}
	}
}

func weekday(t time.Time) int { return int(t.Weekday()) }

func lengthOf(unit time.Duration) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		n, ok := args[0].(*number).Int64()
		most := int64((1<<63 - 1) / unit)
		switch {
		case !ok:
			return types.WrapErr(errors.New("a duration is made of a whole number"))
		case n > most || n < -most:
			return errTooFar
		}
		return types.Duration{Duration: time.Duration(n) * unit}
	}
}

// wholeOf counts whole units, towards zero.
func wholeOf(unit time.Duration) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		return &number{decimal.Int(int64(args[0].(types.Duration).Duration / unit))}
	}
}
