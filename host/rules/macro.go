package rules

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// sumMacro is list.sum(x, number): the exact sum over a list, 0 of an empty one.
func sumMacro() cel.Macro {
	return cel.ReceiverMacro("sum", 2, func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if args[0].Kind() != ast.IdentKind {
			return nil, f.NewError(args[0].ID(), "sum takes a name and what to add for each item: lines.sum(l, l.amount)")
		}
		sum := f.AccuIdentName()
		return f.NewComprehension(
			target, args[0].AsIdent(), sum,
			f.NewLiteral(types.IntZero),
			f.NewLiteral(types.True),
			f.NewCall(operators.Add, f.NewAccuIdent(), args[1]),
			f.NewAccuIdent(),
		), nil
	})
}
