package capabilities

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/stricturl"
)

// Kind "fetch": GET and HEAD of allow-listed URLs. An entry may list methods that
// write; they are for the host's own deliveries (deliver_http.go), and no guest
// gets them.
//
// The host that is dialled and the headers that are added come from the config,
// never from a guest: a guest's URL only chooses one of the allow entries and a
// path below it.

// FetchConfig is what the config says of one fetch capability.
type FetchConfig struct {
	Name     string
	Allow    []FetchAllow
	MaxBytes int64         // of one decoded body
	Time     time.Duration // of one request, from the resolver's first to the body's last byte
	Resolver *net.Resolver // nil: the system's
}

// FetchAllow is one entry of the allow list.
type FetchAllow struct {
	URL         stricturl.URL // see URL.Covers
	Methods     []string
	Addresses   []netip.Prefix // all that may be dialled; none: every public address
	Roots       *x509.CertPool // nil: the system's
	Connections int            // at once
}

// FetchHeader is a header that the host adds to the requests of one entry.
type FetchHeader struct{ Name, Value string }

// FetchSecrets is what one call adds to the requests of one entry.
type FetchSecrets struct {
	Headers []FetchHeader
	Secrets []string // values in them that no response to any entry may repeat
	MayEcho []string // values in them that a response to this entry may repeat
	Closed  string   // why this session has no use of the entry; "": it has
}

// Fetch is one fetch capability. It keeps connections between calls.
type Fetch struct {
	c       FetchConfig
	entries []fetchEntry
}

type fetchEntry struct {
	FetchAllow
	transport *http.Transport
	delivers  *http.Transport // a connection for each request
}

// OpenFetch makes the transports. Nothing is dialled.
func OpenFetch(c FetchConfig) *Fetch {
	f := &Fetch{c: c}
	for _, a := range c.Allow {
		e := fetchEntry{FetchAllow: a, transport: newTransport(c, a), delivers: newTransport(c, a)}
		e.delivers.DisableKeepAlives = true
		f.entries = append(f.entries, e)
	}
	return f
}

// Close closes the kept connections.
func (f *Fetch) Close() error {
	for _, e := range f.entries {
		e.transport.CloseIdleConnections()
	}
	return nil
}

// Reach bounds the capability for one call: what each entry adds, in the order
// of the allow list, only the one URL that the grant names (nil: all that the
// list covers).
func (f *Fetch) Reach(secrets []FetchSecrets, only *string) *FetchReach {
	return &FetchReach{Fetch: f, secrets: secrets, only: only}
}

// Withhold names further secrets that no response may repeat: those of other
// capabilities, whose servers may be the same.
func (f *FetchReach) Withhold(secrets []string) { f.others = secrets }

// FetchReach is a fetch capability within the bounds of one call.
type FetchReach struct {
	*Fetch
	secrets []FetchSecrets
	others  []string
	only    *string
}

// withheld are the secrets that a response to one entry may not repeat: what a
// server was told by another request, it can show in the answer to this one.
func (f *FetchReach) withheld(chosen *FetchSecrets) []string {
	all := slices.Clone(f.others)
	for i := range f.secrets {
		all = append(all, f.secrets[i].Secrets...)
	}
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(chosen.MayEcho, s) })
}

// Admit is the gate's check of the URL that the grant names: an entry covers it.
// Where none is named, some entry that a guest can use must be open to the session.
func (f *FetchReach) Admit(context.Context) error {
	if f.only == nil {
		why := ""
		for i := range min(len(f.secrets), len(f.entries)) {
			switch {
			case !f.entries[i].takes(""):
			case f.secrets[i].Closed == "":
				return nil
			case why == "":
				why = f.secrets[i].Closed
			}
		}
		if why != "" {
			return closed(why)
		}
		return nil
	}
	_, err := f.choose("", *f.only)
	return err
}
