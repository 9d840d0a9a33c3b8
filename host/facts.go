package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/decimal"
	"github.com/toolhost/toolhost/host/rules"
	"github.com/toolhost/toolhost/host/strictjson"
)

// What a tool's rules may know besides the call itself: rows, sums and counts
// of records capabilities, within the session's scope. Each is fetched once for
// a decision, and the record keeps what was fetched.

// fact is one of them, prepared at load. One of row and sum is set.
type fact struct {
	config.Fact
	of    *recordsGrant // the capability's scope; a fact needs no grant
	alone []string      // of each Where the argument that it is and nothing else; "": a text
	row   *capabilities.RowFact
	sum   *capabilities.SumFact
	typ   rules.Type
}

// facts are those of one decision.
type facts struct {
	values  map[string]rules.Value
	faults  map[string]error // why there is no value: an AbsentError, or what no has() may pass over
	fetched []byte           // JSON, for the record
}

// kept is what of the facts may be stored: an argument that is a secret may
// stand in the business data too.
func (f facts) kept(h *hider) []byte {
	if !h.hides() {
		return f.fetched
	}
	limits := strictjson.Default(len(f.fetched))
	limits.Digits = decimal.Digits // a sum may have more than what a model may write
	v, err := strictjson.Read(f.fetched, limits)
	if err != nil {
		return strictjson.AppendString(nil, withheld)
	}
	return h.value(v).AppendJSON(nil)
}

// fetchFacts fetches every fact of a tool. A fact that is not there, or that
// this session cannot have, is an absent value, which refuses where a rule
// reads it; the error is a *Refusal, of a database that could not be asked.
func (a *asked) fetchFacts(ctx context.Context, now time.Time) (facts, error) {
	out := facts{values: map[string]rules.Value{}, faults: map[string]error{}, fetched: []byte(`{`)}
	for i := range a.tool.rules.facts {
		f := &a.tool.rules.facts[i]
		json, value, err := f.fetch(ctx, a, now)
		var absent *rules.AbsentError
		switch {
		case errors.As(err, &absent):
			out.faults[f.Name] = err
		case errors.Is(err, capabilities.ErrIncomparable): // the model's value, not the database
			out.faults[f.Name] = fmt.Errorf("facts.%s: %w", f.Name, err)
		case err != nil:
			return facts{}, &Refusal{Gate: GateRules, Code: codeUnavailable, Place: f.Place, Reason: fmt.Sprintf("facts.%s: %v", f.Name, err)}
		}
		out.values[f.Name] = value
		if len(out.fetched) > 1 {
			out.fetched = append(out.fetched, ',')
		}
		out.fetched = append(strictjson.AppendString(out.fetched, f.Name), ':')
		out.fetched = append(out.fetched, json...)
	}
	out.fetched = append(out.fetched, '}')
	return out, nil
}

// fetch gives the fact, and as JSON for the record.
func (f *fact) fetch(ctx context.Context, a *asked, now time.Time) ([]byte, rules.Value, error) {
	none := []byte("null")
	want, absent := f.of.scope(a.session)
	if absent != nil {
		return none, rules.Value{}, &rules.AbsentError{Why: "the session has no value for " + absent.Is.String()}
	}
	if f.row != nil {
		key, ok := f.Key.Render(a.textOf)
		if !ok {
			return none, rules.Value{}, &rules.AbsentError{Why: "the session has no value for " + f.Key.String()}
		}
		row, err := f.row.Read(ctx, key, want)
		switch {
		case err != nil:
			return none, rules.Value{}, err
		case row.Kind() == strictjson.Nothing:
			return none, rules.Value{}, &rules.AbsentError{Why: "no row of " + f.of.name + " that this session may see has the key"}
		}
		value, err := rules.FromJSON(f.typ, row)
		return row.AppendJSON(nil), value, err
	}
	conditions, lacks := f.conditions(a)
	if lacks != "" {
		return none, rules.Value{}, &rules.AbsentError{Why: "the session has no value for " + lacks}
	}
	sum, err := f.sum.Read(ctx, want, conditions, f.since(now))
	if err != nil {
		return none, rules.Value{}, err
	}
	return []byte(sum.String()), rules.NumberValue(sum), nil
}

// sentence says what is looked up, for a reviewer.
func (f *fact) sentence() string {
	of := f.of.name
	if f.row != nil {
		return fmt.Sprintf("%s: the row of %s named by %s%s", f.Name, of, shownValue(f.Key), f.of.within(" where "))
	}
	s := fmt.Sprintf("%s: the count of %s", f.Name, of)
	if f.Sum != "" {
		s = fmt.Sprintf("%s: the sum of %s over %s", f.Name, f.Sum, of)
	}
	joint := " where "
	for _, c := range f.Where {
		s += joint + c.Column + " = " + shownValue(c.Is)
		joint = " and "
	}
	if w := f.Within; w.Column != "" {
		s += fmt.Sprintf("%s%s of the last %s in %s, or later", joint, w.Column, count(w.Days, "day"), w.Zone)
		joint = " and "
	}
	return s + f.of.within(joint)
}

// since is the first day of a sum's window; "": it has none.
func (f *fact) since(now time.Time) string {
	if f.Within.Column == "" {
		return ""
	}
	y, m, d := now.In(f.Within.Zone).Date()
	// Counted in UTC: in the zone this hour may not be there on that day.
	return time.Date(y, m, d+1-f.Within.Days, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// conditions are the values of a sum's where, in the order of the config, or the
// first that there is none for.
func (f *fact) conditions(a *asked) (values []strictjson.Value, lacks string) {
	for i, c := range f.Where {
		if f.alone[i] != "" {
			value, there := a.args.Get(f.alone[i])
			if !there {
				return nil, c.Is.String()
			}
			values = append(values, value)
			continue
		}
		text, ok := c.Is.Render(a.textOf)
		if !ok {
			return nil, c.Is.String()
		}
		values = append(values, strictjson.Text(text))
	}
	return values, ""
}

// argumentAlone is the x of a template that is {args.x} and nothing else; "": it
// is more, or another.
func argumentAlone(t config.Template) string {
	refs := t.Refs()
	if len(refs) != 1 || refs[0].Space != config.SpaceArgs || t.String() != refs[0].String() {
		return ""
	}
	return refs[0].Name
}

// textOf resolves {args.x} and {session.x}.
func (a *asked) textOf(ref config.Ref) (string, bool) {
	if ref.Space == config.SpaceArgs {
		return a.argument(ref.Name)
	}
	return a.session.value(ref)
}
