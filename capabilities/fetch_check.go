package capabilities

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/strictjson"
	"github.com/toolhost/toolhost/host/stricturl"
)

// The one check of the kind "fetch", with its two callers: the capability gate
// (Admit) and the host function (fetch_send.go). The second half of it, which
// address may be dialled, is where the dial is: fetch_dial.go.

// A fetchChoice is a URL that the allow list covers.
type fetchChoice struct {
	url   stricturl.URL
	entry *fetchEntry
	adds  *FetchSecrets
	place int // of the entry in the allow list
}

// guestMethods are the methods of a guest, whatever an entry lists.
func guestMethods() []string { return []string{http.MethodGet, http.MethodHead} }

// takes tells whether an entry lists a method ("": any of a guest's).
func (e *fetchEntry) takes(method string) bool {
	if method == "" {
		return slices.ContainsFunc(guestMethods(), e.takes)
	}
	return slices.Contains(e.Methods, method)
}

// choose finds the first entry that covers a URL and takes the method ("": any of
// a guest's).
func (f *FetchReach) choose(method, text string) (fetchChoice, error) {
	u, err := stricturl.Parse(text)
	var strange *stricturl.Error
	if errors.As(err, &strange) {
		return fetchChoice{}, &Denial{"url_" + strange.Word, strange.Text}
	}
	if err != nil {
		return fetchChoice{}, &Denial{"url", err.Error()}
	}
	covered := false
	for i := range f.entries {
		e := &f.entries[i]
		if !e.URL.Covers(u) {
			continue
		}
		covered = true
		if !e.takes(method) {
			continue
		}
		if i >= len(f.secrets) {
			return fetchChoice{}, fmt.Errorf("%d sets of headers for %d allow entries", len(f.secrets), len(f.entries))
		}
		if why := f.secrets[i].Closed; why != "" {
			return fetchChoice{}, closed(why)
		}
		return fetchChoice{url: u, entry: e, place: i, adds: &f.secrets[i]}, nil
	}
	if covered {
		return fetchChoice{}, &Denial{"method_not_allowed", notTaken(method)}
	}
	return fetchChoice{}, &Denial{"not_allowed", f.notCovered(u)}
}

func notTaken(method string) string {
	if method == "" {
		return "the allow entry of the URL takes neither GET nor HEAD"
	}
	return fmt.Sprintf("the allow entry of the URL does not take %q", shorten(method))
}

func closed(why string) error { return &Denial{"no_session_value", why} }

// notCovered says how near a URL comes to the allow list.
func (f *FetchReach) notCovered(u stricturl.URL) string {
	near := "the host"
	for _, e := range f.entries {
		switch {
		case e.URL.Host != u.Host:
		case e.URL.Scheme != u.Scheme || e.URL.Port != u.Port:
			if near == "the host" {
				near = "this scheme and port of the host"
			}
		default:
			near = "this path of the host"
		}
	}
	return "no allow entry covers " + near
}

// guestHeaders are the headers that a guest may set: what it would rather have,
// and nothing that frames, routes or authorises a request.
func guestHeaders() []string {
	return []string{"accept", "accept-language", "if-modified-since", "if-none-match"}
}

// guestSees are the headers of a response that a guest gets.
func guestSees() []string {
	return []string{"content-language", "content-type", "etag", "last-modified", "retry-after"}
}

const maxHeader = 200 // bytes of a header of the guest's

// A fetchRequest is a request as a guest wrote it.
type fetchRequest struct {
	url     string
	method  string
	headers []FetchHeader
}

// String is a request for the record: the URL, and what is not usual about it.
func (q fetchRequest) String() string {
	text := q.url
	if q.method != http.MethodGet {
		text = shorten(q.method) + " " + text
	}
	for _, h := range q.headers {
		text += " " + h.Name + ": " + h.Value
	}
	return text
}

func parseFetch(request strictjson.Value) (fetchRequest, error) {
	q := fetchRequest{method: http.MethodGet}
	var ok bool
	if q.url, ok = request.TextAt("url"); !ok || !onlyMembers(request, "from", "url", "method", "headers") {
		return q, errMembers
	}
	if _, given := request.Get("method"); given {
		if q.method, ok = request.TextAt("method"); !ok || q.method == "" { // "" would be any method to choose
			return q, errMembers
		}
	}
	headers, given := request.Get("headers")
	if given && headers.Kind() != strictjson.Object {
		return q, errMembers
	}
	for name, v := range headers.Members() {
		value, err := text(v)
		switch {
		case err != nil:
			return q, err
		case !slices.Contains(guestHeaders(), name):
			return q, fmt.Errorf("a header that a plugin cannot set; it can set, in lower case, %s", strings.Join(guestHeaders(), ", "))
		case len(value) > maxHeader || !stricturl.Printable(value):
			return q, fmt.Errorf("header %s: printable ASCII of at most %d bytes is expected", name, maxHeader)
		}
		q.headers = append(q.headers, FetchHeader{name, value})
	}
	return q, nil
}
