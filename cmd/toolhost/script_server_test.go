package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolhost/toolhost/host/config"
)

// A scriptServer is a real HTTP server on loopback. What it answers is in the
// last part of the path: echo (the request's headers), redirect (to the URL in
// the query), long (40,000 characters), bytes (no text), solde (a failure) or
// anything else (a parcel).
type scriptServer struct {
	*httptest.Server
	requests atomic.Int64
}

func (s *scriptServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	switch r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] {
	case "echo":
		_ = r.Header.Write(w)
	case "redirect":
		http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
	case "long":
		fmt.Fprint(w, strings.Repeat("All parcels are late. ", 2000))
	case "bytes":
		_, _ = w.Write([]byte{0xff, 0xfe, 0})
	case "solde":
		http.Error(w, "out of order", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"parcel":%q,"authorized":%t}`, r.URL.Path, r.Header.Get("Authorization") != "")
	}
}

// cmdServer starts a server and puts its host and port into a variable.
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 1 {
		ts.Fatalf("usage: server NAME")
	}
	s := &scriptServer{}
	s.Server = httptest.NewServer(s)
	ts.Defer(s.Close)
	if of(ts).servers == nil {
		of(ts).servers = map[string]*scriptServer{}
	}
	of(ts).servers[args[0]] = s
	ts.Setenv(args[0], strings.TrimPrefix(s.URL, "http://"))
}

func cmdServed(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 2 || of(ts).servers[args[0]] == nil {
		ts.Fatalf("usage: served NAME N, after server NAME")
	}
	if n := of(ts).servers[args[0]].requests.Load(); strconv.FormatInt(n, 10) != args[1] {
		ts.Fatalf("the server %s had %d requests, want %s", args[0], n, args[1])
	}
}

// cmdLeave runs the demo's leave service where the checkout looks for it, until
// the script ends, and puts its host and port into a variable.
func cmdLeave(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 1 {
		ts.Fatalf("usage: leave NAME, after checkout")
	}
	conf, err := config.Load(ts.MkAbs(standardConfig), config.Options{})
	ts.Check(err)
	address, err := leaveAddress(conf)
	ts.Check(err)
	stop, err := serveLeave(address)
	ts.Check(err)
	ts.Defer(stop)
	ts.Setenv(args[0], address)
}

// cmdMail runs the demo's mail server on a free port, until the script ends.
func cmdMail(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 1 {
		ts.Fatalf("usage: mail NAME")
	}
	address, err := findFreeAddress()
	ts.Check(err)
	box, stop, err := serveMail(address)
	ts.Check(err)
	ts.Defer(stop)
	if of(ts).mails == nil {
		of(ts).mails = map[string]*mailbox{}
	}
	of(ts).mails[args[0]] = box
	ts.Setenv(args[0], address)
}

func cmdMailed(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg)
	if len(args) != 2 || of(ts).mails[args[0]] == nil {
		ts.Fatalf("usage: mailed NAME N, after mail NAME")
	}
	taken := of(ts).mails[args[0]].taken()
	if strconv.Itoa(len(taken)) != args[1] {
		ts.Fatalf("the mail server %s has %d mails, want %s", args[0], len(taken), args[1])
	}
	for _, m := range taken {
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", m.to, m.subject)
	}
}
