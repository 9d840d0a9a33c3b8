package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/decimal"
	"github.com/toolhost/toolhost/host/rules"
)

// runExamples runs the examples of every rule. One that comes out otherwise is
// a fault of the config: the rule does not do what its author thinks.
func (l *loader) runExamples(t *tool) {
	for i := range t.rules.rules {
		r := &t.rules.rules[i]
		for _, e := range r.Examples {
			in, err := t.exampleInput(r, e)
			if err != nil {
				l.fault(e.Place, "[tools.%s] rules.%s: examples: %v", t.Name, r.Name, err)
				continue
			}
			got := "refuse"
			holds, err := r.compiled.Holds(in)
			switch {
			case err != nil:
				got = "error"
			case holds:
				got = "allow"
			}
			if got != e.Expect {
				l.fault(e.Place, "[tools.%s] rules.%s: examples: expected %s, the rule gives %s%s", t.Name, r.Name, e.Expect, got, whyOther(r, in, holds, err))
			}
		}
	}
}

// whyOther says why an example comes out otherwise.
func whyOther(r *rule, in rules.Input, holds bool, err error) string {
	var absent *rules.AbsentError
	switch {
	case errors.As(err, &absent):
		return " (" + err.Error() + `; give what it reads, or expect = "error")`
	case err != nil:
		return " (" + err.Error() + ")"
	}
	return thatAre(r.compiled.Explain(in), strconv.FormatBool(holds))
}

// thatAre are the clauses that came out so, with their values.
func thatAre(clauses []rules.Clause, is string) string {
	var out []string
	for _, c := range clauses {
		if c.Is == is {
			out = append(out, c.String()+" is "+is)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, "; ")
}

// exampleInput gives a rule's variables the values of an example.
func (t *tool) exampleInput(r *rule, e config.Example) (rules.Input, error) {
	raw, err := t.readArguments([]byte(e.Args))
	if err != nil {
		return nil, fmt.Errorf("args do not fit the contract: %w", err)
	}
	set := &t.rules
	args, err := rules.FromJSON(set.types["args"], raw)
	if err != nil {
		return nil, err
	}
	facts := map[string]rules.Value{}
	for name, given := range e.Facts {
		of, ok := set.types["facts"].Field(name)
		if !ok {
			return nil, fmt.Errorf("facts: the tool has no fact %q", name)
		}
		if facts[name], err = exampleValue(of, given); err != nil {
			return nil, fmt.Errorf("facts.%s: %w", name, err)
		}
	}
	in := rules.Input{
		"args":    args,
		"session": rules.ObjectValue(set.types["session"], sessionField(exampleSession(e.Session))),
		"facts":   rules.ObjectValue(set.types["facts"], func(field string) (rules.Value, error) { return facts[field], nil }),
	}
	return in, t.exampleRest(r, e, in)
}

// exampleRest gives the values of a role and the time, where the rule reads them.
func (t *tool) exampleRest(r *rule, e config.Example, in rules.Input) error {
	reads := func(name string) bool {
		return slices.ContainsFunc(r.compiled.Reads, func(p []string) bool { return p[0] == name })
	}
	role := e.Session["role"]
	switch values, ok := t.rules.values[role]; {
	case ok:
		in["values"] = values
	case role != "":
		return fmt.Errorf("session.role: %q is none of the tool's callers", role)
	case reads("values"):
		return errors.New(`the rule reads values, which a role has; give session = { role = "..." }`)
	}
	switch at, err := time.Parse(time.RFC3339, e.Now); {
	case e.Now == "" && reads("now"):
		return errors.New(`the rule reads now; give now = "2026-10-15T09:00:00Z"`)
	case e.Now == "":
	case err != nil:
		return fmt.Errorf("now: %q is no time like 2026-10-15T09:00:00Z", e.Now)
	default:
		in["now"] = rules.TimeValue(at)
	}
	return nil
}

func exampleSession(values map[string]string) Session {
	s := Session{ID: values["id"], Subject: values["subject"], Tenant: values["tenant"], Role: values["role"], Attributes: map[string]string{}}
	for name, v := range values {
		s.Attributes[name] = v
	}
	return s
}

// exampleValue is a value of the config for one of a fact's types. Numbers and
// days are strings there.
func exampleValue(t rules.Type, given any) (rules.Value, error) {
	switch given := given.(type) {
	case string:
		switch t.Kind {
		case rules.Text:
			return rules.TextValue(given), nil
		case rules.Date:
			return rules.DateValue(given)
		case rules.Number:
			n, err := decimal.Parse(given)
			return rules.NumberValue(n), err
		default:
		}
	case int64:
		if t.Kind == rules.Number {
			return rules.NumberValue(decimal.Int(given)), nil
		}
	case bool:
		if t.Kind == rules.Boolean {
			return rules.BooleanValue(given), nil
		}
	case map[string]any:
		if t.Kind == rules.Object {
			return exampleRow(t, given)
		}
	}
	return rules.Value{}, fmt.Errorf("is no %s", t.Kind)
}

func exampleRow(t rules.Type, given map[string]any) (rules.Value, error) {
	members := map[string]rules.Value{}
	for column, value := range given {
		of, ok := t.Field(column)
		if !ok {
			return rules.Value{}, fmt.Errorf("no column %q", column)
		}
		member, err := exampleValue(of, value)
		if err != nil {
			return rules.Value{}, fmt.Errorf("%s %w", column, err)
		}
		members[column] = member
	}
	return rules.ObjectValue(t, func(field string) (rules.Value, error) { return members[field], nil }), nil
}
