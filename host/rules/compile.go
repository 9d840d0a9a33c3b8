package rules

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/toolhost/toolhost/host/nearest"
)

const (
	maxSource = 2000 // characters of one rule
	maxNodes  = 500  // of a rule, macros expanded
	maxNested = 40   // how deep its parts stand in each other
)

// Env is what rules can name.
type Env struct {
	env       *cel.Env
	vars      []Field
	functions map[string]function // by overload
}

// Rule is one condition, compiled. It never changes.
type Rule struct {
	Source string
	Cost   uint64     // what it costs at most
	Reads  [][]string // the paths that it names, sorted: {"args", "amount"}

	program   cel.Program
	tracker   cel.Program // program, with the values on the way
	explainer cel.Program // every part, needed or not
	constants map[string]ref.Val
	clauses   []clause
}

// Fault is why a text is no rule.
type Fault struct {
	Line, Column int // in the text, from 1; 0: the text as a whole
	Text         string
}

func (f Fault) String() string {
	switch {
	case f.Line <= 0: // -1 is the parser's own word for it
		return f.Text
	case f.Line == 1:
		return fmt.Sprintf("column %d: %s", f.Column, f.Text)
	}
	return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Text)
}

// NewEnv makes the environment of rules that see the variables. An object type
// that has no name, or whose name another one has, is an error.
func NewEnv(vars []Field) (*Env, error) {
	p, err := newProvider(vars)
	if err != nil {
		return nil, err
	}
	e := &Env{vars: vars, functions: map[string]function{}}
	options := []cel.EnvOption{
		cel.CustomTypeProvider(p),
		cel.Macros(cel.HasMacro, cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, sumMacro()),
		cel.EnableMacroCallTracking(),
		cel.ParserExpressionSizeLimit(maxSource),
		cel.ParserRecursionLimit(maxNested),
		cel.ExpressionNodeLimit(maxNodes),
		cel.DefaultUTCTimeZone(true),
	}
	for _, v := range vars {
		options = append(options, cel.Variable(v.Name, v.Type.cel()))
	}
	for _, f := range library() {
		e.functions[f.overload] = f
		options = append(options, f.declare())
	}
	e.env, err = cel.NewCustomEnv(options...)
	return e, err
}

// declare gives the function to the checker, and to the evaluator what it runs.
func (f function) declare() cel.EnvOption {
	var options []cel.OverloadOpt
	if f.run != nil {
		options = append(options, cel.FunctionBinding(func(args ...ref.Val) ref.Val { return f.run(args) }))
	}
	if f.overload == overloads.NotStrictlyFalse {
		options = append(options, cel.OverloadIsNonStrict())
	}
	if f.member {
		return cel.Function(f.name, cel.MemberOverload(f.overload, f.args, f.result, options...))
	}
	return cel.Function(f.name, cel.Overload(f.overload, f.args, f.result, options...))
}

// Compile makes a rule of a text, or says everything that is wrong with it.
func (e *Env) Compile(source string) (*Rule, []Fault) {
	parsed, issues := e.env.Parse(source)
	if issues.Err() != nil {
		return nil, e.faultsOf(issues)
	}
	c := &compiler{Env: e, tree: parsed.NativeRep(), source: source, constants: map[string]ref.Val{}}
	c.literals()
	env, err := e.env.Extend(c.declared...)
	if err != nil {
		return nil, []Fault{{Text: err.Error()}}
	}
	c.fields()
	c.shadows()
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, e.faultsOf(issues)
	}
	c.tree = checked.NativeRep()
	c.types()
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	r := &Rule{Source: source, Reads: c.readsOf(c.tree.Expr()), constants: c.constants, clauses: c.clauses()}
	c.strict()
	if fault := c.plan(env, checked, r); fault != nil {
		return nil, []Fault{*fault}
	}
	return r, nil
}

// plan bounds the cost and makes the programs.
func (c *compiler) plan(env *cel.Env, checked *cel.Ast, r *Rule) *Fault {
	costs := &estimator{functions: c.functions, vars: c.vars, constants: c.constants}
	estimate, err := env.EstimateCost(checked, costs)
	switch {
	case err != nil:
		return &Fault{Text: err.Error()}
	case estimate.Max > MaxCost:
		return &Fault{Text: fmt.Sprintf("could cost %d, more than the %d that a rule may; compare shorter texts, or bound the lists of the contract", estimate.Max, MaxCost)}
	}
	r.Cost = estimate.Max
	limits := []cel.ProgramOption{cel.CostTracking(costs), cel.CostLimit(MaxCost)}
	if r.program, err = env.Program(checked, limits...); err == nil {
		r.tracker, err = env.Program(checked, append(slices.Clone(limits), cel.EvalOptions(cel.OptTrackState))...)
	}
	if err == nil {
		r.explainer, err = env.Program(checked, append(slices.Clone(limits), cel.EvalOptions(cel.OptExhaustiveEval))...)
	}
	if err != nil {
		return &Fault{Text: err.Error()}
	}
	return nil
}

// A compiler is one Compile.
type compiler struct {
	*Env
	tree      *ast.AST
	source    string
	constants map[string]ref.Val
	declared  []cel.EnvOption // the constants' declarations
	faults    []Fault
}

func (c *compiler) fault(e ast.Expr, format string, args ...any) {
	at := c.tree.SourceInfo().GetStartLocation(e.ID())
	c.faults = append(c.faults, Fault{Line: at.Line(), Column: at.Column() + 1, Text: fmt.Sprintf(format, args...)})
}

func (c *compiler) visit(see func(ast.Expr)) {
	ast.PostOrderVisit(c.tree.Expr(), ast.NewExprVisitor(see))
}

// fields tells of names that an object does not have, with what might be meant,
// and of what is there and cannot be used.
func (c *compiler) fields() {
	c.visit(func(e ast.Expr) {
		path, ok := pathOf(e)
		if !ok || len(path) < 2 {
			return
		}
		of, ok := c.typeAt(path[:len(path)-1])
		if !ok || of.Kind != Object {
			return
		}
		name := path[len(path)-1]
		switch t, ok := of.Field(name); {
		case !ok:
			c.fault(e, "%s has no %q%s", strings.Join(path[:len(path)-1], "."), name, meant(name, of))
		case t.Kind == Unusable:
			c.fault(e, "%s %s", strings.Join(path, "."), t.Why)
		}
	})
}

// shadows refuses a loop whose variable has the name of a variable of the Env.
// In it ".facts" would still be the outer one, and Reads would tell neither
// apart: what a rule reads must be known from its text.
func (c *compiler) shadows() {
	c.visit(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		name := e.AsComprehension().IterVar()
		if slices.ContainsFunc(c.vars, func(f Field) bool { return f.Name == name }) {
			c.fault(e, "a loop cannot call its items %s, which is the name of something else here", name)
		}
	})
}

const mostNamed = 12 // fields that a fault lists

// meant says which field might be meant, or which there are.
func meant(name string, of Type) string {
	names := of.Names()
	hint := nearest.DidYouMean(name, names)
	if hint == "" && len(names) > 0 && len(names) <= mostNamed {
		hint = "; it has " + strings.Join(names, ", ")
	}
	return hint
}

func (c *compiler) typeAt(path []string) (Type, bool) {
	return (&estimator{vars: c.vars}).typeAt(path)
}

// types refuses what the checker lets through: values of no one type, and
// constructions that no rule needs.
func (c *compiler) types() {
	if t := c.tree.GetType(c.tree.Expr().ID()); t.Kind() != types.BoolKind {
		c.faults = append(c.faults, Fault{Text: fmt.Sprintf("is of type %s, and a rule is true or false", cel.FormatCELType(t))})
	}
	c.visit(func(e ast.Expr) {
		switch e.Kind() {
		case ast.MapKind, ast.StructKind:
			c.fault(e, "a rule makes no maps and no objects")
		case ast.CallKind, ast.ListKind:
			if holdsObject(c.tree.GetType(e.ID())) {
				c.fault(e, "an object is read where it stands, by the path of a member: only so is it known what is read")
			}
		case ast.LiteralKind:
			if _, ok := e.AsLiteral().(types.Null); ok {
				c.fault(e, "null is no value here; has(x) tells whether there is one")
			}
		default:
		}
		if open(c.tree.GetType(e.ID())) {
			c.fault(e, "has no one type")
		}
	})
}

// open tells whether a type leaves anything open.
func open(t *types.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind, types.TypeKind:
		return true
	default:
		return slices.ContainsFunc(t.Parameters(), open)
	}
}

// holdsObject tells whether a type is an object or a list of some.
func holdsObject(t *types.Type) bool {
	return t.Kind() == types.StructKind || slices.ContainsFunc(t.Parameters(), holdsObject)
}

// readsOf gives every path in an expression that begins at a variable. There is
// no other way to an object's member, see types.
func (c *compiler) readsOf(e ast.Expr) [][]string {
	var out [][]string
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if path, ok := pathOf(e); ok && c.constants[path[0]] == nil {
			out = append(out, path)
		}
	}))
	slices.SortFunc(out, slices.Compare[[]string])
	return slices.CompactFunc(out, slices.Equal[[]string])
}

// pathOf gives the names of a selection from a variable; the variables of
// loops are among them, and lead nowhere.
func pathOf(e ast.Expr) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return []string{e.AsIdent()}, true
	case ast.SelectKind:
		path, ok := pathOf(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), ok
	default:
		return nil, false
	}
}

// strict makes && and || stop at the first operand that settles them, and err
// where an operand does: "a && b" becomes "a ? b : false".
func (c *compiler) strict() {
	next := int64(0)
	for id := range c.tree.IDs() {
		next = max(next, id)
	}
	factory := ast.NewExprFactory()
	truth := func(b bool) ast.Expr {
		next++
		c.tree.SetType(next, types.BoolType)
		return factory.NewLiteral(next, types.Bool(b))
	}
	c.visit(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		var args []ast.Expr
		switch call.FunctionName() {
		case operators.LogicalAnd:
			args = []ast.Expr{call.Args()[0], call.Args()[1], truth(false)}
		case operators.LogicalOr:
			args = []ast.Expr{call.Args()[0], truth(true), call.Args()[1]}
		default:
			return
		}
		e.SetKindCase(factory.NewCall(e.ID(), operators.Conditional, args...))
		c.tree.SetReference(e.ID(), ast.NewFunctionReference(overloads.Conditional))
	})
}
