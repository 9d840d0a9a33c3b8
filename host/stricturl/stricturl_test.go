package stricturl

import (
	"errors"
	"strings"
	"testing"
)

// vectors are texts with what comes out of them: the URL as String writes it,
// or the word that refuses it.
var vectors = map[string]struct{ text, expect, word string }{
	"path-is-added":                  {"https://track.example", "https://track.example/", ""},
	"path-as-written":                {"https://track.example/v1/a.b/..c/d..", "https://track.example/v1/a.b/..c/d..", ""},
	"own-port-goes-of-https":         {"https://track.example:443/", "https://track.example/", ""},
	"own-port-goes-of-http":          {"http://track.example:80/", "http://track.example/", ""},
	"other-port-stays":               {"https://track.example:80/", "https://track.example:80/", ""},
	"highest-port":                   {"http://h:65535/", "http://h:65535/", ""},
	"empty-query-stays":              {"https://track.example/?", "https://track.example/?", ""},
	"query-as-written":               {"https://track.example/a?b=c&d=/../?e[]=%2F%2e", "https://track.example/a?b=c&d=/../?e[]=%2F%2e", ""},
	"at-sign-in-a-path":              {"https://track.example/@evil.test", "https://track.example/@evil.test", ""},
	"colon-in-a-path":                {"https://track.example/a:b@c:1", "https://track.example/a:b@c:1", ""},
	"percent-encoded-letters":        {"https://track.example/%E8%AF%BB%20%41", "https://track.example/%E8%AF%BB%20%41", ""},
	"percent-in-lower-case":          {"https://track.example/%e8%af%bb", "https://track.example/%e8%af%bb", ""},
	"three-dots-are-a-name":          {"https://track.example/.../x", "https://track.example/.../x", ""},
	"parameter-of-a-segment":         {"https://track.example/a;v=1/b", "https://track.example/a;v=1/b", ""},
	"trailing-slash-is-no-empty-one": {"https://track.example/a/", "https://track.example/a/", ""},
	"ipv4":                           {"http://127.0.0.1:8080/", "http://127.0.0.1:8080/", ""},
	"ipv6":                           {"http://[::1]:8080/x", "http://[::1]:8080/x", ""},
	"ipv6-without-port":              {"http://[2001:db8::1]", "http://[2001:db8::1]/", ""},
	"punycode":                       {"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/", ""},
	"one-label":                      {"http://localhost/", "http://localhost/", ""},
	"label-of-digits-before-others":  {"http://1.2.3.four/", "http://1.2.3.four/", ""},
	"label-of-63":                    {"http://" + strings.Repeat("a", 63) + "/", "http://" + strings.Repeat("a", 63) + "/", ""},
	"longest":                        {"http://h/" + strings.Repeat("a", MaxLength-9), "http://h/" + strings.Repeat("a", MaxLength-9), ""},

	"too-long":  {"http://h/" + strings.Repeat("a", MaxLength-8), "", "too_long"},
	"3000-long": {"http://h/" + strings.Repeat("a", 3000), "", "too_long"},

	"empty":                       {"", "", "scheme"},
	"no-scheme":                   {"track.example/v1/", "", "scheme"},
	"no-scheme-two-slashes":       {"//track.example/v1/", "", "scheme"},
	"scheme-in-upper-case":        {"HTTPS://track.example/", "", "scheme"},
	"scheme-in-mixed-case":        {"HtTpS://track.example/", "", "scheme"},
	"other-scheme":                {"ftp://track.example/", "", "scheme"},
	"file":                        {"file:///etc/passwd", "", "scheme"},
	"data":                        {"data:text/plain,x", "", "scheme"},
	"javascript":                  {"javascript:alert(1)//https://track.example/", "", "scheme"},
	"one-slash":                   {"https:/track.example/", "", "scheme"},
	"no-slash":                    {"https:track.example/", "", "scheme"},
	"three-slashes":               {"https:///track.example/", "", "host"},
	"scheme-within-a-scheme":      {"view-source:https://track.example/", "", "scheme"},
	"space-before":                {" https://track.example/", "", "control"},
	"space-after":                 {"https://track.example/ ", "", "control"},
	"tab-in-the-scheme":           {"ht\ttps://track.example/", "", "control"},
	"newline-in-the-host":         {"https://track\n.example/", "", "control"},
	"line-break-in-the-path":      {"https://track.example/a\r\nHost: evil.test", "", "control"},
	"nul":                         {"https://track.example/\x00", "", "control"},
	"delete":                      {"https://track.example/\x7f", "", "control"},
	"encoded-line-break":          {"https://track.example/%0d%0aHost:%20evil.test", "", "control"},
	"encoded-nul":                 {"https://track.example/a%00.png", "", "control"},
	"encoded-tab-in-a-query":      {"https://track.example/?a=%09", "", "control"},
	"encoded-delete":              {"https://track.example/%7F", "", "control"},
	"not-ascii-host":              {"https://bücher.example/", "", "not_ascii"},
	"full-width-dot-in-the-host":  {"https://track．example/", "", "not_ascii"},
	"ideographic-dot-in-the-host": {"https://track。example/", "", "not_ascii"},
	"full-width-letters":          {"https://ｔrack.example/", "", "not_ascii"},
	"circled-digits":              {"http://①②⑦.⓪.⓪.①/", "", "not_ascii"},
	"not-ascii-path":              {"https://track.example/读", "", "not_ascii"},
	"not-utf8":                    {"https://track.example/\xff", "", "not_ascii"},
	"soft-hyphen":                 {"https://track\u00ad.example/", "", "not_ascii"},
	"backslash":                   {`https://track.example\@evil.test/`, "", "backslash"},
	"backslashes-for-slashes":     {`https:\\track.example\v1`, "", "backslash"},
	"backslash-in-a-query":        {`https://track.example/?\`, "", "backslash"},
	"fragment":                    {"https://track.example/#x", "", "fragment"},
	"fragment-before-an-at":       {"https://track.example#@evil.test/", "", "fragment"},
	"quotation-mark":              {`https://track.example/"`, "", "character"},
	"braces":                      {"https://track.example/{x}", "", "character"},
	"bracket-in-a-path":           {"https://track.example/[x]", "", "character"},

	"userinfo":                   {"https://user@track.example/", "", "userinfo"},
	"userinfo-and-password":      {"https://user:pw@track.example/", "", "userinfo"},
	"userinfo-empty":             {"https://@track.example/", "", "userinfo"},
	"host-as-userinfo":           {"https://track.example@evil.test/", "", "userinfo"},
	"at-twice":                   {"https://a@track.example@evil.test/", "", "userinfo"},
	"query-without-a-path":       {"https://track.example?x", "", "path"},
	"query-with-an-at":           {"https://evil.test?@track.example/", "", "path"},
	"port-empty":                 {"https://track.example:/", "", "port"},
	"port-zero":                  {"https://track.example:0/", "", "port"},
	"port-with-zeros":            {"https://track.example:0443/", "", "port"},
	"port-too-high":              {"https://track.example:65536/", "", "port"},
	"port-wraps":                 {"https://track.example:65979/", "", "port"},
	"port-with-a-sign":           {"https://track.example:+443/", "", "port"},
	"port-negative":              {"https://track.example:-1/", "", "port"},
	"port-in-hex":                {"https://track.example:0x1bb/", "", "port"},
	"port-twice":                 {"https://track.example:443:443/", "", "port"},
	"port-a-name":                {"https://track.example:https/", "", "port"},
	"port-empty-of-ipv6":         {"http://[::1]:/", "", "port"},
	"host-empty":                 {"https:///v1/", "", "host"},
	"host-empty-with-port":       {"https://:443/v1/", "", "host"},
	"host-in-upper-case":         {"https://TRACK.example/", "", "host"},
	"host-trailing-dot":          {"https://track.example./", "", "host"},
	"host-leading-dot":           {"https://.track.example/", "", "host"},
	"host-two-dots":              {"https://track..example/", "", "host"},
	"host-percent-encoded":       {"https://track%2eexample/", "", "host"},
	"host-encoded-letter":        {"https://%74rack.example/", "", "host"},
	"host-underscore":            {"https://a_b.example/", "", "host"},
	"host-leading-hyphen":        {"https://-a.example/", "", "host"},
	"host-trailing-hyphen":       {"https://a-.example/", "", "host"},
	"host-label-of-64":           {"http://" + strings.Repeat("a", 64) + "/", "", "host"},
	"host-of-254":                {"http://" + strings.Repeat("a.", 126) + "aa/", "", "host"},
	"host-comma":                 {"https://a,b/", "", "host"},
	"host-star":                  {"https://*.example/", "", "host"},
	"ipv4-decimal":               {"http://2130706433/", "", "host"},
	"ipv4-octal":                 {"http://0177.0.0.1/", "", "host"},
	"ipv4-hex":                   {"http://0x7f.0.0.1/", "", "host"},
	"ipv4-hex-whole":             {"http://0x7f000001/", "", "host"},
	"ipv4-hex-at-the-end":        {"http://127.0.0.0x1/", "", "host"},
	"ipv4-hex-empty":             {"http://127.0.0.0x/", "", "host"},
	"ipv4-short":                 {"http://127.1/", "", "host"},
	"ipv4-leading-zero":          {"http://127.0.0.01/", "", "host"},
	"ipv4-five-numbers":          {"http://1.2.3.4.5/", "", "host"},
	"ipv4-too-large":             {"http://256.0.0.1/", "", "host"},
	"ipv4-trailing-dot":          {"http://127.0.0.1./", "", "host"},
	"ipv6-without-brackets":      {"http://::1/", "", "host"},
	"ipv6-long-form":             {"http://[0:0:0:0:0:0:0:1]/", "", "host"},
	"ipv6-leading-zeros":         {"http://[::0001]/", "", "host"},
	"ipv6-upper-case":            {"http://[2001:DB8::1]/", "", "host"},
	"ipv6-mapped":                {"http://[::ffff:127.0.0.1]/", "", "host"},
	"ipv6-mapped-in-hex":         {"http://[::ffff:7f00:1]/", "", "host"},
	"ipv6-dotted":                {"http://[::127.0.0.1]/", "", "host"},
	"ipv6-zone":                  {"http://[fe80::1%25eth0]/", "", "host"},
	"ipv6-open":                  {"http://[::1/", "", "host"},
	"ipv6-goes-on":               {"http://[::1]evil.test/", "", "host"},
	"ipv6-empty":                 {"http://[]/", "", "host"},
	"ipv4-in-brackets":           {"http://[127.0.0.1]/", "", "host"},
	"name-in-brackets":           {"http://[track.example]/", "", "host"},
	"ipvfuture":                  {"http://[v1.x]/", "", "host"},
	"dot-dot-and-a-space":        {"https://track.example/v1/..%20/x", "", "dot_segment"},
	"dot-dot-and-a-wide-space":   {"https://track.example/v1/%C2%A0..%E3%80%80/x", "", "dot_segment"},
	"dot-dot-and-a-query":        {"https://track.example/v1/..%3Fx/y", "", "dot_segment"},
	"dot-dot-and-a-fragment":     {"https://track.example/v1/..%23x", "", "dot_segment"},
	"space-alone":                {"https://track.example/v1/%20/x", "", "empty_segment"},
	"nothing-before-semicolon":   {"https://track.example/v1/;/x", "", "empty_segment"},
	"nothing-before-encoded-one": {"https://track.example/v1/%3Bv=1/x", "", "empty_segment"},
	"dot":                        {"https://track.example/./x", "", "dot_segment"},
	"dot-dot":                    {"https://track.example/v1/../x", "", "dot_segment"},
	"dot-dot-at-the-end":         {"https://track.example/v1/..", "", "dot_segment"},
	"dot-dot-encoded":            {"https://track.example/v1/%2e%2E/x", "", "dot_segment"},
	"dot-dot-half-encoded":       {"https://track.example/v1/.%2e/x", "", "dot_segment"},
	"dot-dot-parameter":          {"https://track.example/v1/..;/x", "", "dot_segment"},
	"dot-dot-named":              {"https://track.example/v1/..;a=b/x", "", "dot_segment"},
	"dot-dot-encoded-colon":      {"https://track.example/v1/..%3b/x", "", "dot_segment"},
	"encoded-dot-in-a-name":      {"https://track.example/a%2eb", "", "encoded"},
	"encoded-slash":              {"https://track.example/v1/..%2fx", "", "encoded"},
	"encoded-backslash":          {"https://track.example/v1/..%5Cx", "", "encoded"},
	"encoded-twice":              {"https://track.example/v1/%252e%252e/x", "", "encoded"},
	"full-width-dots":            {"https://track.example/%EF%BC%8E%EF%BC%8E/x", "", "encoded"},
	"full-width-slash":           {"https://track.example/a%EF%BC%8F..%EF%BC%8Fx", "", "encoded"},
	"one-dot-leader":             {"https://track.example/%E2%80%A4%E2%80%A4/x", "", "encoded"},
	"two-dot-leader":             {"https://track.example/%E2%80%A5/x", "", "encoded"},
	"small-dots":                 {"https://track.example/%EF%B9%92%EF%B9%92/x", "", "encoded"},
	"overlong-slash":             {"https://track.example/..%c0%afx", "", "not_utf8"},
	"overlong-dot":               {"https://track.example/%c0%ae%c0%ae/x", "", "not_utf8"},
	"surrogate":                  {"https://track.example/%ed%a0%80", "", "not_utf8"},
	"not-utf8-in-a-query":        {"https://track.example/?%ff", "", "not_utf8"},
	"percent-alone":              {"https://track.example/100%", "", "percent"},
	"percent-with-one-digit":     {"https://track.example/%2", "", "percent"},
	"percent-u":                  {"https://track.example/%u002e%u002e/x", "", "percent"},
	"two-slashes":                {"https://track.example//v1/", "", "empty_segment"},
	"two-slashes-within":         {"https://track.example/v1//x", "", "empty_segment"},
	"two-slashes-at-the-end":     {"https://track.example/v1//", "", "empty_segment"},
}

func TestVectors(t *testing.T) {
	for name, tt := range vectors {
		t.Run(name, func(t *testing.T) {
			u, err := Parse(tt.text)
			if tt.word != "" {
				var e *Error
				if !errors.As(err, &e) || e.Word != tt.word || e.Text == "" {
					t.Errorf("%q gives %v (%+v), want %q", tt.text, err, u, tt.word)
				}
				return
			}
			if err != nil || u.String() != tt.expect {
				t.Errorf("%q gives %q, %v; want %q", tt.text, u, err, tt.expect)
			}
		})
	}
}

// The text of an error never repeats more than one character of a URL: it is
// shown to the plugin, and records hold the URL already.
func TestErrorsQuoteNoText(t *testing.T) {
	for name, tt := range vectors {
		if _, err := Parse(tt.text); err != nil && strings.Contains(err.Error(), "example") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func mustParse(t testing.TB, text string) URL {
	t.Helper()
	u, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCovers(t *testing.T) {
	for name, tt := range map[string]struct {
		allowed, asked string
		want           bool
	}{
		"itself":                    {"https://track.example/v1/", "https://track.example/v1/", true},
		"below":                     {"https://track.example/v1/", "https://track.example/v1/a/b?c", true},
		"written-with-its-own-port": {"https://track.example/v1/", "https://track.example:443/v1/a", true},
		"whole-host":                {"https://track.example", "https://track.example/a", true},
		"one-path-with-a-query":     {"https://track.example/v1", "https://track.example/v1?a", true},
		"one-path-alone":            {"https://track.example/v1", "https://track.example/v1/a", false},
		"one-path-begun":            {"https://track.example/v1", "https://track.example/v1evil", false},
		"without-the-slash":         {"https://track.example/v1/", "https://track.example/v1", false},
		"path-begun":                {"https://track.example/v1/", "https://track.example/v1evil/", false},
		"path-in-other-case":        {"https://track.example/v1/", "https://track.example/V1/a", false},
		"path-encoded":              {"https://track.example/v1/", "https://track.example/%76%31/a", false},
		"path-in-a-query":           {"https://track.example/v1/", "https://track.example/?/v1/", false},
		"other-scheme":              {"https://track.example/", "http://track.example:443/", false},
		"other-port":                {"https://track.example/", "https://track.example:8443/", false},
		"host-as-a-suffix":          {"https://track.example/", "https://eviltrack.example/", false},
		"host-below":                {"https://track.example/", "https://a.track.example/", false},
		"host-as-a-prefix":          {"https://track.example/", "https://track.example.evil.test/", false},
		"zero-entry":                {"", "https://track.example/", false},
	} {
		var allowed URL
		if tt.allowed != "" {
			allowed = mustParse(t, tt.allowed)
		}
		if got := allowed.Covers(mustParse(t, tt.asked)); got != tt.want {
			t.Errorf("%s: %s covers %s: %v", name, tt.allowed, tt.asked, got)
		}
	}
}

func TestIsAddress(t *testing.T) {
	for text, want := range map[string]bool{"http://127.0.0.1/": true, "http://[::1]/": true, "http://localhost/": false, "http://1.2.3.four/": false} {
		if got := mustParse(t, text).IsAddress(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"plain":   "https://track.example/v1/shipments/LK-581106?fields=state",
		"encoded": "https://track.example/v1/%E8%AF%BB%E4%B9%A6%E4%BC%9A/a%20b?q=%E6%8A%A5%E5%90%8D",
		"longest": "https://track.example/" + strings.Repeat("abcdefg/", 250),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
