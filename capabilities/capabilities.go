// Package capabilities holds what a tool can be granted: one file, or a few of
// one name, for each kind.
//
// A capability has one check with two callers: the gate, which holds an
// argument against it before any guest code runs, and the host function, which
// holds whatever the guest asks for against the same code. A host function is a
// pure function from request to answer; it never sees guest memory.
//
// What a guest may not have it does not get, and it cannot tell why: the true
// reason goes into Answer.Reason, for the record alone.
package capabilities

import (
	"context"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Kind is one kind of capability, as guests see it: a module of functions.
type Kind struct {
	Name      string
	Functions []string
	Instance  string // the member of a request that names the capability
}

// Kinds is the table of all kinds. Nothing registers itself.
func Kinds() []Kind {
	return []Kind{
		{Name: "records", Functions: []string{"get", "list", "search"}, Instance: "from"},
		{Name: "files", Functions: []string{"read", "list"}, Instance: "from"},
		{Name: "fetch", Functions: []string{"send"}, Instance: "from"},
		{Name: "outbox", Functions: []string{"append"}, Instance: "to"},
	}
}

// KindNamed finds a kind by its name.
func KindNamed(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Status is what a guest is told of a request; docs/abi.md gives the numbers.
// The zero status is OK because the ABI wants it so; no code of ours leaves a
// status to chance.
type Status uint32

// The statuses that a capability can answer with. 1 is the sandbox's own: a
// response that did not fit.
const (
	OK           Status = 0
	NotAvailable Status = 2 // no such thing within reach
	Denied       Status = 3 // not granted, whatever there is
	Invalid      Status = 4 // the request is not understood
)

// Word is the status as records and logs show it.
func (s Status) Word() string {
	switch s {
	case OK:
		return "ok"
	case NotAvailable:
		return "not_available"
	case Denied:
		return "denied"
	case Invalid:
		return "invalid"
	default:
		return "unknown"
	}
}

// Answer is what a host function gives.
type Answer struct {
	Status Status
	Body   []byte // JSON; empty for NotAvailable
	Reason string // for the record: why the status is not OK
	Got    string // for the record: what came of it where the status is OK, the status of an HTTP answer
	Asked  string // for the record: the file or URL that the request names, or the key of a row that it does not get
}

// MaxAsked is how many bytes of what a request named a record should keep: a
// whole URL, a method and headers.
const MaxAsked = 4096

// Reach is one capability within the bounds of one call: the session's scope
// and what the grant narrows. An error means that the host could not do its
// part (a database that does not answer, a row that is not what its types
// say); it ends the call.
type Reach interface {
	Call(ctx context.Context, function string, request strictjson.Value) (Answer, error)
}

// Refuse answers with words for the plugin's author and a reason for the record.
func Refuse(s Status, words, reason string) Answer {
	body := strictjson.AppendString([]byte(`{"error":`), words)
	return Answer{Status: s, Body: append(body, '}'), Reason: reason}
}

// asked notes for the record what a request named.
func asked(what string, a Answer) Answer {
	a.Asked = what
	return a
}
