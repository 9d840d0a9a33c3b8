package capabilities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/stricturl"
)

// A delivery by HTTP is held against the allow list as a guest's request is, and
// dialled as one is: the one check, with one more caller. What differs is the
// method, the body, and that the answer is a status and nothing more.
//
//   - The key goes with every attempt (draft-ietf-httpapi-idempotency-key-header),
//     so that what may have been taken can be sent again.
//   - Each attempt has a connection of its own: on one that is kept, net/http would
//     send a request with a key once more by itself.
//   - The status line decides (RFC 9110, section 15); the body is read, so that the
//     other side can end its work, and thrown away.

// Delivery is one request that delivers.
type Delivery struct {
	Method string // POST, PUT, PATCH or DELETE
	URL    string // what URLTemplate.Render gives
	Body   []byte // JSON; empty: none
	Key    string // the Idempotency-Key: the same for each attempt, another for each delivery
}

const (
	keyHeader = "Idempotency-Key"
	maxKey    = 200         // bytes
	drainTime = time.Second // for the rest of a body that nobody reads
)

// deliveryMethods are the methods of a delivery. No guest has them: guestMethods.
func deliveryMethods() []string {
	return []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

// Deliver holds a delivery against the allow list and makes one attempt. The
// secrets are those of Reach.
func (f *Fetch) Deliver(ctx context.Context, secrets []FetchSecrets, d Delivery) Attempt {
	var no *Denial
	request, entry, err := f.delivery(ctx, secrets, d)
	switch {
	case errors.As(err, &no):
		return because(Refused, no)
	case err != nil:
		return because(NotTried, &Denial{"host", plainError(err)})
	case ctx.Err() != nil:
		return because(NotTried, &Denial{"cancelled", "the host stops"})
	}
	ctx, cancel := context.WithTimeout(ctx, f.c.Time)
	defer cancel()
	hush()
	connected := false
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	response, err := entry.delivers.RoundTrip(request.WithContext(traced))
	if err != nil {
		return undelivered(ctx, err, connected)
	}
	defer func() { _ = response.Body.Close() }() // only read
	drain(response, f.c.MaxBytes, cancel)
	return answered(response)
}

// delivery makes the request, or says with a Denial that there is none to make.
func (f *Fetch) delivery(ctx context.Context, secrets []FetchSecrets, d Delivery) (*http.Request, *fetchEntry, error) {
	switch {
	case !slices.Contains(deliveryMethods(), d.Method):
		return nil, nil, &Denial{"method", fmt.Sprintf("%q delivers nothing; %s do", shorten(d.Method), strings.Join(deliveryMethods(), ", "))}
	case d.Key == "" || len(d.Key) > maxKey || !stricturl.Printable(d.Key) || strings.Contains(d.Key, " "):
		return nil, nil, &Denial{"key", fmt.Sprintf("the key is not printable ASCII without spaces, of 1 to %d bytes", maxKey)}
	}
	choice, err := f.Reach(secrets, nil).choose(d.Method, d.URL)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range choice.adds.Headers {
		if http.CanonicalHeaderKey(h.Name) == keyHeader {
			// One key for all would make the other side drop the second delivery.
			return nil, nil, &Denial{"key", "the allow entry sets " + keyHeader + ", which is each delivery's own"}
		}
		if !stricturl.Printable(h.Value) {
			return nil, nil, &Denial{"header", fmt.Sprintf("the value of the entry's header %q is not printable ASCII", shorten(h.Name))}
		}
	}
	q := fetchRequest{url: d.URL, method: d.Method, headers: []FetchHeader{{keyHeader, d.Key}}}
	if len(d.Body) > 0 {
		q.headers = append(q.headers, FetchHeader{"Content-Type", "application/json"})
	}
	request, err := newRequest(ctx, q, choice)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Accept-Encoding", "identity") // nobody reads it
	if len(d.Body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(d.Body)), int64(len(d.Body))
	}
	return request, choice.entry, nil
}

// undelivered sorts an attempt without an answer. All of it is Later: an address
// that may not be dialled is what a name stands for today, a certificate that
// does not hold is renewed, and what may have been taken has its key.
func undelivered(ctx context.Context, err error, connected bool) Attempt {
	var d *Denial
	if !errors.As(noAnswer(ctx, err, connected), &d) {
		d = &Denial{"no_answer", "there was no answer"}
	}
	return because(Later, d)
}

// answered says what a status means.
func answered(r *http.Response) Attempt {
	a := Attempt{Status: strconv.Itoa(r.StatusCode)}
	switch code := r.StatusCode; {
	case code >= 200 && code <= 299:
		a.End = Delivered
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500 && code <= 599:
		a.End, a.After = Later, retryAfter(r.Header.Get("Retry-After"), time.Now())
		a.Reason = "status: the server answers " + a.Status
	case code >= 300 && code <= 399:
		a.End, a.Reason = Refused, "redirect: the server answers "+a.Status+"; it is not followed, the URL must be the right one"
	case code >= 400 && code <= 499:
		a.End, a.Reason = Refused, "status: the server answers "+a.Status
	default: // 101, and what no registry has
		a.End, a.Reason = Later, "bad_answer: the server answers "+a.Status+", which is no answer to a request"
	}
	return a
}

// retryAfter reads seconds or a date (RFC 9110, section 10.2.3). What is neither,
// or over, is 0.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(value, 10, 63); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(n, uint64(MaxAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), MaxAfter)
}

// drain reads what is left of an answer, up to a bound and for a moment. cancel
// ends the request: its status is known.
func drain(r *http.Response, most int64, cancel context.CancelFunc) {
	over := time.AfterFunc(drainTime, cancel)
	defer over.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, most)) // an end in the middle changes nothing
}
