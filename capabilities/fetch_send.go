package capabilities

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/strictjson"
	"github.com/toolhost/toolhost/host/stricturl"
)

// Call answers one request of a guest.
func (f *FetchReach) Call(ctx context.Context, function string, request strictjson.Value) (Answer, error) {
	if function != "send" {
		return Refuse(Invalid, "no such function", "unknown_function"), nil
	}
	q, err := parseFetch(request)
	if err != nil {
		return asked(q.String(), Refuse(Invalid, err.Error(), "invalid_request")), nil
	}
	answer, err := f.answer(ctx, q)
	return asked(q.String(), answer), err
}

// forAuthors is what a guest is told: what is wrong with its own text, and not
// what the config or the session has.
func (d *Denial) forAuthors() string {
	if strings.HasPrefix(d.Word, "url_") || d.Word == "method_not_allowed" {
		return d.Text
	}
	return "the grant does not cover this request"
}

// answer holds a request against the grant and the allow list, and sends it.
func (f *FetchReach) answer(ctx context.Context, q fetchRequest) (Answer, error) {
	switch {
	case f.only != nil && q.url != *f.only:
		return Refuse(Denied, f.c.Name+": the grant names another URL", "not_the_granted_url"), nil
	case f.only != nil && len(q.headers) > 0:
		// The one URL is what the model wrote and the gate has seen; headers would
		// be the guest's own to fill.
		return Refuse(Denied, f.c.Name+": the grant names the one URL and no headers", "headers_not_granted"), nil
	}
	choice, err := f.choose(q.method, q.url)
	if err == nil && !slices.Contains(guestMethods(), q.method) {
		err = &Denial{"method_not_allowed", notTaken(q.method)} // what an entry lists for deliveries is none of a guest's
	}
	var d *Denial
	switch {
	case errors.As(err, &d):
		return Refuse(Denied, f.c.Name+": "+d.forAuthors(), d.reason()), nil
	case err != nil:
		return Answer{}, err
	}
	answer, err := f.send(ctx, q, choice)
	if errors.As(err, &d) {
		return Answer{Status: NotAvailable, Reason: d.reason()}, nil
	}
	return answer, err
}

// send makes one request. There is no client around the transport: nothing
// follows a redirect or keeps a cookie.
func (f *FetchReach) send(ctx context.Context, q fetchRequest, choice fetchChoice) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, f.c.Time)
	defer cancel()
	hush()
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	request, err := newRequest(ctx, q, choice)
	if err != nil {
		return Answer{}, err
	}
	response, err := choice.entry.transport.RoundTrip(request)
	if err != nil {
		return Answer{}, noAnswer(ctx, err, connected)
	}
	defer func() { _ = response.Body.Close() }() // only read
	if err := unwanted(response); err != nil {
		return Answer{}, err
	}
	body, err := plainBody(response, f.c.MaxBytes+1)
	switch {
	case err != nil:
		return Answer{}, noAnswer(ctx, err, true)
	case int64(len(body)) > f.c.MaxBytes:
		return Answer{}, &Denial{"too_long", fmt.Sprintf("the response is longer than max_bytes (%d)", f.c.MaxBytes)}
	case repeats(response, body, f.withheld(choice.adds)):
		return Answer{}, &Denial{"echo", "the response repeats a secret that the host has sent"}
	}
	return Answer{Status: OK, Body: appendResponse(response, body), Got: strconv.Itoa(response.StatusCode)}, nil
}

// plainBody reads the body up to a bound, as it was before its encoding. net/http
// does not do it for us: it would take the first of several encodings for all.
func plainBody(r *http.Response, most int64) ([]byte, error) {
	var plain io.Reader = r.Body
	if encoding(r) == "gzip" {
		var err error
		if plain, err = gzip.NewReader(r.Body); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(plain, most))
}

// encoding is that of the body, in lower case; several stand with commas.
func encoding(r *http.Response) string {
	e := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ","))
	if e == "identity" || r.Body == http.NoBody {
		return ""
	}
	return e
}

// newRequest builds the request from the entry's host and the checked path. The
// bytes that were checked are the bytes that are sent.
func newRequest(ctx context.Context, q fetchRequest, choice fetchChoice) (*http.Request, error) {
	u, err := url.Parse(choice.url.String())
	if err != nil {
		return nil, &Denial{"url", "another reader does not take the URL"}
	}
	if u.Scheme != choice.entry.URL.Scheme || u.Host != choice.entry.URL.Authority() || u.RequestURI() != choice.url.Target() {
		return nil, &Denial{"url", "another reader understands the URL differently"}
	}
	request, err := http.NewRequestWithContext(ctx, q.method, u.String(), nil)
	if err != nil {
		return nil, &Denial{"url", "no request can be made of it"}
	}
	request.Header.Set("User-Agent", "toolhost")
	for _, h := range q.headers {
		request.Header.Set(h.Name, h.Value)
	}
	for _, h := range choice.adds.Headers { // after the guest's: the host's stand
		request.Header.Set(h.Name, h.Value)
	}
	request.Header.Set("Accept-Encoding", "gzip") // see plainBody
	return request, nil
}

// unwanted refuses what is no plain answer.
func unwanted(r *http.Response) error {
	switch r.StatusCode {
	case http.StatusSwitchingProtocols:
		return &Denial{"bad_answer", "the server changes to another protocol"}
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return &Denial{"redirect", fmt.Sprintf("the server answers with a redirect (%d), which is not followed", r.StatusCode)}
	}
	if e := encoding(r); e != "" && e != "gzip" {
		return &Denial{"bad_answer", "the body has an encoding that was not asked for"}
	}
	return nil
}

// noAnswer sorts an error. Its text is told only where the server has no part
// in it: others may quote what the server said, and with it what the host has
// sent, in this request or in an earlier one. None ends the call, as a server
// that is away is no fault of the host's; a call whose own time is over ends
// without our help.
func noAnswer(ctx context.Context, err error, connected bool) error {
	var network net.Error
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errAddress):
		return &Denial{"address", plainError(err)}
	case errors.As(err, &certificate):
		return &Denial{"certificate", certificateFault(err)}
	case errors.Is(ctx.Err(), context.Canceled):
		return &Denial{"cancelled", "the call ended"}
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return &Denial{"timeout", "there was no whole answer in time"}
	case errors.As(err, &name):
		return &Denial{"name", plainError(err)}
	case !connected:
		return &Denial{"no_connection", unconnected(err)}
	}
	return &Denial{"bad_answer", "the answer is broken, or has too many headers"}
}

// certificateFault says in our own words what is wrong with a certificate: its
// names are the server's.
func certificateFault(err error) string {
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "the certificate is for another name"
	case errors.As(err, &unknown):
		return "the certificate is signed by no authority that is trusted here"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired, or is not valid yet"
	}
	return "the certificate does not hold"
}

// unconnected says why there is no connection: in the system's words, in those
// of a TLS alert, or in our own.
func unconnected(err error) string {
	var operation *net.OpError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &operation):
		return plainError(err)
	case errors.As(err, &record):
		return "the server does not speak TLS"
	}
	return "the server ends the connection, or its TLS cannot be understood"
}

// plainError is an error's text, for the record.
func plainError(err error) string {
	const most = 300 // characters
	if r := []rune(err.Error()); len(r) > most {
		return string(r[:most]) + "..."
	}
	return err.Error()
}

// appendResponse writes what a guest gets of a response.
func appendResponse(r *http.Response, body []byte) []byte {
	b := fmt.Appendf(nil, `{"status":%d,"headers":{`, r.StatusCode)
	first := true
	for _, name := range guestSees() {
		value := r.Header.Get(name)
		if value == "" || len(value) > maxHeader || !stricturl.Printable(value) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(strictjson.AppendString(b, name), ':')
		b = strictjson.AppendString(b, value)
	}
	return append(appendContent(append(b, `},`...), body), '}')
}
