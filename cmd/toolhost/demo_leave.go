package main

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/config"
)

const leaveCapability = "rh"

// leaveAddress is where the config sends the questions about leave. The demo
// listens there, so that it can only be this machine itself.
func leaveAddress(conf *config.Config) (string, error) {
	i := slices.IndexFunc(conf.Capabilities, func(c config.Capability) bool { return c.Name == leaveCapability && c.Fetch != nil })
	if i < 0 {
		return "", usage("there is no [capabilities.%s] of kind fetch, which says where the demo's leave service listens", leaveCapability)
	}
	u := conf.Capabilities[i].Fetch.Allow[0].URL
	if u.Host != "127.0.0.1" {
		return "", usage("[capabilities.%s] leads to %s; the demo's leave service listens on 127.0.0.1 alone", leaveCapability, u.Host)
	}
	return u.Authority(), nil
}

// serveLeave runs the leave service until stop is called.
func serveLeave(address string) (stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		host, port, _ := net.SplitHostPort(address)
		return nil, usage("the demo's leave service cannot listen on port %s of %s: %v\nend what listens there, or name another port in [capabilities.%s] and plugins/internal/rh",
			port, host, err, leaveCapability)
	}
	server := &http.Server{Handler: newLeaveService(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends with Close, and a fault on the way is in the plugins' answers
	}()
	return func() {
		_ = server.Close() // nothing is kept
		<-ended
	}, nil
}
