package host

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
)

// A grant is one capability given to one tool, with what narrows it.
type grant struct {
	config.Grant
	kind    capabilities.Kind
	only    string        // the argument that names the one row, file or URL; "": all within reach
	of      granted       // the kind's side
	decides config.Place  // of what a refusal of the kind rests on
	records *recordsGrant // the same, for the caller gate; nil: another kind
	outbox  *outboxGrant  // the same, for the approval gate; nil: another kind
}

// granted is a kind's side of a grant: grant_records.go, grant_files.go,
// grant_fetch.go and grant_outbox.go.
type granted interface {
	// reach settles what the guest of a call can reach through the i-th grant
	// of its tool, and says it for an operator. A *capabilities.Denial is a
	// refusal; any other error, that the host could not do its part.
	reach(ctx context.Context, a *asked, i int) (capabilities.Reach, string, error)
	// sentences say what the grant reaches, in words that a reviewer can sign.
	sentences(only string) []string
	// resolve adds what decides to the resolved policy.
	resolve(h *Host, r *resolvedGrant)
}

// newGrant joins a grant with the capability that the config has for it. What
// the loader has not opened is nil: such a host decides no call.
func (l *loader) newGrant(cg config.Grant, c *config.Capability) *grant {
	kind, _ := capabilities.KindNamed(c.Kind)
	g := &grant{Grant: cg, kind: kind, decides: cg.Place}
	if cg.Only != nil {
		g.only = cg.Only.Name
	}
	switch {
	case c.Records != nil:
		g.records = newRecordsGrant(c, l.records[c.Name])
		g.of = g.records
	case c.Files != nil:
		g.of = &filesGrant{config: c.Files, files: l.files[c.Name], leads: l.leads[c.Name]}
	case c.Fetch != nil:
		g.decides = c.At("allow")
		g.of = l.newFetchGrant(c)
	case c.Outbox != nil:
		g.outbox = l.newOutboxGrant(c)
		g.of = g.outbox
	default:
		return nil // a kind that the config has refused
	}
	return g
}

// theOne is the value of the argument that a grant names; nil: none is named.
func (a *asked) theOne(g *grant) *string {
	if g.only == "" {
		return nil
	}
	value, _ := a.argument(g.only)
	return &value
}

// by gives those of a module's imports that are of the grant's kind.
func (g *grant) by(imports []string) []string {
	var out []string
	for _, name := range imports {
		lists := g.only != "" && name == "files.list" // of the one file there is nothing to list
		if strings.HasPrefix(name, g.kind.Name+".") && !lists {
			out = append(out, name)
		}
	}
	return out
}

// codes are those that the config names itself.
func (g *grant) codes() []string {
	if g.records == nil {
		return nil
	}
	var out []string
	for _, c := range g.records.config.Scope {
		out = append(out, c.Else)
	}
	return out
}
