package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/nearest"
	"github.com/toolhost/toolhost/host/rules"
)

// MaxRulesCost is what all rules of a tool may cost together: about 0.1 s at worst.
const MaxRulesCost = 3 * rules.MaxCost

// readRules makes a tool's rules: their types, the compiled conditions, what
// they need fetched. Nothing of it is looked at where the contract or a
// capability has faults of its own, which were told.
func (l *loader) readRules(ctx context.Context, t *tool) {
	if len(t.Rules) == 0 {
		for _, f := range t.Facts {
			l.fault(f.Place, "[tools.%s] facts.%s: no rule reads it", t.Name, f.Name)
		}
		return
	}
	before := len(l.faults)
	set := &t.rules
	factsType, complete := l.factTypes(t)
	if !complete {
		return
	}
	set.types = map[string]rules.Type{
		"args":    rules.FromSchema("args", t.contract.Input),
		"session": l.sessionType(),
		"values":  l.valuesType(),
		"facts":   factsType,
		"now":     {Kind: rules.Time},
	}
	compile := l.compiler(set.types, t.At("rules"), "[tools."+t.Name+"]")
	if compile == nil {
		return
	}
	for _, r := range t.Rules {
		set.rules = append(set.rules, rule{Rule: r, compiled: compile.rule(r.Name, r.Require, r.At("require"))})
		l.placeholders(t, r)
	}
	compile.bound("tool")
	if len(l.faults) > before {
		return
	}
	set.paths = append(set.named(), t.inRow()...)
	l.prepareFacts(ctx, t)
	l.roleValues(t)
	if len(l.faults) == before {
		l.runExamples(t)
	}
}

// ruleCompiler compiles the rules of one tool, or of one form of answers.
type ruleCompiler struct {
	*loader
	env   *rules.Env
	place config.Place
	path  string // "[tools.X]"
	cost  uint64
}

// compiler compiles rules that read variables of these types. nil: there can be no
// such rules, and the fault is told.
func (l *loader) compiler(types map[string]rules.Type, place config.Place, path string) *ruleCompiler {
	var vars []rules.Field
	for _, name := range slices.Sorted(maps.Keys(types)) {
		vars = append(vars, rules.Field{Name: name, Type: types[name]})
	}
	env, err := rules.NewEnv(vars)
	if err != nil {
		l.fault(place, "%s rules: %v", path, err)
		return nil
	}
	return &ruleCompiler{loader: l, env: env, place: place, path: path}
}

// rule is nil where the rule has faults, which are told.
func (c *ruleCompiler) rule(name, require string, place config.Place) *rules.Rule {
	compiled, faults := c.env.Compile(require)
	for _, f := range faults {
		c.fault(place, "%s rules.%s: require: %s", c.path, name, f)
	}
	if compiled != nil {
		c.cost += compiled.Cost
	}
	return compiled
}

// bound holds what all of them together could cost against the limit.
func (c *ruleCompiler) bound(of string) {
	if c.cost > MaxRulesCost {
		c.fault(c.place, "%s rules: together they could cost %d, more than the %d that the rules of one %s may", c.path, c.cost, MaxRulesCost, of)
	}
}

func (l *loader) sessionType() rules.Type {
	t := rules.Type{Kind: rules.Object, Name: "session", Lacks: "the session does not have it"}
	for _, name := range append([]string{"id", "subject", "tenant", "role"}, l.host.config.Attributes...) {
		t.Fields = append(t.Fields, rules.Field{Name: name, Type: rules.Type{Kind: rules.Text, Most: config.MaxSessionValue}})
	}
	return t
}

func (l *loader) valuesType() rules.Type {
	t := rules.Type{Kind: rules.Object, Name: "values"}
	for _, v := range l.host.config.Values {
		of := rules.Type{Kind: map[string]rules.Kind{
			"decimal": rules.Number, "integer": rules.Number, "text": rules.Text, "boolean": rules.Boolean, "duration": rules.Duration,
		}[v.Type]}
		for _, value := range v.Roles {
			of.Most = max(of.Most, len(value.Text))
		}
		t.Fields = append(t.Fields, rules.Field{Name: v.Name, Type: of})
	}
	return t
}

// factTypes gives the types of a tool's facts; false where a capability could
// not be opened.
func (l *loader) factTypes(t *tool) (rules.Type, bool) {
	all, complete := rules.Type{Kind: rules.Object, Name: "facts"}, t.contract != nil
	for _, f := range t.Facts {
		c := l.capability(f.From)
		switch {
		case c == nil:
			complete = false // the config has said so
			continue
		case c.Records == nil:
			l.fault(f.At("from"), "[tools.%s] facts.%s: from: %q is of kind %s; a fact comes from records", t.Name, f.Name, f.From, c.Kind)
			complete = false
			continue
		}
		records := l.records[f.From]
		if records == nil {
			complete = false
			continue
		}
		made := fact{Fact: f, of: newRecordsGrant(c, records), typ: rules.Type{Kind: rules.Number}}
		for _, c := range f.Where {
			made.alone = append(made.alone, argumentAlone(c.Is))
		}
		if !f.Key.IsZero() {
			made.typ = rowType("facts."+f.Name, records)
		}
		t.rules.facts = append(t.rules.facts, made)
		all.Fields = append(all.Fields, rules.Field{Name: f.Name, Type: made.typ})
	}
	return all, complete
}

func (l *loader) capability(name string) *config.Capability {
	for i := range l.host.config.Capabilities {
		if c := &l.host.config.Capabilities[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// rowType is a row as rules see it: every column that may leave.
func rowType(name string, records *capabilities.Records) rules.Type {
	t := rules.Type{Kind: rules.Object, Name: name, Lacks: "it is NULL"}
	types := records.ColumnTypes()
	for _, column := range records.Columns() {
		of := rules.Type{Kind: columnKind(types[column])}
		switch of.Kind {
		case rules.Text:
			of.Most = int(records.MaxBytes())
		case rules.Unusable:
			of.Why = fmt.Sprintf("is a %s column, which has no one type", types[column])
		default:
		}
		t.Fields = append(t.Fields, rules.Field{Name: column, Type: of})
	}
	return t
}

// columnKind is what a column's values are to rules.
func columnKind(t capabilities.ColumnType) rules.Kind {
	return map[string]rules.Kind{
		"text": rules.Text, "integer": rules.Number, "decimal": rules.Number, "minor": rules.Number, "date": rules.Date, "boolean": rules.Boolean,
	}[t.Name]
}

// reads tells whether any rule names a path that begins so.
func (s *ruleset) reads(names ...string) bool {
	return slices.ContainsFunc(s.paths, func(p []string) bool {
		return len(p) >= len(names) && slices.Equal(p[:len(names)], names)
	})
}

// named gives the paths that the rules name, in their conditions and in their
// texts.
func (s *ruleset) named() [][]string {
	var out [][]string
	for _, r := range s.rules {
		out = append(out, r.compiled.Reads...)
		for _, ref := range append(r.Reason.Refs(), r.Words.Refs()...) {
			out = append(out, append([]string{string(ref.Space)}, strings.Split(ref.Name, ".")...))
		}
	}
	return out
}

// inRow gives the facts that the row of a tool that writes names.
func (t *tool) inRow() (paths [][]string) {
	for _, g := range t.grants {
		if g.outbox == nil {
			continue
		}
		for _, c := range g.outbox.config.Row {
			for _, ref := range c.Is.Refs() {
				if ref.Space == config.SpaceFacts {
					paths = append(paths, append([]string{string(ref.Space)}, strings.Split(ref.Name, ".")...))
				}
			}
		}
	}
	return paths
}

// prepareFacts prepares the queries: of a row the columns that are read, and no
// others.
func (l *loader) prepareFacts(ctx context.Context, t *tool) {
	for i := range t.rules.facts {
		f := &t.rules.facts[i]
		if !t.rules.reads("facts", f.Name) {
			l.fault(f.Place, "[tools.%s] facts.%s: no rule reads it", t.Name, f.Name)
			continue
		}
		columns := t.rules.columnsOf(f.Name)
		records := l.records[f.From]
		var err error
		if f.Key.IsZero() {
			f.sum, err = records.SumFact(ctx, capabilities.SumConfig{Column: f.Sum, Where: l.conditionColumns(t, f), Since: f.Within.Column})
		} else {
			l.textsOnly(t, f.At("key"), "facts."+f.Name+": key", f.Key)
			f.row, err = records.RowFact(ctx, columns)
		}
		if err != nil {
			l.fault(f.Place, "[tools.%s] facts.%s: %v", t.Name, f.Name, err)
		}
	}
}

// columnsOf are the columns of a row that the rules name, sorted.
func (s *ruleset) columnsOf(fact string) []string {
	var columns []string
	for _, path := range s.paths {
		if len(path) > 2 && path[0] == "facts" && path[1] == fact {
			columns = append(columns, path[2])
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// conditionColumns gives the columns of a where, whose values must be of their
// types.
func (l *loader) conditionColumns(t *tool, f *fact) []string {
	var columns []string
	types := l.records[f.From].ColumnTypes()
	for i, c := range f.Where {
		columns = append(columns, c.Column)
		of := types[c.Column]
		fits := columnKind(of)
		if fits == rules.Unusable || of.Name == "decimal" {
			continue // SumFact says so
		}
		name := f.alone[i]
		if name == "" {
			l.textsOnly(t, c.Place, "facts."+f.Name+": where."+c.Column, c.Is)
			if of.Name != "text" && of.Name != "date" {
				l.fault(c.Place, "[tools.%s] facts.%s: where.%s: a text for a column of type %s; only {args.x} alone can be one", t.Name, f.Name, c.Column, of)
			}
			continue
		}
		arg, _ := t.rules.types["args"].Field(name)
		if !t.contract.Requires(name) || arg.Kind != fits {
			l.fault(c.Place, "[tools.%s] facts.%s: where.%s: {args.%s} must be a required argument of the column's type, %s", t.Name, f.Name, c.Column, name, of)
		}
	}
	return columns
}

// textsOnly holds the arguments that a template names to required texts.
func (l *loader) textsOnly(t *tool, at config.Place, what string, template config.Template) {
	for _, ref := range template.Refs() {
		if ref.Space == config.SpaceArgs && !t.contract.RequiresText(ref.Name) {
			l.fault(at, "[tools.%s] %s: %s must be a required argument of type string in %s", t.Name, what, ref, t.contractFile)
		}
	}
}

// placeholders holds what a rule's texts name against the types.
func (l *loader) placeholders(t *tool, r config.Rule) {
	for _, text := range []struct {
		key string
		of  config.Template
	}{{"words", r.Words}, {"reason", r.Reason}} {
		for _, ref := range text.of.Refs() {
			if why := t.cannotName(ref, text.key == "words"); why != "" {
				l.fault(r.At(text.key), "[tools.%s] rules.%s: %s: %s %s", t.Name, r.Name, text.key, ref, why)
			}
		}
	}
}

// cannotName says why a text cannot name a value; "": it can.
func (t *tool) cannotName(ref config.Ref, forModel bool) string {
	of := t.rules.types[string(ref.Space)]
	names := strings.Split(ref.Name, ".")
	for _, name := range names {
		field, ok := of.Field(name)
		if !ok {
			return "names no value" + nearest.DidYouMean(name, of.Names())
		}
		of = field
	}
	switch {
	case of.Kind == rules.Unusable || of.Kind == rules.Object || of.Kind == rules.List:
		return "names no single value"
	case ref.Space == config.SpaceArgs && t.contract.Secret(ref.Name):
		return "is marked x-secret, and texts are recorded"
	case forModel && ref.Space == config.SpaceFacts && len(names) == 1:
		return "is computed; a model may be told columns that may leave, like {facts.order.total}"
	}
	return ""
}

// roleValues sets the values of each role that may call the tool, which must
// have every value that the rules read.
func (l *loader) roleValues(t *tool) {
	set := &t.rules
	set.values = map[string]rules.Value{}
	for _, role := range t.Callers {
		members := map[string]rules.Value{}
		for _, v := range l.host.config.Values {
			value, ok := v.Roles[role]
			if ok {
				members[v.Name] = valueOf(v.Type, value)
				continue
			}
			if set.reads("values", v.Name) {
				l.fault(v.At("roles"), "[values.%s] roles: %q may call %s, whose rules use this value, and has none; set it, or \"unlimited\" if it is to be", v.Name, role, t.Name)
			}
		}
		set.values[role] = rules.ObjectValue(set.types["values"], func(field string) (rules.Value, error) { return members[field], nil })
	}
}

// valuesAreRead reports a value that no rule reads: it would decide nothing.
func (l *loader) valuesAreRead() {
	for _, v := range l.host.config.Values {
		read := false
		for _, t := range l.host.tools {
			read = read || t.rules.reads("values", v.Name)
		}
		if !read {
			l.fault(v.Place, "[values.%s]: no rule reads it", v.Name)
		}
	}
}

func valueOf(kind string, v config.RoleValue) rules.Value {
	switch kind {
	case "text":
		return rules.TextValue(v.Text)
	case "boolean":
		return rules.BooleanValue(v.Boolean)
	case "duration":
		return rules.DurationValue(v.Duration)
	default:
		return rules.NumberValue(v.Number)
	}
}
