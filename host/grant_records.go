package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
)

// recordsGrant is a grant of the kind "records". That an argument names a row
// within the session's scope is the caller gate's to see to (caller.go).
type recordsGrant struct {
	name    string // of the capability
	config  *config.Records
	records *capabilities.Records
	table   string // database and table, as they are shown

	// The reasons of a refusal, written at load: to choose one costs the same
	// whichever it is (I6).
	missing string
	failing []string // by clause
}

func newRecordsGrant(c *config.Capability, records *capabilities.Records) *recordsGrant {
	g := &recordsGrant{
		name: c.Name, config: c.Records, records: records, table: c.Records.Database + "." + c.Records.Table,
		missing: c.Name + ": no row has this key",
	}
	for _, clause := range c.Records.Scope {
		g.failing = append(g.failing, c.Name+": the row's "+clause.Column+" is not "+shownValue(clause.Is))
	}
	return g
}

// scope gives the values that the grant's scope columns must have, or the
// first clause for which the session has none: a value that is absent or empty
// refuses before any query.
func (g *recordsGrant) scope(s Session) (want []string, absent *config.Clause) {
	for i, clause := range g.config.Scope {
		v, ok := clause.Is.Render(s.value)
		if !ok || v == "" {
			return nil, &g.config.Scope[i]
		}
		want = append(want, v)
	}
	return want, nil
}

func (g *recordsGrant) reach(_ context.Context, a *asked, i int) (capabilities.Reach, string, error) {
	rows := "all rows in scope"
	if grant := a.tool.grants[i]; grant.only != "" {
		rows = "the one row " + a.shownArgument(grant.only)
	}
	return g.records.Reach(a.scopes[i], a.theOne(a.tool.grants[i])),
		fmt.Sprintf("%s of %s, %s", count(len(g.config.Columns), "column"), g.table, rows), nil
}

func (g *recordsGrant) sentences(only string) []string {
	s := count(len(g.config.Columns), "column") + " of " + g.table + " (" + strings.Join(g.config.Columns, ", ") + ")"
	if only != "" {
		s += ", the one row named by " + only
	}
	return []string{s + g.within(", where ")}
}

// within says which rows a session reaches.
func (g *recordsGrant) within(joint string) string {
	if len(g.config.Scope) == 0 {
		return ", for everyone"
	}
	var within []string
	for _, c := range g.config.Scope {
		within = append(within, c.Column+" = "+shownValue(c.Is))
	}
	return joint + strings.Join(within, " and ")
}

func (g *recordsGrant) resolve(h *Host, r *resolvedGrant) {
	c := g.config
	r.Records = &resolvedRecords{
		Columns: c.Columns, Database: h.databaseShown(c.Database), Everyone: c.Everyone, Key: c.Key,
		MaxBytes: c.MaxBytes, MaxRows: c.MaxRows, Table: c.Table, Types: map[string]resolvedColumn{},
	}
	for name, kind := range c.Types {
		r.Records.Types[name] = resolvedColumn{Name: kind.Name, Places: kind.Places}
	}
	for _, clause := range c.Scope {
		r.Records.Scope = append(r.Records.Scope, resolvedClause{Column: clause.Column, Else: clause.Else, Is: clause.Is.String()})
	}
}
