package rules

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// Input gives the variables of an Env their values, by name.
type Input map[string]Value

// activation is an Input with a rule's constants.
type activation struct {
	input     Input
	constants map[string]ref.Val
}

func (a *activation) ResolveName(name string) (any, bool) {
	if c, ok := a.constants[name]; ok {
		return c, true
	}
	v, ok := a.input[name]
	return v.v, ok && !v.Absent()
}

func (a *activation) Parent() interpreter.Activation { return nil }

// Holds tells whether the rule is true. An error says why that cannot be known;
// who asks must refuse then as where it is false.
func (r *Rule) Holds(in Input) (bool, error) {
	v, _, err := r.run(r.program, in)
	return v == types.True && err == nil, err
}

func (r *Rule) run(p cel.Program, in Input) (ref.Val, *cel.EvalDetails, error) {
	if p == nil {
		return nil, nil, errors.New("the rule was not compiled") // the zero Rule
	}
	v, details, err := p.Eval(&activation{input: in, constants: r.constants})
	if err == nil && v != types.True && v != types.False {
		err = fmt.Errorf("gave %s", shower{}.show(v))
	}
	return v, details, err
}
