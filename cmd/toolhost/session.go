package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/nearest"
)

// A sessionFlags says who asks, for commands that decide a proposal.
type sessionFlags struct {
	file string
	as   []string // one, or the user has contradicted himself
}

func (f *sessionFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "session", "", "who asks: `FILE` in TOML with id, subject, tenant, role, [attributes]")
	cmd.Flags().StringArrayVar(&f.as, "as", nil, "who asks, flat, in `PAIRS`: role=customer,customer=C-81265")
}

func (f *sessionFlags) given() bool { return f.file != "" || len(f.as) > 0 }

// fromEnvironment takes who asks from the environment, where no flag says it.
func (f *sessionFlags) fromEnvironment(c *cli) {
	if f.given() {
		return
	}
	f.file, _ = c.env("TOOLHOST_SESSION")
	if as, _ := c.env("TOOLHOST_AS"); as != "" {
		f.as = []string{as}
	}
}

func (f *sessionFlags) read(c *cli) (host.Session, error) {
	switch {
	case f.file != "" && len(f.as) > 0, len(f.as) > 1:
		return host.Session{}, usage("who asks is said twice; give --session or --as, once")
	case f.file != "":
		s, err := config.LoadSession(c.path(f.file))
		return sessionOf(s), usageOf(err)
	case len(f.as) == 1:
		pairs, err := flatPairs(f.as[0])
		if err != nil {
			return host.Session{}, err
		}
		s, err := config.ParseFlat(pairs)
		return sessionOf(s), usageOf(err)
	}
	return host.Session{}, usage("say who asks: --session FILE or --as role=...,tenant=...,customer=...")
}

// warnOfAttributes tells of attributes that no scope of the config can name:
// most often they are misspelt.
func (c *cli) warnOfAttributes(h *host.Host, s host.Session) {
	for name := range s.Attributes {
		if !slices.Contains(h.Attributes(), name) {
			fmt.Fprintf(c.stderr, "note: session attribute %q is none of the config's [host] attributes%s\n",
				name, nearest.DidYouMean(name, h.Attributes()))
		}
	}
}

func usageOf(err error) error {
	if err == nil {
		return nil
	}
	return &status{code: exitUsage, err: err}
}

func sessionOf(s config.Session) host.Session {
	return host.Session{ID: s.ID, Subject: s.Subject, Tenant: s.Tenant, Role: s.Role, Attributes: s.Attributes}
}

func flatPairs(text string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if _, twice := pairs[key]; !ok || key == "" || twice {
			return nil, usage("--as: %q must be key=value, each key once; a value with a comma needs --session", pair)
		}
		pairs[key] = value
	}
	return pairs, nil
}
