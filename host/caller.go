package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/config"
)

// Gate 2, caller: who asks may use this tool now, and each argument that a
// records grant names is a row within the session's scope.
//
// Whether such a row is missing, or there and another's, the model gets the
// same bytes and the host does the same work (I6): every lookup of the call is
// made, each is one query that gives one row, and only then is one chosen.

// gateTime bounds what a gate waits for its databases: lookups of one row, and
// the sums of rules, which have connections of their own.
const gateTime = 2 * time.Second

// asked is a call whose session may make it.
type asked struct {
	checked
	scopes [][]string // for each grant of the tool, the values its scope columns must have

	details []Detail // of what was looked up, for explain
}

func (h *Host) checkCaller(ctx context.Context, c checked) (asked, error) {
	if err := h.mayUse(ctx, c.session, c.tool); err != nil {
		return asked{}, err
	}
	a := asked{checked: c, scopes: make([][]string, len(c.tool.grants))}
	for i, g := range c.tool.grants {
		if g.records == nil {
			continue
		}
		want, absent := g.records.scope(c.session)
		if absent != nil {
			return asked{}, c.notAvailable(absent.Else, g, absent.Place, g.Capability+": the session has no value for "+absent.Is.String())
		}
		a.scopes[i] = want
	}
	if err := a.rows(ctx); err != nil {
		return asked{}, err
	}
	c.trail.ok(GateCaller, a.describe(), a.details...)
	return a, nil
}

// mayUse refuses a role that may not use the tool at this moment.
func (h *Host) mayUse(ctx context.Context, s Session, t *tool) error {
	if s.Role == "" || !slices.Contains(t.Callers, s.Role) {
		return &Refusal{
			Gate: GateCaller, Code: codeForbidden, Place: t.At("callers"),
			Reason: fmt.Sprintf("role %q is none of the tool's callers", s.Role),
		}
	}
	if h.directory == nil || !h.directory.decides(s.Role) {
		return nil
	}
	reason, err := h.directory.denies(ctx, s)
	switch {
	case err != nil:
		// Whether the role holds cannot be known: the model hears what it would
		// hear if it did not (I3, I7).
		return &Refusal{Gate: GateCaller, Code: codeUnavailable, Place: h.directory.Place, Reason: err.Error(), words: WordsUnknownTool}
	case reason != "":
		return &Refusal{Gate: GateCaller, Code: codeForbidden, Place: h.directory.At("roles"), Reason: reason}
	}
	return nil
}

// rows looks up every argument that a grant names, all of them, and then
// refuses by the first that is not within scope.
func (a *asked) rows(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	var first error
	for i, g := range a.tool.grants {
		if g.records == nil || g.only == "" {
			continue
		}
		key, _ := a.argument(g.only)
		verdict, err := g.records.records.Check(ctx, key, a.scopes[i])
		a.explainRow(g, key, a.scopes[i], verdict)
		switch {
		case first != nil:
		case err != nil:
			first = &Refusal{Gate: GateCaller, Code: codeUnavailable, Place: g.Place, Reason: err.Error()}
		case !verdict.Found:
			first = a.notAvailable(codeNotFound, g, g.Place, g.records.missing)
		case !verdict.Within():
			clause := &g.records.config.Scope[verdict.Failed]
			first = a.notAvailable(clause.Else, g, clause.Place, g.records.failing[verdict.Failed])
		}
	}
	var refused *Refusal
	if errors.As(first, &refused) {
		refused.details = a.details
	}
	return first
}

// argument is a top-level argument of kind string; load has seen to it that
// the contract requires it.
func (c *checked) argument(name string) (string, bool) {
	v, ok := c.args.Get(name)
	s, isText := v.Text()
	return s, ok && isText
}

// shownArgument is argument as an operator may see it.
func (c *checked) shownArgument(name string) string {
	if c.tool.contract.Secret(name) {
		return hidden
	}
	s, _ := c.argument(name)
	return s
}

// notAvailable refuses in the words that the tool has for every row that this
// session may not see, whatever the reason.
func (c *checked) notAvailable(code string, g *grant, at config.Place, reason string) error {
	return &Refusal{Gate: GateCaller, Code: code, Field: g.only, Place: at, words: c.wordsFor(), Reason: reason}
}

// wordsFor are the tool's own for what is not available; "": the code's.
func (c *checked) wordsFor() string {
	words, _ := c.tool.NotAvailable.Render(func(ref config.Ref) (string, bool) { return c.argument(ref.Name) })
	return words
}

func (a *asked) describe() string {
	parts := []string{"role " + a.session.Role + " may call"}
	for i, g := range a.tool.grants {
		if g.records == nil {
			continue
		}
		what := "any row"
		if g.only != "" {
			what = a.shownArgument(g.only)
		}
		var within []string
		for j, clause := range g.records.config.Scope {
			within = append(within, clause.Column+" = "+a.scopes[i][j])
		}
		if len(within) == 0 {
			within = []string{"everyone"}
		}
		parts = append(parts, fmt.Sprintf("%s: %s, %s", g.Capability, what, strings.Join(within, ", ")))
	}
	return strings.Join(parts, "; ")
}
