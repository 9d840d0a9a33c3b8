package capabilities

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// In these texts {P} is the port of the allowed server, {C} that of the canary.
// The host of each is refused by the URL alone, before any name is looked up.
var refusedURLs = map[string]struct {
	word  string
	texts []string
}{
	"address-in-another-writing": {"url_host", strings.Fields(`
			https://2130706433:{P}/v1/ https://0177.0.0.1:{P}/v1/ https://0x7f.0.0.1:{P}/v1/ https://0x7f000001:{P}/v1/ https://0X7F000001:{P}/v1/
			https://017700000001:{P}/v1/ https://127.1:{P}/v1/ https://127.0.1:{P}/v1/ https://0x7f.1:{P}/v1/ https://0177.0x0.0.1:{P}/v1/
			https://127.0.0.01:{P}/v1/ https://127.0.0.1.:{P}/v1/ https://00127.0.0.1:{P}/v1/ https://127.0.0.0x1:{P}/v1/ https://127.0.0.1.1:{P}/v1/
			http://2130706433:{C}/ http://127.1:{C}/ http://0x7f000001:{C}/ http://0:{C}/ http://0x0:{C}/ http://00:{C}/ http://0.0:{C}/ http://0.0.0:{C}/
			http://2852039166/latest http://0xA9FEA9FE/latest http://0xa9fea9fe/latest http://0251.0376.0251.0376/ http://169.0xfe.0251.254/ http://169.254.43518/
			http://169.16689662/ http://[::ffff:169.254.169.254]/ http://[::ffff:a9fe:a9fe]/ http://[::169.254.169.254]/ http://[64:ff9b::169.254.169.254]/
			https://[::ffff:127.0.0.1]:{P}/v1/ https://[::ffff:7f00:1]:{P}/v1/ https://[::127.0.0.1]:{P}/v1/ https://[0:0:0:0:0:0:0:1]:{P}/v1/
			https://[0000::1]:{P}/v1/ https://[::0:1]:{P}/v1/ https://[::]1:{P}/v1/ https://[::1%25lo]:{P}/v1/ https://[::1%lo]:{P}/v1/ https://[fe80::1%25eth0]:{P}/v1/
			https://[::FFFF:127.0.0.1]:{P}/v1/ https://[0:0:0:0:0:ffff:127.0.0.1]:{P}/v1/ https://[127.0.0.1]:{P}/v1/ https://::1:{P}/v1/`)},
	"address-that-is-not-listed": {"not_allowed", strings.Fields(`
			https://127.0.0.1:{P}/v1/ https://[::1]:{P}/v1/ https://0.0.0.0:{P}/v1/ https://[::]:{P}/v1/ http://169.254.169.254/latest/meta-data/
			http://[64:ff9b::7f00:1]:{C}/ http://[2002:7f00:1::]:{C}/ http://[::7f00:1]:{C}/ http://[fe80::1]:{C}/ http://127.0.0.1:{C}/ http://127.0.0.2:{C}/
			http://localhost:{C}/ http://127.0.0.1.nip.io:{C}/ http://127-0-0-1.example:{C}/`)},
	"userinfo": {"url_userinfo", strings.Fields(`
			https://user@track.example:{P}/v1/ https://user:pw@track.example:{P}/v1/ https://track.example:{P}@127.0.0.1:{C}/v1/ https://track.example@127.0.0.1:{C}/
			https://@track.example:{P}/v1/ https://a@b@track.example:{P}/v1/ https://track.example:{P}@a@127.0.0.1:{C}/ https://track%2eexample@127.0.0.1/`)},
	"backslash": {"url_backslash", strings.Fields(`
			https://track.example:{P}\@127.0.0.1:{C}/v1/ https://127.0.0.1:{C}\@track.example:{P}/v1/ https:\\track.example:{P}\v1\ https://track.example:{P}/v1/..\x
			https://track.example:{P}\v1/ https://track.example:{P}/v1/\..\x https:/\127.0.0.1:{C}/v1/`)},
	"host-in-another-writing": {"url_host", strings.Fields(`
			https://track.example.:{P}/v1/ https://TRACK.example:{P}/v1/ https://Track.Example:{P}/v1/ https://track%2Eexample:{P}/v1/ https://%74rack.example:{P}/v1/
			https://track..example:{P}/v1/ https://.track.example:{P}/v1/ https://track.example,evil.test:{P}/v1/ https://track.example%00.evil.test:{P}/v1/
			https://:{P}/v1/ https:///v1/ https://track.example%40evil.test/v1/ https://[track.example]:{P}/v1/ https://XN--bcher-kva.example:{P}/v1/`)},
	"host-not-ascii": {"url_not_ascii", strings.Fields(`
			https://track．example:{P}/v1/ https://track。example:{P}/v1/ https://track｡example:{P}/v1/ https://ｔrack.example:{P}/v1/ https://trac𝐤.example:{P}/v1/
			https://bücher.example:{P}/v1/ https://traсk.example:{P}/v1/ http://①②⑦.⓪.⓪.①:{C}/ https://track.example:{P}／v1/ https://track.exampleß:{P}/v1/
			https://track.example：{P}/v1/ https://track.example:{P}/v1/．．/x https://track.example:{P}/v1/读`)},
	"host-that-only-looks-like-it": {"not_allowed", strings.Fields(`
			https://track.example.evil.test:{P}/v1/ https://eviltrack.example:{P}/v1/ https://a.track.example:{P}/v1/ https://track-example:{P}/v1/ https://track.exampl:{P}/v1/
			https://track.example.com:{P}/v1/ https://xn--bcher-kva.example:{P}/v1/ https://example:{P}/v1/`)},
	"other-port":       {"not_allowed", strings.Fields(`https://track.example:{C}/v1/ https://track.example/v1/ https://track.example:80/v1/ https://track.example:1/v1/`)},
	"port-in-no-form":  {"url_port", strings.Fields(`https://track.example:0/v1/ https://track.example:0{P}/v1/ https://track.example:/v1/ https://track.example:+{P}/v1/ https://track.example:99999/v1/ https://track.example:{P}:{C}/v1/ https://track.example:{P};/v1/ https://track.example:-{P}/v1/ https://track.example:4{P}{P}/v1/`)},
	"other-scheme":     {"not_allowed", strings.Fields(`http://track.example:{P}/v1/`)},
	"scheme-not-known": {"url_scheme", strings.Fields(`HTTP://track.example:{P}/v1/ HtTpS://track.example:{P}/v1/ HTTPS://track.example:{P}/v1/ ftp://track.example:{P}/v1/ file:///etc/passwd file://track.example:{P}/v1/ data:text/plain,https://track.example:{P}/v1/ javascript:alert(1) gopher://127.0.0.1:{C}/_x track.example:{P}/v1/ //track.example:{P}/v1/ /v1/ https:track.example:{P}/v1/ https:/track.example:{P}/v1/ ws://track.example:{P}/v1/ https+unix://x/v1/ url:https://track.example:{P}/v1/ unix:/run/x`)},
	"dot-segments":     {"url_dot_segment", strings.Fields(`https://track.example:{P}/v1/../x https://track.example:{P}/v1/./x https://track.example:{P}/v1/.. https://track.example:{P}/v1/. https://track.example:{P}/v1/%2e%2e/x https://track.example:{P}/v1/%2E%2e/x https://track.example:{P}/v1/.%2e/x https://track.example:{P}/v1/..;/x https://track.example:{P}/v1/..;a=b/x https://track.example:{P}/v1/%2e%2e;/x https://track.example:{P}/v1/..%3B/x https://track.example:{P}/../v1/x https://track.example:{P}/x/../v1/`)},
	"steps-encoded":    {"url_encoded", strings.Fields(`https://track.example:{P}/v1/..%2fx https://track.example:{P}/v1/..%2Fx https://track.example:{P}/v1/%252e%252e/x https://track.example:{P}/v1/..%252fx https://track.example:{P}/v1/..%5cx https://track.example:{P}/v1/%5c..%5cx https://track.example:{P}/v1/a%2eb https://track.example:{P}/v1/%EF%BC%8E%EF%BC%8E/x https://track.example:{P}/v1/..%EF%BC%8Fx https://track.example:{P}/v1/%E2%80%A5/x https://track.example:{P}/v1%2f..%2fx`)},
	"overlong-utf8":    {"url_not_utf8", strings.Fields(`https://track.example:{P}/v1/%c0%ae%c0%ae/x https://track.example:{P}/v1/..%c0%afx https://track.example:{P}/v1/%e0%80%ae https://track.example:{P}/v1/?%ff`)},
	"percent-broken":   {"url_percent", strings.Fields(`https://track.example:{P}/v1/%u002e%u002e/x https://track.example:{P}/v1/% https://track.example:{P}/v1/%2 https://track.example:{P}/v1/%%32%65`)},
	"empty-segments":   {"url_empty_segment", strings.Fields(`https://track.example:{P}//v1/ https://track.example:{P}/v1//x https://track.example:{P}/v1// https://track.example:{P}//127.0.0.1:{C}/v1/`)},
	"path-outside":     {"not_allowed", strings.Fields(`https://track.example:{P} https://track.example:{P}/ https://track.example:{P}/v1 https://track.example:{P}/v1?a https://track.example:{P}/v1evil https://track.example:{P}/v1evil/ https://track.example:{P}/V1/ https://track.example:{P}/%76%31/ https://track.example:{P}/v%31/x https://track.example:{P}/v1;/x https://track.example:{P}/x/v1/ https://track.example:{P}/?/v1/`)},
	"no-path":          {"url_path", strings.Fields(`https://track.example:{P}?/v1/ https://127.0.0.1:{C}?@track.example:{P}/v1/`)},
	"fragment":         {"url_fragment", strings.Fields(`https://track.example:{P}/v1/#x https://track.example:{P}/v1/x#/../y https://127.0.0.1:{C}#@track.example:{P}/v1/ https://track.example:{P}/v1/#`)},
	"raw-controls": {"url_control", []string{
		"https://track.example:{P}/v1/a b", " https://track.example:{P}/v1/", "https://track.example:{P}/v1/ ", "ht\ttps://track.example:{P}/v1/", "https://tr\nack.example:{P}/v1/",
		"https://track.example:{P}/v1/x\r\nHost: evil.test", "https://track.example:{P}/v1/ HTTP/1.1\r\nHost: evil.test\r\n\r\nGET /", "https://track.example:{P}/v1/\x00", "https://track.example\x00.evil.test/",
		"https://track.example:{P}/v1/.\t./x", "https://track.example:{P}/v1/\x7f", "\nhttps://track.example:{P}/v1/", "https://track.example:{P}/v1/\v",
	}},
	"encoded-controls": {"url_control", strings.Fields(`https://track.example:{P}/v1/%0d%0aX:y https://track.example:{P}/v1/%00 https://track.example:{P}/v1/a%00.json https://track.example:{P}/v1/%09 https://track.example:{P}/v1/?a=%0A https://track.example:{P}/v1/.%0a./x https://track.example:{P}/v1/%7f`)},
	"characters":       {"url_character", []string{"https://track.example:{P}/v1/{x}", "https://track.example:{P}/v1/<x>", "https://track.example:{P}/v1/^", "https://track.example:{P}/v1/|", "https://track.example:{P}/v1/`id`", `https://track.example:{P}/v1/"`, "https://track.example:{P}/v1/[x]"}},
	"too-long":         {"url_too_long", []string{"https://track.example:{P}/v1/" + strings.Repeat("a", 3000), strings.Repeat("https://", 400)}},
	"nothing":          {"url_scheme", []string{"", "https", "://", "*", "?", "."}},
}

// Every refused text is held against the same check by its two callers: the
// host function (with and without the grant's one URL) and the gate.
func TestFetchRefusesURLs(t *testing.T) {
	s := newSite(t)
	reached := 0
	base := s.serve(t, "https", "track.example", func(http.ResponseWriter, *http.Request) { reached++ })
	f := s.open(t, entry(t, base+"v1/"))
	port := strings.TrimSuffix(base[strings.LastIndex(base, ":")+1:], "/")
	for name, rule := range refusedURLs {
		t.Run(name, func(t *testing.T) {
			for _, text := range rule.texts {
				text = strings.NewReplacer("{P}", port, "{C}", s.canary.port).Replace(text)
				for caller, only := range map[string]*string{"all": nil, "only": &text} {
					a := s.get(t, f.Reach(withSecret(1), only), text)
					if a.Status != Denied || wordOf(a) != rule.word || a.Asked != text {
						t.Errorf("%s: %q gives %s %q, want %q; asked %q", caller, text, a.Status.Word(), a.Reason, rule.word, a.Asked)
					}
				}
				var d *Denial
				if err := f.Reach(withSecret(1), &text).Admit(t.Context()); !errors.As(err, &d) || d.Word != rule.word {
					t.Errorf("the gate: %q gives %v, want %q", text, err, rule.word)
				}
			}
		})
	}
	if n := s.names.lookups("track.example"); reached > 0 || n > 0 {
		t.Errorf("%d requests and %d lookups", reached, n)
	}
}

// What is let through arrives as it was written.
func TestFetchSendsTheURLAsItWasChecked(t *testing.T) {
	s := newSite(t)
	h := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Host + " " + r.RequestURI)) }
	base := s.serve(t, "https", "track.example", h)
	literal := s.serve(t, "http", "127.0.0.1", h)
	puny := s.serve(t, "https", "xn--bcher-kva.example", h)
	f := s.open(t, entry(t, base+"v1/"), entry(t, literal), entry(t, puny))
	for _, text := range []string{
		base + "v1/", base + "v1/x?y=z&y", base + "v1/a%20b/%E8%AF%BB%e4%b9%a6", base + "v1/x;y=z/...", base + "v1/?", base + "v1/?a=/../%2e%2F'[]",
		base + "v1/a@b:c!$&'()*+,=~_-", base + "v1/%41%3f%23", literal, literal + "a", puny + "x",
	} {
		if err := f.Reach(withSecret(3), &text).Admit(t.Context()); err != nil {
			t.Errorf("the gate: %q: %v", text, err)
		}
		host, rest, _ := strings.Cut(strings.SplitN(text, "//", 2)[1], "/")
		for _, only := range []*string{nil, &text} {
			wantText(t, s.get(t, f.Reach(withSecret(3), only), text), 200, host+" /"+rest)
		}
	}
}
