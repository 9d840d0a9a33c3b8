package capabilities

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestFetchDialsNoSpecialAddress: without a list of its own, an entry dials
// public addresses alone, whatever the resolver answers. The entry's port is the
// canary's, so that a dial to this machine would be seen.
func TestFetchDialsNoSpecialAddress(t *testing.T) {
	s := newSite(t)
	v6 := newCanary6(t, s.canary.port)
	a := entry(t, "http://track.example:"+s.canary.port+"/v1/")
	a.Addresses = nil
	r := s.reach(t, a)
	for _, address := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1",
		"100.127.255.255", "198.18.0.1", "198.19.255.255", "192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
		"240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::2", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::7f00:1", "100::1",
		"2001::1", "2001:0:7f00:1::", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "2002:808:808::", "2620:4f:8000::1", "3fff::1",
		"5f00::1", "fc00::1", "fd00::1", "fec0::1", "fe80::1", "ff02::1", "ff0e::1", "4000::1",
	} {
		t.Run(address, func(t *testing.T) {
			s.names.set("track.example", address)
			answer := s.get(t, r, a.URL.String())
			if v6 == nil && netip.MustParseAddr(address).Is6() && wordOf(answer) == "no_connection" {
				t.Skip("this system has no IPv6 sockets")
			}
			want(t, answer, NotAvailable, "address")
			if v6 != nil && v6.touched() > 0 {
				t.Error("the canary at ::1 was reached")
			}
		})
	}
	s.names.set("track.example", "127.0.0.1", "10.0.0.1", "::1", "192.168.1.1")
	want(t, s.get(t, r, a.URL.String()), NotAvailable, "address")
}

func newCanary6(t *testing.T, port string) *canary {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return nil
	}
	_ = l.Close()
	return newCanary(t, "[::1]:"+port)
}

// TestFetchDialsListedAddressesAlone: where an entry lists addresses, no other
// is dialled, a public one neither.
func TestFetchDialsListedAddressesAlone(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	port := portIn(base)
	beside := newCanary(t, "127.0.0.2:"+port)
	r := s.reach(t, entry(t, base))
	for name, tt := range map[string]struct {
		addresses []string
		dialled   bool
	}{
		"listed":                {[]string{"127.0.0.1"}, true},
		"listed-twice":          {[]string{"127.0.0.1", "127.0.0.1"}, true},
		"listed-mapped":         {[]string{"::ffff:127.0.0.1"}, true}, // the one address that it is on the wire
		"next-to-it":            {[]string{"127.0.0.2"}, false},
		"private":               {[]string{"10.0.0.1"}, false},
		"link-local":            {[]string{"169.254.169.254"}, false},
		"public":                {[]string{"93.184.216.34"}, false},
		"public-ipv6":           {[]string{"2606:4700::1111"}, false},
		"unspecified":           {[]string{"0.0.0.0"}, false},
		"ipv6-loopback":         {[]string{"::1"}, false},
		"compatible":            {[]string{"::127.0.0.1"}, false},
		"nat64":                 {[]string{"64:ff9b::7f00:1"}, false},
		"bad-before-good":       {[]string{"127.0.0.2", "10.0.0.1", "127.0.0.1"}, true},
		"good-before-bad":       {[]string{"127.0.0.1", "127.0.0.2"}, true},
		"bad-ipv6-and-good":     {[]string{"::1", "fe80::1", "127.0.0.1"}, true},
		"many-bad":              {[]string{"127.0.0.2", "127.0.0.3", "8.8.8.8", "::1"}, false},
		"mapped-of-another-one": {[]string{"::ffff:127.0.0.2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s.names.set("track.example", tt.addresses...)
			if a := s.get(t, r, base); tt.dialled {
				wantText(t, a, 200, "")
			} else {
				want(t, a, NotAvailable, "address")
			}
			if beside.touched() > 0 {
				t.Error("127.0.0.2 was reached")
			}
		})
	}
}

func portIn(base string) string {
	return strings.TrimSuffix(base[strings.LastIndex(base, ":")+1:], "/")
}

// TestFetchListed: the check of one address alone.
func TestFetchListed(t *testing.T) {
	prefixes := func(list ...string) (p []netip.Prefix) {
		for _, text := range list {
			p = append(p, netip.MustParsePrefix(text))
		}
		return p
	}
	for name, tt := range map[string]struct {
		list             []netip.Prefix
		network, address string
		ok               bool
	}{
		"in-the-prefix":         {prefixes("10.1.0.0/16"), "tcp4", "10.1.255.1:8080", true},
		"beside-the-prefix":     {prefixes("10.1.0.0/16"), "tcp4", "10.2.0.1:8080", false},
		"in-the-second":         {prefixes("10.1.0.0/16", "fd00::/8"), "tcp6", "[fd00::1]:8080", true},
		"other-port":            {prefixes("10.1.0.0/16"), "tcp4", "10.1.0.1:80", false},
		"udp":                   {prefixes("10.1.0.0/16"), "udp4", "10.1.0.1:8080", false},
		"unix":                  {prefixes("10.1.0.0/16"), "unix", "/run/x", false},
		"mapped-in-an-ipv4-one": {prefixes("10.1.0.0/16"), "tcp6", "[::ffff:10.1.0.1]:8080", false},
		"mapped-in-an-ipv6-one": {prefixes("::/7"), "tcp6", "[::ffff:10.1.0.1]:8080", false},
		"zone":                  {prefixes("fe80::/10"), "tcp6", "[fe80::1%lo]:8080", false},
		"unspecified":           {prefixes("0.0.0.0/8"), "tcp4", "0.0.0.0:8080", false},
		"unspecified-ipv6":      {prefixes("::/8"), "tcp6", "[::]:8080", false},
		"multicast":             {prefixes("224.0.0.0/8"), "tcp4", "224.0.0.1:8080", false},
		"no-address":            {prefixes("10.1.0.0/16"), "tcp4", "track.example:8080", false},
		"no-list":               {nil, "tcp4", "10.1.0.1:8080", false},
	} {
		a := entry(t, "http://track.example:8080/")
		a.Addresses = tt.list
		if err := listed(a, tt.network, tt.address); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFetchRebinding: the address that was checked is the one that is dialled.
// A name is looked up once for a dial, and each later dial is checked anew.
func TestFetchRebinding(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "track.example", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = w.Write([]byte("here"))
	})
	beside := newCanary(t, "127.0.0.2:"+portIn(base))
	s.names.change("track.example", []string{"127.0.0.1"}, []string{"127.0.0.2"}, []string{"127.0.0.1", "127.0.0.2"}, []string{"10.0.0.1"})
	r := s.reach(t, entry(t, base))
	url := base
	if err := s.open(t, entry(t, base)).Reach(withSecret(1), &url).Admit(t.Context()); err != nil || s.names.lookups("track.example") != 0 {
		t.Errorf("the gate: %v, after %d lookups", err, s.names.lookups("track.example"))
	}
	wantText(t, s.get(t, r, base), 200, "here")
	if n := s.names.lookups("track.example"); n != 1 {
		t.Errorf("%d lookups for one dial", n)
	}
	want(t, s.get(t, r, base), NotAvailable, "address")
	wantText(t, s.get(t, r, base), 200, "here")
	want(t, s.get(t, r, base), NotAvailable, "address")
	if beside.touched() > 0 {
		t.Error("127.0.0.2 was reached")
	}
}

// TestFetchNames: what comes of a name that is not there, and of a resolver
// that does not answer. No search domain is put behind a name.
func TestFetchNames(t *testing.T) {
	s := newSite(t)
	r := s.reach(t, entry(t, "http://track.example:1/"))
	want(t, s.get(t, r, "http://track.example:1/"), NotAvailable, "name")
	s.names.mu.Lock()
	for question := range s.names.asked {
		if !strings.HasPrefix(question, "track.example. ") {
			t.Errorf("%s was asked for", question)
		}
	}
	s.names.mu.Unlock()
	s.names.set("track.example")
	want(t, s.get(t, r, "http://track.example:1/"), NotAvailable, "name")
	s.names.mu.Lock()
	s.names.silent = true
	s.names.mu.Unlock()
	s.time = 200 * time.Millisecond
	start := time.Now()
	want(t, s.get(t, s.reach(t, entry(t, "http://track.example:1/")), "http://track.example:1/"), NotAvailable, "timeout")
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("a silent resolver held up the call for %v", d)
	}
}

// TestFetchAddressEntry: an entry whose host is an address is dialled as it is,
// and only where it is listed.
func TestFetchAddressEntry(t *testing.T) {
	s := newSite(t)
	base := s.serve(t, "http", "127.0.0.1", func(http.ResponseWriter, *http.Request) {})
	wantText(t, s.get(t, s.reach(t, entry(t, base)), base), 200, "")
	open := entry(t, "http://127.0.0.1:"+s.canary.port+"/")
	open.Addresses = nil
	want(t, s.get(t, s.reach(t, open), open.URL.String()), NotAvailable, "address")
	open.Addresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
	want(t, s.get(t, s.reach(t, open), open.URL.String()), NotAvailable, "address")
}

// TestFetchOneWordName: a name without a dot is looked up as this machine does,
// in its own table of hosts.
func TestFetchOneWordName(t *testing.T) {
	s := newSite(t)
	base := strings.Replace(s.serve(t, "http", "track.example", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }), "track.example", "localhost", 1)
	wantText(t, s.get(t, s.reach(t, entry(t, base)), base), 200, "ok")
}
