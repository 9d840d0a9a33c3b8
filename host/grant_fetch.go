package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/capabilities"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/stricturl"
)

// fetchGrant is a grant of the kind "fetch".
type fetchGrant struct {
	config *config.Fetch
	fetch  *capabilities.Fetch
	roots  map[string]string // digests by path
	others []config.Allow    // entries of other capabilities
}

func (l *loader) newFetchGrant(c *config.Capability) *fetchGrant {
	return &fetchGrant{config: c.Fetch, fetch: l.fetch[c.Name], roots: l.roots, others: l.otherEntries(c)}
}

// otherEntries are those of all other fetch capabilities: a server that two of
// them reach could show to one what the other has told it.
func (l *loader) otherEntries(but *config.Capability) (list []config.Allow) {
	for _, c := range l.host.config.Capabilities {
		if c.Fetch != nil && c.Name != but.Name {
			list = append(list, c.Fetch.Allow...)
		}
	}
	return list
}

// reach admits the URL that the grant names. Nothing is looked up or dialled:
// which address a name has counts when it is dialled.
func (g *fetchGrant) reach(ctx context.Context, a *asked, i int) (capabilities.Reach, string, error) {
	grant := a.tool.grants[i]
	reach := g.fetch.Reach(g.secrets(a.session), a.theOne(grant))
	var others []string
	for _, entry := range g.others {
		others = append(others, adds(entry, a.session).Secrets...)
	}
	reach.Withhold(others)
	if err := reach.Admit(ctx); err != nil {
		return nil, "", err
	}
	if grant.only != "" {
		return reach, "the one URL " + a.shownArgument(grant.only), nil
	}
	return reach, "what its allow list covers", nil
}

// secrets gives what each entry adds for a session.
func (g *fetchGrant) secrets(s Session) []capabilities.FetchSecrets {
	secrets := make([]capabilities.FetchSecrets, len(g.config.Allow))
	for n, entry := range g.config.Allow {
		secrets[n] = adds(entry, s)
	}
	return secrets
}

// adds gives the headers that an entry gets for this session. A value that is
// absent, that no header can hold, or that is too short to be a secret, closes
// the entry to it.
func adds(entry config.Allow, s Session) (out capabilities.FetchSecrets) {
	for _, h := range entry.Headers { // of a closed entry too: other sessions have sent them
		out.Secrets = append(out.Secrets, h.Secrets...)
	}
	for _, h := range entry.Headers {
		for _, ref := range h.Value.Refs() {
			value, _ := s.value(ref)
			mayEcho := slices.Contains(entry.MayEcho, ref)
			switch {
			case value == "" || strings.TrimSpace(value) != value || !stricturl.Printable(value):
				out.Closed = "the session has no value that a header can hold for " + ref.String() + ", which the allow entry sends"
				return out
			case !mayEcho && utf8.RuneCountInString(value) < config.MinSecret:
				out.Closed = fmt.Sprintf("the session's value of %s is shorter than %d characters and would be taken for a secret in ordinary answers; name it in may_echo if it is none", ref, config.MinSecret)
				return out
			case mayEcho:
				out.MayEcho = append(out.MayEcho, value)
			default:
				out.Secrets = append(out.Secrets, value)
			}
		}
		value, _ := h.Value.Render(s.value)
		out.Headers = append(out.Headers, capabilities.FetchHeader{Name: h.Name, Value: value})
	}
	return out
}

func (g *fetchGrant) sentences(only string) (out []string) {
	for _, a := range g.config.Allow {
		s := strings.Join(a.Methods, " and ") + " " + a.URL.String()
		if strings.HasSuffix(a.URL.Path, "/") {
			s += " and below"
		}
		if only != "" {
			s += ", the one URL named by " + only
		} else {
			s += ", with any query"
		}
		s += shownHeaders(a)
		if len(a.MayEcho) > 0 {
			s += ", which an answer may repeat: " + strings.Join(shownRefs(a), ", ")
		}
		out = append(out, s+", "+shownWhere(a)+", of at most "+config.ShowSize(g.config.MaxBytes))
	}
	return out
}

// shownHeaders are the headers that the host adds, as the config has them.
func shownHeaders(a config.Allow) string {
	if len(a.Headers) == 0 {
		return ""
	}
	var names []string
	for _, h := range a.Headers {
		names = append(names, h.Name+" = "+shownValue(h.Value))
	}
	return ", with the host's " + strings.Join(names, ", ")
}

// shownWhere says what may be dialled.
func shownWhere(a config.Allow) string {
	where := "at public addresses"
	if len(a.Addresses) > 0 {
		where = "at " + strings.Join(shownPrefixes(a), ", ")
	}
	if a.Roots != "" {
		where += ", by the certificates of " + a.RootsShown
	}
	return where
}

func shownPrefixes(a config.Allow) []string {
	var out []string
	for _, p := range a.Addresses {
		out = append(out, p.String())
	}
	return out
}

func shownRefs(a config.Allow) []string {
	var out []string
	for _, ref := range a.MayEcho {
		out = append(out, ref.String())
	}
	return out
}

func (g *fetchGrant) resolve(_ *Host, r *resolvedGrant) {
	r.Fetch = &resolvedFetch{MaxBytes: g.config.MaxBytes, TimeMS: g.config.Time.Milliseconds()}
	for _, a := range g.config.Allow {
		one := resolvedAllow{
			Addresses: shownPrefixes(a), Connections: a.Connections, Headers: map[string]string{}, Methods: a.Methods,
			MayEcho: shownRefs(a), Roots: g.roots[a.Roots], URL: a.URL.String(),
		}
		for _, h := range a.Headers {
			one.Headers[h.Name] = h.Value.String()
		}
		r.Fetch.Allow = append(r.Fetch.Allow, one)
	}
}
