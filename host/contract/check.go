package contract

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Misfit says why a value does not fit a schema.
type Misfit struct {
	Field  string // where, "items.0.quantity"; "" for the value as a whole
	Reason string // for operators and the record; quotes no value
	Words  string // for the model

	Foreign bool // Field ends in a name that the schema does not have: the writer's own words
}

func (m *Misfit) Error() string {
	if m.Field == "" {
		return m.Reason
	}
	return m.Field + " " + m.Reason
}

// Arguments tidies the arguments as x-tidy says and holds them against
// inputSchema. The error is a *Misfit.
func (c *Contract) Arguments(v strictjson.Value) (strictjson.Value, error) {
	if v.Kind() != strictjson.Object {
		return strictjson.Value{}, &Misfit{Reason: "is " + article(v.Kind()) + ", not an object", Words: c.NotAnObject()}
	}
	v = c.input.plan.tidied(v)
	if m := c.input.misfit(c.Name, v); m != nil {
		return strictjson.Value{}, m
	}
	return v, nil
}

// Result holds a plugin's result against outputSchema. The error is a *Misfit
// without words: what a plugin did wrong is not the model's business.
func (c *Contract) Result(v strictjson.Value) error {
	if m := c.output.misfit(c.Name, v); m != nil {
		m.Words = ""
		return m
	}
	return nil
}

// RedactedArguments gives the arguments as they may be stored: x-secret taken out.
func (c *Contract) RedactedArguments(v strictjson.Value) strictjson.Value {
	return c.input.plan.redacted(v)
}

// RedactedResult is the same for a result.
func (c *Contract) RedactedResult(v strictjson.Value) strictjson.Value {
	return c.output.plan.redacted(v)
}

// Secrets gives the texts that x-secret marks in the arguments, so that they
// can be taken out of what a guest says.
func (c *Contract) Secrets(args strictjson.Value) []string { return c.input.plan.secrets(args, nil) }

// ResultSecrets is the same for a result.
func (c *Contract) ResultSecrets(result strictjson.Value) []string {
	return c.output.plan.secrets(result, nil)
}

// Secret tells whether a top-level argument is marked x-secret, or holds what is.
func (c *Contract) Secret(argument string) bool {
	p := c.input.plan.names[argument]
	return p != nil && p.deep.secret
}

// Secretive tells whether any argument can hold what is marked x-secret.
func (c *Contract) Secretive() bool { return c.input.plan.deep.secret }

// Requires tells whether a top-level argument is required.
func (c *Contract) Requires(argument string) bool {
	required, _ := c.Input.Get("required")
	for _, v := range required.Items() {
		if isText(v, argument) {
			return true
		}
	}
	return false
}

// RequiresText tells whether a top-level argument is required and a string.
func (c *Contract) RequiresText(argument string) bool {
	properties, _ := c.Input.Get("properties")
	property, _ := properties.Get(argument)
	w := &walker{root: c.Input}
	for range maxWholeDepth {
		ref, ok := property.Get("$ref")
		if !ok {
			break
		}
		property, _ = w.resolve(ref)
	}
	kind, _ := property.Get("type")
	return c.Requires(argument) && isText(kind, "string")
}

// SecretResult tells whether a result can hold anything that must not be stored.
func (c *Contract) SecretResult() bool { return c.output.plan.deep.secret }

// NotAnObject is what the model is told when its argument text is no object.
func (c *Contract) NotAnObject() string {
	return "The arguments of " + c.Name + " must be one JSON object."
}

func article(k strictjson.Kind) string {
	if k == strictjson.Array {
		return "an array"
	}
	return "a " + k.String()
}

func (s side) misfit(tool string, v strictjson.Value) *Misfit {
	if b := s.plan.quick(v, nil); b != nil {
		m := &Misfit{Field: strings.Join(b.place, "."), Reason: b.reason}
		m.Words = m.Error() + "."
		if words := s.plan.wordsAt(b.place); words != "" {
			m.Words = words
		}
		return m
	}
	err := s.schema.Validate(v.Any())
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return &Misfit{Reason: "cannot be held against the schema", Words: generic(tool, "")}
	}
	return s.describe(tool, first(leaves(failed, nil)))
}

// leaves are the failures that have no cause below them. A choice (anyOf,
// oneOf) counts as one failure: which branch was meant nobody can know.
func leaves(e *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.PropertyNames:
		return append(out, e)
	}
	if len(e.Causes) == 0 {
		return append(out, e)
	}
	for _, cause := range e.Causes {
		out = leaves(cause, out)
	}
	return out
}

// first chooses the failure that is told. The validator goes through Go maps,
// so the choice must not depend on its order: arguments that nobody asked for,
// then those that are missing, then by place.
func first(all []*jsonschema.ValidationError) *jsonschema.ValidationError {
	rank := func(e *jsonschema.ValidationError) int {
		switch e.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			return 0
		case *kind.Required:
			return 1
		default:
			return 2
		}
	}
	return slices.MinFunc(all, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			slices.Compare(a.InstanceLocation, b.InstanceLocation),
			cmp.Compare(fmt.Sprint(a.ErrorKind.KeywordPath()), fmt.Sprint(b.ErrorKind.KeywordPath())),
		)
	})
}

func (s side) describe(tool string, e *jsonschema.ValidationError) *Misfit {
	field := strings.Join(e.InstanceLocation, ".")
	m := &Misfit{Field: field}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		name := printable(slices.Min(k.Properties))
		m.Field = strings.TrimPrefix(field+"."+name, ".")
		m.Reason, m.Foreign = "is not in the contract", true
		m.Words = tool + " takes no argument " + strconv.Quote(m.Field) + "."
	case *kind.Required:
		m.Field = strings.TrimPrefix(field+"."+slices.Min(k.Missing), ".")
		m.Reason = "is missing"
		m.Words = tool + " needs the argument " + strconv.Quote(m.Field) + "."
	default:
		m.Reason = reason(e.ErrorKind)
		m.Words = generic(tool, field)
		if m.Reason != unfit && field != "" {
			m.Words = field + " " + m.Reason + "."
		}
	}
	if words := s.plan.wordsAt(e.InstanceLocation); words != "" {
		m.Words = words
	}
	return m
}

const unfit = "does not fit the schema"

func generic(tool, field string) string {
	if field == "" {
		return "The arguments do not fit the schema of " + tool + "."
	}
	return field + " does not fit the schema of " + tool + "."
}

// reason puts a failed keyword into words that quote nothing of the value.
func reason(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "is " + k.Got + ", must be " + strings.Join(k.Want, " or ")
	case *kind.Pattern:
		return "does not match its pattern"
	case *kind.Format:
		if k.Want == "date" {
			return "must be a day of the calendar, YYYY-MM-DD"
		}
		return "must be of the format " + k.Want
	case *kind.Enum, *kind.Const:
		return "is none of the values that the schema lists"
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %s", count(k.Want, "character"))
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %s", count(k.Want, "character"))
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %s", count(k.Want, "item"))
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %s", count(k.Want, "item"))
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	default:
		return unfit
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// decimal writes a number of a schema; those were decimals, so it is exact.
func decimal(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}

// printable is a name of the model's that may be said back to it: a plain one.
func printable(name string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
	}
	if name == "" || len(name) > 40 || strings.ContainsFunc(name, odd) {
		return "(unprintable)"
	}
	return name
}

// wordsAt finds the x-words nearest to a place.
func (p *plan) wordsAt(place []string) string {
	words := ""
	for p != nil {
		if p.words != "" {
			words = p.words
		}
		if len(place) == 0 {
			break
		}
		next, named := p.names[place[0]]
		if !named {
			next = p.items
		}
		p, place = next, place[1:]
	}
	return words
}
