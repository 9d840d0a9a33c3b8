package capabilities

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a DNS server. Each lookup of a name gets the next of its answers,
// and the last one for good.
type names struct {
	address string
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[string]int // "track.example. A": lookups
	silent  bool
}

func newNames(t testing.TB) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	n := &names{address: conn.LocalAddr().String(), answers: map[string][][]string{}, asked: map[string]int{}}
	go func() {
		buf := make([]byte, 4096)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := n.reply(buf[:size]); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return n
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.address)
	}}
}

// set gives every lookup of a name the same addresses.
func (n *names) set(name string, addresses ...string) { n.change(name, addresses) }

// change gives the first lookup the first addresses, and so on.
func (n *names) change(name string, rounds ...[]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[name+"."] = rounds
}

func (n *names) lookups(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[name+". A"]
}

// reply answers one question; a name that was never set does not exist.
func (n *names) reply(query []byte) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.silent {
		return nil
	}
	name := q.Name.String()
	rounds, known := n.answers[name]
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionAvailable: true}, Questions: []dnsmessage.Question{q}}
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	key := name + " " + strings.TrimPrefix(q.Type.String(), "Type")
	if len(rounds) > 0 {
		for _, address := range rounds[min(n.asked[key], len(rounds)-1)] {
			ip := netip.MustParseAddr(address)
			head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
			switch {
			case q.Type == dnsmessage.TypeA && ip.Is4():
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}})
			case q.Type == dnsmessage.TypeAAAA && ip.Is6():
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
			}
		}
	}
	n.asked[key]++
	reply, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return reply
}

// ca is an authority of the test's own.
type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

var authority = sync.OnceValue(func() *ca { return newCA("the test's authority") })

func newCA(name string) *ca {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := leaf()
	template.Subject.CommonName, template.IsCA, template.BasicConstraintsValid, template.KeyUsage = name, true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	c := &ca{key: key, pool: x509.NewCertPool()}
	c.cert, _ = x509.ParseCertificate(der) // made just now
	c.pool.AddCert(c.cert)
	return c
}

// leaf is a certificate for names, as far as it can be said before it is issued.
func leaf(names ...string) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a server"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	return c
}

func (c *ca) issue(t testing.TB, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, &key.PublicKey, c.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
