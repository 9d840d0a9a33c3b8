package rules

import (
	"math"
	"math/bits"
	"unicode/utf8"

	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// What a rule costs: 1 for each name, field, item and function, and for a
// function on texts or lists a part of their length besides. The same table
// gives the estimate, from the longest that the types allow, and the count at
// run time, so that the one is never below the other.

// MaxCost is what one rule may cost: mostly below ten milliseconds, and some
// forty where it is all arithmetic of 200 digits (TestDearestRules).
const MaxCost = 100_000

const perUnit = 10 // characters or items that cost 1

// linear is 1 and the lengths of what the function reads.
func linear(sizes []uint64) uint64 {
	sum := uint64(0)
	for _, s := range sizes {
		sum = cost.SafeAdd(sum, s)
	}
	return cost.SafeAdd(1, sum/perUnit)
}

// shorter is for what stops where one of two texts ends.
func shorter(sizes []uint64) uint64 { return 1 + min(sizes[0], sizes[1])/perUnit }

// division makes all the digits that there may be, and takes some microseconds.
func division([]uint64) uint64 { return 4 }

// product is for what looks at one for each part of the other.
func product(sizes []uint64) uint64 {
	high, low := bits.Mul64(cost.SafeAdd(1, sizes[0]/perUnit), cost.SafeAdd(1, sizes[1]/perUnit))
	if high > 0 {
		return math.MaxUint64
	}
	return low
}

// twoScans is for a pattern, the last, that is searched in two texts.
func twoScans(sizes []uint64) uint64 {
	return cost.SafeAdd(product([]uint64{sizes[0], sizes[2]}), product([]uint64{sizes[1], sizes[2]}))
}

// sizeOf is how long a value is: characters, items, and 1 for what has no length.
func sizeOf(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(utf8.RuneCountInString(string(v)))
	case *constant:
		return v.size
	}
	if items, ok := v.Value().([]ref.Val); ok {
		return uint64(len(items))
	}
	return 0
}

// An estimator gives the costs of functions before and while a rule runs.
type estimator struct {
	functions map[string]function // by overload
	vars      []Field
	constants map[string]ref.Val
}

// EstimateSize implements cost.Estimator: the longest that the types allow.
func (e *estimator) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	if path := node.Path(); len(path) == 1 && e.constants[path[0]] != nil {
		return &cost.SizeEstimate{Max: sizeOf(e.constants[path[0]])}
	}
	t, ok := e.typeAt(node.Path())
	if !ok {
		return nil
	}
	most := uint64(0)
	if t.Kind == Text || t.Kind == List {
		most = uint64(t.Most)
	}
	return &cost.SizeEstimate{Min: 0, Max: most}
}

// typeAt follows a path of fields and items ("@items") from a variable.
func (e *estimator) typeAt(path []string) (Type, bool) {
	if len(path) == 0 {
		return Type{}, false
	}
	t, ok := Type{Kind: Object, Fields: e.vars}, true
	for _, name := range path {
		switch {
		case t.Kind == List && name == "@items":
			t = *t.Item
		case t.Kind == Object:
			t, ok = t.Field(name)
		default:
			ok = false
		}
		if !ok {
			return Type{}, false
		}
	}
	return t, true
}

// EstimateCallCost implements cost.Estimator.
func (e *estimator) EstimateCallCost(name, overload string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	if target != nil {
		args = append([]cost.AstNode{*target}, args...)
	}
	sizes := make([]uint64, len(args))
	for i, a := range args {
		sizes[i] = e.most(a)
	}
	result := cost.FixedSizeEstimate(0)
	switch overload {
	case "add_string":
		result = cost.SizeEstimate{Max: cost.SafeAdd(sizes[0], sizes[1])}
	case "text_lower_ascii", "text_upper_ascii":
		result = cost.SizeEstimate{Max: sizes[0]}
	case "conditional":
		result = cost.SizeEstimate{Max: max(sizes[1], sizes[2])}
		return &cost.CallEstimate{CostEstimate: cost.Estimate{Min: 0, Max: 1}, ResultSize: &result}
	}
	return &cost.CallEstimate{CostEstimate: cost.Estimate{Min: 1, Max: e.costOf(overload, sizes)}, ResultSize: &result}
}

// most is the greatest length of what a node gives.
func (e *estimator) most(node cost.AstNode) uint64 {
	if size := e.EstimateSize(node); size != nil {
		return size.Max
	}
	if size := node.ComputedSize(); size != nil {
		return size.Max
	}
	switch node.Type().Kind() {
	case types.StringKind, types.ListKind:
		return math.MaxUint64 // nothing is known of it
	default:
		return 0
	}
}

func (e *estimator) costOf(overload string, sizes []uint64) uint64 {
	of := e.functions[overload].cost
	if overload == overloads.Equals || overload == overloads.NotEquals {
		of = shorter // at run time all equalities have one name
	}
	if of != nil {
		return of(sizes)
	}
	return linear(sizes)
}

// CallCost implements cost.ActualCostEstimator.
func (e *estimator) CallCost(name, overload string, args []ref.Val, _ ref.Val) *uint64 {
	if c, ok := costOfTexts(overload, args); ok {
		return &c
	}
	sizes := make([]uint64, len(args))
	for i, a := range args {
		sizes[i] = sizeOf(a)
	}
	c := e.costOf(overload, sizes)
	return &c
}

// costOfTexts is the cost of what stops where one of two texts ends. It counts
// no further either: to count a long text would take longer than to compare it.
func costOfTexts(overload string, args []ref.Val) (uint64, bool) {
	switch overload {
	case overloads.Equals, overloads.NotEquals, "text_starts_with", "text_ends_with":
	default:
		return 0, false
	}
	a, ok := args[0].(types.String)
	b, both := args[1].(types.String)
	if !ok || !both {
		return 0, false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	n := utf8.RuneCountInString(string(a))
	if most := n * utf8.UTFMax; len(b) < most { // else b is no shorter
		n = min(n, utf8.RuneCountInString(string(b)))
	}
	return shorter([]uint64{uint64(n), uint64(n)}), true
}
