package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// A sessionFlags says who asks, for commands that decide a proposal.
type sessionFlags struct {
	file, as string
}

func (f *sessionFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "session", "", "who asks: a TOML `FILE` with id, subject, tenant, role, [attributes]")
	cmd.Flags().StringVar(&f.as, "as", "", "who asks, flat `PAIRS`: role=customer,customer=C-81265")
	cmd.MarkFlagsMutuallyExclusive("session", "as")
}

func (f *sessionFlags) given() bool { return f.file != "" || f.as != "" }

func (f *sessionFlags) read(c *cli) (host.Session, error) {
	switch {
	case f.file != "":
		s, err := config.LoadSession(c.path(f.file))
		return sessionOf(s), usageOf(err)
	case f.as != "":
		pairs, err := flatPairs(f.as)
		if err != nil {
			return host.Session{}, err
		}
		s, err := config.ParseFlat(pairs)
		return sessionOf(s), usageOf(err)
	}
	return host.Session{}, usage("say who asks: --session FILE or --as role=...,tenant=...,customer=...")
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
		if _, twice := pairs[key]; !ok || key == "" || twice {
			return nil, usage("--as: %q must be key=value, each key once; a value with a comma needs --session", pair)
		}
		pairs[key] = value
	}
	return pairs, nil
}
