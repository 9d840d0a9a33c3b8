package stricturl

import (
	"errors"
	"net/url"
	"path"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/text/unicode/norm"
)

func addVectors(f *testing.F) {
	for _, tt := range vectors {
		f.Add(tt.text)
	}
}

// FuzzParse: what Parse takes, it reads again from String, and net/url and the
// URL Standard's parser (browsers, Node, curl's like) read as the same URL.
func FuzzParse(f *testing.F) {
	addVectors(f)
	f.Add("http://0-0.xn--a.0-0/")
	f.Add("http://20000000000000000000a")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Word == "" || e.Text == "" {
				t.Fatalf("%q: %v is no *Error with a word", text, err)
			}
			return
		}
		if again, err := Parse(u.String()); err != nil || again != u {
			t.Fatalf("%q is %+v, and %q is %+v, %v", text, u, u.String(), again, err)
		}
		sameInNetURL(t, text, u)
		sameInNetURL(t, u.String(), u)
		sameInStandard(t, text, u)
		sameInStandard(t, u.String(), u)
	})
}

func sameInNetURL(t *testing.T, text string, u URL) {
	t.Helper()
	other, err := url.Parse(text)
	if err != nil {
		t.Fatalf("net/url refuses %q: %v", text, err)
	}
	port := other.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[other.Scheme]
	}
	if other.Scheme != u.Scheme || other.Hostname() != u.Host || port != strconv.Itoa(int(u.Port)) ||
		other.RequestURI() != u.Target() || other.User != nil || other.Fragment != "" || other.Opaque != "" {
		t.Fatalf("%q is %+v, to net/url %#v with the target %q", text, u, other, other.RequestURI())
	}
	clean := path.Clean(other.Path)
	if strings.HasSuffix(other.Path, "/") && clean != "/" {
		clean += "/"
	}
	if clean != other.Path && other.Path != "" {
		t.Fatalf("%q has the path %q, which cleaned is %q", text, other.Path, clean)
	}
}

// sameInStandard holds u against the parser of the URL Standard. It may refuse
// a host with a label in punycode (what decodes to nothing valid), which is then
// a host that cannot be asked for; nothing else. This parser of it asks
// strconv.ParseInt whether the last label is a number, which takes the "-0" of
// 0-0 and gives up early on 20000000000000000000a; by the Standard (IPv4 number
// parser, step 7) neither is one, so such names are left out.
func sameInStandard(t *testing.T, text string, u URL) {
	t.Helper()
	last := u.Host[strings.LastIndex(u.Host, ".")+1:]
	if strings.HasPrefix(last, "0-") || len(last) > 18 && last[0] <= '9' {
		return
	}
	other, err := whatwg.Parse(text)
	if err != nil {
		if !strings.Contains("."+u.Host, ".xn--") {
			t.Fatalf("the URL Standard refuses %q: %v", text, err)
		}
		return
	}
	port := other.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[other.Scheme()]
	}
	host := strings.TrimSuffix(strings.TrimPrefix(other.Hostname(), "["), "]")
	if other.Scheme() != u.Scheme || host != u.Host || port != strconv.Itoa(int(u.Port)) || other.Username() != "" || other.Password() != "" {
		t.Fatalf("%q is %+v, by the URL Standard %s", text, u, other.Href(false))
	}
	if other.Pathname() != u.Path {
		t.Fatalf("%q has the path %q, by the URL Standard %q", text, u.Path, other.Pathname())
	}
	// An apostrophe of a query is percent-encoded there: the same query to a server.
	if other.Query() != strings.ReplaceAll(u.Query, "'", "%27") || other.Hash() != "" {
		t.Fatalf("%q has the query %q, by the URL Standard %q", text, u.Query, other.Query())
	}
}

// FuzzCovers: what an allow entry covers begins with the entry's scheme, host
// and port, and its path, decoded and cleaned, is the entry's or below it.
func FuzzCovers(f *testing.F) {
	addVectors(f)
	var entries []URL
	for _, text := range []string{
		"https://track.example/v1/", "https://track.example/v1", "http://127.0.0.1:8080/", "https://track.example:8443/a/b/", "http://[::1]/x/",
	} {
		entries = append(entries, mustParse(f, text))
		for _, rest := range []string{"", "a", "a/../b", "..%2f", "%2e%2e/x", "a?b", "/x", ";/x", "..;/x", "%E2%80%A5/x"} {
			f.Add(text + rest)
		}
	}
	f.Add("https://track.example:443/v1/")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err != nil {
			return
		}
		for _, a := range entries {
			if a.Covers(u) {
				checkCovered(t, a, text)
			}
		}
	})
}

func checkCovered(t *testing.T, a URL, text string) {
	t.Helper()
	origin := a.Scheme + "://" + a.Authority()
	rest, ok := strings.CutPrefix(text, a.Scheme+"://"+a.Host+":"+strconv.Itoa(int(a.Port)))
	if !ok {
		rest, ok = strings.CutPrefix(text, origin)
	}
	if !ok || rest != "" && rest[0] != '/' {
		t.Fatalf("%s covers %q", a, text)
	}
	plain, _, _ := strings.Cut(rest, "?")
	plain, err := url.PathUnescape(plain)
	if err != nil {
		t.Fatalf("%s covers %q: %v", a, text, err)
	}
	for _, reading := range []string{plain, norm.NFKC.String(plain), withoutParameters(plain)} {
		clean := path.Clean("/" + reading)
		below := strings.HasSuffix(a.Path, "/") && strings.HasPrefix(clean, a.Path)
		if clean+"/" != a.Path && clean != a.Path && !below {
			t.Fatalf("%s covers %q, whose path can be read as %q", a, text, clean)
		}
	}
}

// withoutParameters is a path as some servers (Tomcat) have it: without what
// follows a semicolon in a segment.
func withoutParameters(p string) string {
	segments := strings.Split(p, "/")
	for i := range segments {
		segments[i], _, _ = strings.Cut(segments[i], ";")
	}
	return strings.Join(segments, "/")
}

// No character, percent-encoded, becomes a step (a dot segment, a slash, a
// backslash, a percent sign) by Unicode's compatibility forms. Those that become
// three characters make none: "..." is a name, and the slash of U+2100, "a/c",
// has letters at both sides.
func TestNoCharacterFoldsIntoAStep(t *testing.T) {
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		folded := norm.NFKC.String(string(r))
		if len(folded) > 2 || strings.Trim(folded, ".") != "" && !strings.ContainsAny(folded, `/\%`) {
			continue
		}
		if _, err := Parse("https://track.example/v1/" + url.PathEscape(string(r)) + "/x"); err == nil {
			t.Errorf("%U folds into %q and is taken", r, folded)
		}
	}
}
