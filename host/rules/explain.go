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
// between &&, ||, ! and ? :. One that compares two sides has both.
type clause struct {
	text        string
	id          int64
	operator    string // "<="; "": it has no sides
	left, right int64
	reads       [][]string
}

// Clause is one clause with its values at one decision.
type Clause struct {
	Text  string // as the rule has it
	Left  string // the value of its left side; "" where it has no sides
	Sign  string // between the sides
	Right string
	Is    string     // "true", "false", "error: ...", or "-" where it was not needed
	Reads [][]string // the paths that it names, as Rule.Reads
}

// String shows a clause with its values: "args.amount <= 100: 120.00 <= 100".
func (c Clause) String() string {
	if c.Sign == "" {
		return c.Text + ": " + c.Is
	}
	return c.Text + ": " + c.Left + " " + c.Sign + " " + c.Right
}

// Explain gives the rule's clauses with the values on both sides, each
// evaluated, whether it was needed or not. It costs more than Holds does.
func (r *Rule) Explain(in Input) []Clause { return r.ExplainHiding(in, nil) }

// ExplainHiding is Explain with what must not be shown taken out of each text,
// whole as it is: of one that is cut a part would be left.
func (r *Rule) ExplainHiding(in Input, hide func(string) string) []Clause {
	_, details, _ := r.run(r.explainer, in) // what failed is in the state
	show := shower{hide, map[types.String]types.String{}}.show
	out := make([]Clause, 0, len(r.clauses))
	for _, c := range r.clauses {
		shown := Clause{Text: c.text, Is: "-", Reads: c.reads}
		if details != nil && details.State() != nil {
			value := func(id int64) string {
				if v, ok := details.State().Value(id); ok {
					return show(v)
				}
				return "?"
			}
			if v, ok := details.State().Value(c.id); ok {
				shown.Is = show(v)
			}
			if c.operator != "" {
				shown.Left, shown.Sign, shown.Right = value(c.left), c.operator, value(c.right)
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
	var walk func(e ast.Expr)
	walk = func(e ast.Expr) {
		if e.Kind() == ast.CallKind {
			call := e.AsCall()
			switch call.FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional:
				for _, a := range call.Args() {
					walk(a)
				}
				return
			}
			if sign, ok := signs[call.FunctionName()]; ok {
				args := call.Args()
				out = append(out, clause{text: text(e), id: e.ID(), operator: sign, left: args[0].ID(), right: args[1].ID(), reads: c.readsOf(e)})
				return
			}
		}
		out = append(out, clause{text: text(e), id: e.ID(), reads: c.readsOf(e)})
	}
	walk(c.tree.Expr())
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
