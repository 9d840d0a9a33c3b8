package rules

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// A clause is a part of a rule that is true or false by itself: what stands
// between &&, ||, ! and ? :. One that compares two sides has both, and one that
// asks something of a value has it on the left.
type clause struct {
	text        string
	id          int64
	operator    string // "<="; "": it has no right side
	left, right int64  // 0: it has no such side
	turned      bool   // below ! or ? :, where false does not mean that the rule is
	reads       [][]string
}

// Clause is one clause with its values at one decision.
type Clause struct {
	Text  string // as the rule has it
	Left  string // the value of its left side; "" where it has none, or none that could be evaluated
	Sign  string // between the sides; "": there is no right one
	Right string
	Is    string     // "true", "false" or "error"; "-" where it was not needed
	Error string     // where Is is "error"
	Reads [][]string // the paths that it names, as Rule.Reads

	Turned bool // it stands below ! or ? :, where being false does not make the rule so
}

// String shows a clause with its values: "args.amount <= 100: 120.00 <= 100".
func (c Clause) String() string {
	switch {
	case c.Is == "error":
		return c.Text + ": " + c.Error
	case c.Left == "":
		return c.Text
	case c.Sign == "":
		return c.Text + ": " + c.Left
	}
	return c.Text + ": " + c.Left + " " + c.Sign + " " + c.Right
}

// Explain gives the rule's clauses with the values on both sides, of those too
// that were not needed. It costs more than Holds does.
func (r *Rule) Explain(in Input) []Clause {
	_, clauses, _ := r.Decide(in, nil)
	return clauses
}

// Decide is Holds with the rule's clauses. hide, if set, takes what must not be
// shown out of each text, whole as it is: of one that is cut a part would be left.
func (r *Rule) Decide(in Input, hide func(string) string) (bool, []Clause, error) {
	v, needed, err := r.values(r.tracker, in)
	_, all, _ := r.values(r.explainer, in) // what failed is in the state
	return v == types.True && err == nil, r.explain(needed, all, hide), err
}

// A state gives the values of expressions by their ids.
type state func(id int64) (ref.Val, bool)

// values runs a program and gives what it gave, and the values on the way.
func (r *Rule) values(p cel.Program, in Input) (ref.Val, state, error) {
	v, details, err := r.run(p, in)
	if details == nil || details.State() == nil {
		return v, func(int64) (ref.Val, bool) { return nil, false }, err
	}
	return v, details.State().Value, err
}

func (r *Rule) explain(needed, all state, hide func(string) string) []Clause {
	show := shower{hide, map[types.String]types.String{}}.show
	side := func(id int64) string {
		v, ok := all(id)
		if _, failed := v.(*types.Err); failed || !ok {
			return ""
		}
		return show(v)
	}
	out := make([]Clause, 0, len(r.clauses))
	for _, c := range r.clauses {
		shown := Clause{Text: c.text, Is: "-", Reads: c.reads, Turned: c.turned, Left: side(c.left), Sign: c.operator, Right: side(c.right)}
		if shown.Sign != "" && (shown.Left == "" || shown.Right == "") {
			shown.Left, shown.Sign, shown.Right = "", "", ""
		}
		if v, ok := needed(c.id); ok {
			shown.Is = show(v)
			if failed, isErr := v.(*types.Err); isErr {
				shown.Is, shown.Error = "error", failed.Error()
			}
		}
		out = append(out, shown)
	}
	return out
}

var signs = map[string]string{
	operators.Equals: "==", operators.NotEquals: "!=", operators.Less: "<", operators.LessEquals: "<=",
	operators.Greater: ">", operators.GreaterEquals: ">=", operators.In: "in",
}

// clauses lists them in the order of the text, which is taken from a tree of
// its own: in the compiled one the literals are gone.
func (c *compiler) clauses() []clause {
	var out []clause
	text := c.texts()
	var walk func(e ast.Expr, turned bool)
	walk = func(e ast.Expr, turned bool) {
		if e.Kind() == ast.CallKind {
			call := e.AsCall()
			switch name := call.FunctionName(); name {
			case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional:
				turns := name == operators.LogicalNot || name == operators.Conditional
				for _, a := range call.Args() {
					walk(a, turned || turns)
				}
				return
			}
			if sign, ok := signs[call.FunctionName()]; ok {
				args := call.Args()
				out = append(out, clause{text: text(e), id: e.ID(), operator: sign, left: args[0].ID(), right: args[1].ID(), turned: turned, reads: c.readsOf(e)})
				return
			}
		}
		one := clause{text: text(e), id: e.ID(), turned: turned, reads: c.readsOf(e)}
		if e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() {
			one.left = e.AsCall().Target().ID()
		}
		out = append(out, one)
	}
	walk(c.tree.Expr(), false)
	return out
}

// texts gives a function that writes the expression of an id as the source has
// it, but for blanks.
func (c *compiler) texts() func(ast.Expr) string {
	parsed, issues := c.env.Parse(c.source)
	if issues.Err() != nil {
		return func(ast.Expr) string { return "" }
	}
	tree := parsed.NativeRep()
	byID := map[int64]ast.Expr{}
	written := &compiler{Env: c.Env, tree: tree, source: c.source, constants: map[string]ref.Val{}}
	keep := func(e ast.Expr) {
		byID[e.ID()] = e
		if v, ok := literalOf(e); ok {
			if _, isDouble := v.(types.Double); isDouble {
				e.SetKindCase(ast.NewExprFactory().NewIdent(e.ID(), written.asWritten(e)))
			}
		}
	}
	written.visit(keep)
	for _, macro := range tree.SourceInfo().MacroCalls() {
		ast.PostOrderVisit(macro, ast.NewExprVisitor(keep))
	}
	return func(e ast.Expr) string {
		s, err := cel.ExprToString(byID[e.ID()], tree.SourceInfo())
		if err != nil {
			return ""
		}
		return strings.Join(strings.Fields(s), " ")
	}
}

func literalOf(e ast.Expr) (ref.Val, bool) {
	if e.Kind() != ast.LiteralKind {
		return nil, false
	}
	return e.AsLiteral(), true
}
