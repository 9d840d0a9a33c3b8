package capabilities

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

const (
	maxResponseHeaders = 32 << 10 // bytes
	keepConnections    = 30 * time.Second
)

// newTransport makes what carries the requests of one allow entry. It knows one
// host, whatever a request says: it dials the entry's own.
func newTransport(c FetchConfig, a FetchAllow) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // its bounds on headers and connections are plain to see
	return &http.Transport{
		Proxy:       nil, // none, whatever the environment says
		DialContext: dial(c, a),
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			ServerName: a.URL.Host,
			RootCAs:    a.Roots,
		},
		TLSHandshakeTimeout:    c.Time,
		ResponseHeaderTimeout:  c.Time,
		MaxResponseHeaderBytes: maxResponseHeaders,
		MaxConnsPerHost:        a.Connections,
		MaxIdleConnsPerHost:    a.Connections,
		IdleConnTimeout:        keepConnections,
		Protocols:              protocols,
	}
}

// hush keeps what a server says out of the standard logger: net/http writes there
// what comes unasked on a connection that is kept, and that may repeat a secret.
// Each request asks for it anew, as a program may set its logger at any time.
func hush() {
	if _, hushed := log.Writer().(hushedLog); !hushed {
		log.SetOutput(hushedLog{log.Writer()})
	}
}

type hushedLog struct{ io.Writer }

func (h hushedLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("Unsolicited response received on idle HTTP channel")) {
		return len(line), nil
	}
	return h.Writer.Write(line)
}

// azureHost answers virtual machines of Azure as 169.254.169.254 does elsewhere.
// No registry has it as special.
var azureHost = netip.MustParsePrefix("168.63.129.16/32")

// errAddress says that an address may not be dialled.
var errAddress = errors.New("the address may not be dialled")

// dial connects to the entry's host. Each address that the resolver gives is
// checked where it is dialled, after the last time that the name is looked up:
// one that changes its answer in between gains nothing. Without a list of the
// entry's own, an address must be public by the IANA's registries of special
// addresses.
func dial(c FetchConfig, a FetchAllow) func(ctx context.Context, network, address string) (net.Conn, error) {
	public := ssrf.New(ssrf.WithPorts(a.URL.Port), ssrf.WithDeniedV4Prefixes(azureHost))
	d := &net.Dialer{
		Timeout:  c.Time,
		Resolver: c.Resolver,
		Control: func(network, address string, _ syscall.RawConn) error {
			if len(a.Addresses) > 0 {
				return listed(a, network, address)
			}
			if err := public.Safe(network, address, nil); err != nil {
				return fmt.Errorf("%w: %w", errAddress, err)
			}
			return nil
		},
	}
	host := a.URL.Host
	if strings.Contains(host, ".") && !a.URL.IsAddress() {
		host += "." // the whole name: no search domain is put behind it
	}
	address := net.JoinHostPort(host, strconv.Itoa(int(a.URL.Port)))
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", address)
	}
}

// listed holds one address against those that the entry lists: where it lists
// any, no other may be dialled, public ones too.
func listed(a FetchAllow, network, address string) error {
	dialled, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || dialled.Port() != a.URL.Port {
		return fmt.Errorf("%w: %q", errAddress, address)
	}
	ip := dialled.Addr()
	if ip.Zone() == "" && !ip.Is4In6() && !ip.IsUnspecified() && !ip.IsMulticast() {
		for _, p := range a.Addresses {
			if p.Contains(ip) {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: %s is none of the entry's addresses", errAddress, ip)
}
