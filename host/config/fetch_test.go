package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const goodFetch = `
[capabilities.carrier]
kind = "fetch"
max_bytes = "64KiB"
time = "3s"
[[capabilities.carrier.allow]]
url = "https://track.carrier.example/v1/"
methods = ["GET", "HEAD"]
headers = { authorization = "Bearer {env.CARRIER_TOKEN}", X-Ticket = "t {session.ticket}" }
may_echo = ["{session.ticket}"]
[[capabilities.carrier.allow]]
url = "https://10.1.2.3:8443/health"
methods = ["GET"]
addresses = ["10.1.2.3/32"]
roots = "ca.pem"
connections = 2
`

func TestFetch(t *testing.T) {
	c, err := Parse("/srv/config.toml", []byte(readGood(t)+goodFetch), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	f := c.Capabilities[1].Fetch
	if f.MaxBytes != 64<<10 || f.Time != 3*time.Second || len(f.Allow) != 2 {
		t.Fatalf("got %+v", f)
	}
	first, second := f.Allow[0], f.Allow[1]
	if first.URL.String() != "https://track.carrier.example/v1/" || first.Connections != 4 || fmt.Sprint(first.Methods) != "[GET HEAD]" || fmt.Sprint(first.MayEcho) != "[{session.ticket}]" {
		t.Errorf("got %+v", first)
	}
	if h := first.Headers[0]; h.Name != "Authorization" || h.Value.String() != "Bearer {env.CARRIER_TOKEN}" || fmt.Sprint(h.Secrets) != "[correct-horse-battery]" {
		t.Errorf("got %+v", h)
	}
	if h := first.Headers[1]; h.Name != "X-Ticket" || len(h.Secrets) != 0 {
		t.Errorf("got %+v", h)
	}
	if second.URL.Port != 8443 || second.Roots != "/srv/ca.pem" || second.Connections != 2 || fmt.Sprint(second.Addresses) != "[10.1.2.3/32]" {
		t.Errorf("got %+v", second)
	}
}

const carrierURL = `url = "https://track.carrier.example/v1/"`

func fetchRefusal(rule, old, text string, want ...string) refusal {
	for i := range want {
		want[i] = strings.Replace("config.toml:"+want[i], ": ", ": [capabilities.carrier] ", 1)
	}
	return refusal{rule, old, text, want}
}

func testFetchRefusals(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			data := c.apply(t, goodFetch)
			_, err := Parse("config.toml", []byte(data+readGood(t)), testOptions())
			checkFaults(t, err, c.want)
		})
	}
}

func TestRefusedFetch(t *testing.T) {
	fetch := fetchRefusal
	const url = carrierURL
	entry := func(rule, text, want string) refusal { return fetch(rule, url, `url = "`+text+`"`, want) }
	testFetchRefusals(t, []refusal{
		fetch("unknown-key", `time = "3s"`, `tiem = "3s"`, `5: tiem: unknown key (did you mean "time"?); known here: kind, allow, max_bytes, time`),
		fetch("unknown-key-of-an-entry", "connections = 2", "redirects = 2", `16: allow.redirects: unknown key; known here: url, methods, headers, may_echo, addresses, roots, connections`),
		fetch("time-over-a-minute", `time = "3s"`, `time = "61s"`, `5: time: "61s" is out of bounds, from 1ms to 1m`),
		fetch("missing-url", url, "", `6: allow.url: missing; for example url = "https://example.org/v1/"`),
		fetch("missing-methods", `methods = ["GET", "HEAD"]`, "", `6: allow.methods: missing; for example methods = ["GET"]`),
		fetch("no-method", `methods = ["GET", "HEAD"]`, "methods = []", `8: allow.methods: an empty array allows no request; name the methods`),
		fetch("method-that-nobody-has", `"HEAD"`, `"CONNECT"`, `8: allow.methods: no method "CONNECT"; known here: GET, HEAD, POST, PUT, PATCH, DELETE`),
		fetch("method-in-lower-case", `"HEAD"`, `"head"`, `8: allow.methods: no method "head" (did you mean "HEAD"?); known here: GET, HEAD, POST, PUT, PATCH, DELETE`),
		entry("scheme-in-capitals", "HTTPS://a.example/", `7: allow.url: "HTTPS://a.example/": the URL does not begin with https:// or http://, in lower case`),
		entry("host-in-capitals", "https://A.example/", `7: allow.url: "https://A.example/": the URL's host holds something else than a to z, 0 to 9 and hyphens within; write it in lower case`),
		entry("query", "https://a.example/?x", `7: allow.url: "https://a.example/?x" has a query; write scheme, host, port and path`),
		entry("percent", "https://a.example/%61/", `7: allow.url: "https://a.example/%61/" has a percent sign in its path; the same path can be written in two ways`),
		entry("wildcard", "https://*.example/", `7: allow.url: "https://*.example/": the URL's host holds a *, which is no wildcard; name each host`),
		entry("no-path", "https://a.example", `7: allow.url: "https://a.example" has no path; write "https://a.example/" to allow the whole host`),
		entry("star", "https://a.example/v1/*", `7: allow.url: "https://a.example/v1/*" has a *, which is no wildcard; a path that ends in / covers what lies below`),
		fetch("entry-behind-another", "https://10.1.2.3:8443/health", "https://track.carrier.example/v1/health",
			`11: allow: the entry of line 6 covers GET https://track.carrier.example/v1/health before this one; put this one before it`),
		entry("unicode-host", "https://bücher.example/", `7: allow.url: "https://bücher.example/": the URL's host holds a character that is not ASCII; write it in punycode (xn--...)`),
		fetch("entry-twice", "https://10.1.2.3:8443/health", "https://track.carrier.example/v1/", `11: allow: the entry of line 6 covers GET https://track.carrier.example/v1/ before this one; make one of the two`),
		entry("reference", "https://{env.DESK}/", `7: allow.url: "{env.DESK}" may not stand here; this key takes no reference`),
		fetch("address-that-is-not-listed", "addresses = [\"10.1.2.3/32\"]\n", "", `12: allow.url: "10.1.2.3" is an address and no name; list it: addresses = ["10.1.2.3/32"]`),
		fetch("address-elsewhere", `["10.1.2.3/32"]`, `["10.9.0.0/16"]`, `14: allow.addresses: the URL's own address "10.1.2.3" lies in none of them, so that nothing could be dialled`),
		fetch("no-address", `["10.1.2.3/32"]`, "[]", `14: allow.addresses: an empty array lets no address be dialled; name them, or remove the key to dial public ones`),
		fetch("every-address", `"10.1.2.3/32"`, `"0.0.0.0/0"`, `14: allow.addresses: "0.0.0.0/0" is wider than any private network; list what the server has`),
		fetch("half-of-the-addresses", `"10.1.2.3/32"`, `"::/1"`, `14: allow.addresses: "::/1" is wider than any private network; list what the server has`),
		fetch("wide-ipv6", `"10.1.2.3/32"`, `"2000::/12"`, `14: allow.addresses: "2000::/12" is wider than any private network; list what the server has`),
		fetch("address-without-bits", `"10.1.2.3/32"`, `"10.1.2.3"`, `14: allow.addresses: "10.1.2.3" is no network; write 10.1.0.0/16, or 127.0.0.1/32 for one address`),
		fetch("mapped-address", `"10.1.2.3/32"`, `"::ffff:10.1.2.3/128"`, `14: allow.addresses: "::ffff:10.1.2.3/128" is no network; write 10.1.0.0/16, or 127.0.0.1/32 for one address`),
		fetch("bits-behind-the-mask", `"10.1.2.3/32"`, `"10.1.2.3/16"`, `14: allow.addresses: "10.1.2.3/16" has bits set behind its mask; did you mean "10.1.0.0/16"?`),
		fetch("roots-of-http", "https://10.1.2.3", "http://10.1.2.3", `15: allow.roots: an http:// URL has no certificate`),
		fetch("zero-connections-deny", "connections = 2", "connections = 0", `16: allow.connections: 0 is out of bounds, from 1 to 100`),
	})
	for _, c := range []struct{ data, want string }{
		{"[capabilities.c]\nkind = \"fetch\"\n", `1: [capabilities.c] allow: missing; for example a table [[capabilities.c.allow]] with url = "https://example.org/v1/" and methods = ["GET"]`},
		{"[capabilities.c]\nkind = \"fetch\"\nallow = []\n", `3: [capabilities.c] allow: an empty array allows no URL; name them or remove [capabilities.c]`},
		{"[capabilities.c]\nkind = \"fetch\"\nallow = \"https://a.example/\"\n", `3: [capabilities.c] allow: found a string, expected tables [[capabilities.c.allow]]`},
		{"[capabilities.c]\nkind = \"fetch\"\nallow = [\"https://a.example/\"]\n", `3: [capabilities.c] allow: found a string, expected a table with url and methods`},
	} {
		_, err := Parse("config.toml", []byte(c.data), testOptions())
		checkFaults(t, err, []string{"config.toml:" + c.want})
	}
}

func TestRefusedHeaders(t *testing.T) {
	fetch := fetchRefusal
	const token = `authorization = "Bearer {env.CARRIER_TOKEN}", `
	testFetchRefusals(t, []refusal{
		fetch("header-of-the-request-itself", token, `Host = "a.example", `, `9: allow.headers.Host: toolhost sets this header itself, or not at all`),
		fetch("transfer-encoding", token, `transfer-encoding = "chunked", `, `9: allow.headers.transfer-encoding: toolhost sets this header itself, or not at all`),
		fetch("key-of-a-delivery", token, `idempotency-key = "{env.CARRIER_TOKEN}", `, `9: allow.headers.idempotency-key: toolhost sets this header itself, or not at all`),
		fetch("cookie", token, `cookie = "a=b", `, `9: allow.headers.cookie: toolhost sets this header itself, or not at all`),
		fetch("header-name", token, `"a b" = "x", `, `9: allow.headers."a b": "a b" is not a header's name ^[A-Za-z][A-Za-z0-9-]{0,63}$`),
		fetch("header-twice", token, token+`Authorization = "Basic {env.CARRIER_TOKEN}", `, `9: allow.headers.Authorization: the header stands twice; case does not count`),
		fetch("header-not-ascii", token, `a = "ä", `, `9: allow.headers.a: a header's value is printable ASCII`),
		fetch("header-with-a-space-before", token, `a = " b", `, `9: allow.headers.a: a header's value begins or ends with a space`),
		fetch("secret-in-the-file", token, `X-Api-Key = "sk-1234567890", `, `9: allow.headers.X-Api-Key: a secret in this file is shown by whoever shows the file; write {env.X}, and set the variable`),
		fetch("secret-with-a-space", "CARRIER_TOKEN", "SPACED", `9: allow.headers.authorization: the environment variable SPACED begins or ends with a space`),
		fetch("secret-not-ascii", "CARRIER_TOKEN", "UMLAUT", `9: allow.headers.authorization: the environment variable UMLAUT holds something else than printable ASCII`),
		fetch("secret-not-set", "CARRIER_TOKEN", "NO_TOKEN", `9: allow.headers.authorization: the environment variable NO_TOKEN is not set`),
		fetch("secret-too-short", "CARRIER_TOKEN", "SHORT",
			`9: allow.headers.authorization: the environment variable SHORT is shorter than 8 characters: it could not be told from ordinary text in a response`),
		fetch("secret-in-the-open", "https://track", "http://track",
			`9: allow.headers.authorization: over http:// anybody on the way reads it; write https://, or list the addresses of a private network`,
			`9: allow.headers.X-Ticket: over http:// anybody on the way reads it; write https://, or list the addresses of a private network`),
		fetch("public-address-in-the-open", "https://track.carrier.example/v1/\"", "http://track.carrier.example/v1/\"\naddresses = [\"8.8.8.8/32\"]",
			`10: allow.headers.authorization: over http:// anybody on the way reads it; write https://, or list the addresses of a private network`,
			`10: allow.headers.X-Ticket: over http:// anybody on the way reads it; write https://, or list the addresses of a private network`),
		fetch("argument-in-a-header", "{session.ticket}\" }", "{args.ticket}\" }", `9: allow.headers.X-Ticket: "{args.ticket}" may not stand here; this key takes {env.x} or {session.x}`,
			`10: allow.may_echo: "{session.ticket}" stands in no header of the entry`),
		fetch("echo-of-what-is-not-sent", `["{session.ticket}"]`, `["{session.customer}"]`, `10: allow.may_echo: "{session.customer}" stands in no header of the entry`),
		fetch("echo-of-the-environment", `["{session.ticket}"]`, `["{env.CARRIER_TOKEN}"]`, `10: allow.may_echo: "{env.CARRIER_TOKEN}" may not stand here; this key takes {session.x}`),
	})
}

func TestTooManyEntries(t *testing.T) {
	data := "[capabilities.c]\nkind = \"fetch\"\n"
	for i := range 101 {
		data += fmt.Sprintf("[[capabilities.c.allow]]\nurl = \"https://a%d.example/\"\nmethods = [\"GET\"]\n", i)
	}
	_, err := Parse("config.toml", []byte(data), testOptions())
	checkFaults(t, err, []string{"config.toml:3: [capabilities.c] allow: 101 entries, at most 100"})
}

// No fault shows a value of the environment.
func TestFetchFaultsShowNoEnvironment(t *testing.T) {
	for _, change := range []string{"https://track", `"HEAD"`, "{session.ticket}\" }", `authorization =`} {
		data := strings.Replace(goodFetch, change, "§", 1)
		_, err := Parse("config.toml", []byte(data+readGood(t)), testOptions())
		if err == nil || strings.Contains(err.Error(), "correct-horse") {
			t.Errorf("%s: %v", change, err)
		}
	}
}
