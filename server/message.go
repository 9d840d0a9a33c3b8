package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/strictjson"
)

// A message of a client is one strict JSON object with the members of JSON-RPC
// 2.0 and no others: what one reader folds into another name, or takes the last
// of, changes or skips no call.

type message struct {
	id      string // as it is written: 5, "a"; "" where there is none
	hasID   bool
	method  string
	answers bool // it has a result or an error, and no method
}

// messageFault says why a line is no message, in words that hold nothing of it.
type messageFault struct {
	code int64 // of JSON-RPC
	why  string
}

// request tells a request, which is answered, from a notification.
func (m message) request() bool { return m.hasID && m.id != "" }

// answerable tells whether what is no message gets an answer: a notification
// and an answer do not.
func (m message) answerable() bool { return !m.answers && (m.method == "" || m.hasID) }

// maxID bounds an id, in characters.
const maxID = 200

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,15})$`)

// methods are those that this server has, and whether they are requests.
var methods = map[string]bool{
	"initialize": true, "ping": true, "tools/list": true, "tools/call": true, "server/discover": true, "subscriptions/listen": true,
	"notifications/initialized": false, "notifications/cancelled": false, "notifications/progress": false, "notifications/roots/list_changed": false,
}

// argumentsDepth is how deep the arguments of a call stand in their message.
// They may be as deep as the host takes them.
const argumentsDepth = 2

func readMessage(l Line) (m message, fault *messageFault) {
	switch {
	case l.Long:
		return m, &messageFault{jsonrpc.CodeParseError, fmt.Sprintf("the line is longer than %d bytes", maxLine)}
	case l.Half:
		return m, &messageFault{jsonrpc.CodeParseError, "the input ends within the line"}
	}
	limits := strictjson.Default(len(l.Text))
	limits.Depth += argumentsDepth
	v, err := strictjson.Read(l.Text, limits)
	switch {
	case err != nil:
		m.id = looseID(l.Text)
		return m, &messageFault{jsonrpc.CodeParseError, "the line is not strict JSON: one object, UTF-8, no name twice"}
	case v.Kind() == strictjson.Array:
		return m, &messageFault{jsonrpc.CodeInvalidRequest, "batches are not taken; send each message alone"}
	case v.Kind() != strictjson.Object:
		return m, &messageFault{jsonrpc.CodeInvalidRequest, "a message is a JSON object"}
	}
	if m.id, m.hasID, fault = readID(v); fault != nil {
		return m, fault
	}
	if method, isText := v.TextAt("method"); isText {
		m.method = method
	}
	_, result := v.Get("result")
	_, failed := v.Get("error")
	m.answers = m.method == "" && (result || failed)
	for name := range v.Members() {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, name) {
			return m, &messageFault{jsonrpc.CodeInvalidRequest, "a message has the members jsonrpc, id, method and params; this server asks for nothing that is answered"}
		}
	}
	if version, isText := v.TextAt("jsonrpc"); !isText || version != "2.0" {
		return m, &messageFault{jsonrpc.CodeInvalidRequest, `jsonrpc must be "2.0"`}
	}
	return m, m.check(v)
}

func readID(v strictjson.Value) (id string, has bool, fault *messageFault) {
	member, has := v.Get("id")
	if !has {
		return "", false, nil
	}
	if text, ok := likeID(member); ok {
		return text, true, nil
	}
	return "", true, &messageFault{jsonrpc.CodeInvalidRequest, "id must be a string of at most 200 bytes or a whole number that a double holds"}
}

// likeID gives an id, or what names one, as JSON has it; false where it has not
// the form.
func likeID(v strictjson.Value) (string, bool) {
	text, _ := v.Text()
	if v.Kind() == strictjson.String && len(text) <= maxID {
		return idText(text), true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return text, v.Kind() == strictjson.Number && wholeNumber.MatchString(text) && err == nil && n <= 1<<53 && n >= -1<<53
}

// looseID finds the id of an object that is not strict JSON: what a model wrote
// stands inside, and a client that gets no answer waits for it. "" where there
// is none, or no certain one.
func looseID(text []byte) string {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	id, ids := "", 0
	for dec.More() {
		name, err := dec.Token()
		var raw json.RawMessage
		if err != nil || dec.Decode(&raw) != nil {
			return ""
		}
		if name, _ := name.(string); strings.EqualFold(name, "id") {
			v, _ := strictjson.Read(raw, strictjson.Default(len(raw))) // one that cannot be read is like none
			id, _ = likeID(v)
			ids++
		}
	}
	_, err := dec.Token()
	if _, end := dec.Token(); err != nil || !errors.Is(end, io.EOF) || ids != 1 {
		return ""
	}
	return id
}

// idText is an id as JSON has it.
func idText(id any) string {
	switch id := id.(type) {
	case string:
		return string(strictjson.AppendString(nil, id))
	case int64:
		return strconv.FormatInt(id, 10)
	default:
		return ""
	}
}

// check holds a message against what its method takes.
func (m message) check(v strictjson.Value) *messageFault {
	isRequest, known := methods[m.method]
	params, has := v.Get("params")
	switch {
	case m.method == "":
		return &messageFault{jsonrpc.CodeInvalidRequest, "method must be a text"}
	case !known:
		return &messageFault{jsonrpc.CodeMethodNotFound, "this server has no such method"}
	case isRequest && !m.hasID:
		return &messageFault{jsonrpc.CodeInvalidRequest, "this method is a request and needs an id"}
	case !isRequest && m.hasID:
		return &messageFault{jsonrpc.CodeInvalidRequest, "this method is a notification and takes no id"}
	case has && params.Kind() != strictjson.Object:
		return &messageFault{jsonrpc.CodeInvalidParams, "params must be an object"}
	}
	if f := checkMeta(params); f != nil {
		return f
	}
	if which, _ := params.Get("requestId"); m.method == "notifications/cancelled" {
		if _, ok := likeID(which); !ok {
			return &messageFault{jsonrpc.CodeInvalidParams, "params.requestId must be an id"}
		}
	}
	if m.method != "tools/call" {
		return nil
	}
	if _, ok := params.TextAt("name"); !ok {
		return &messageFault{jsonrpc.CodeInvalidParams, "params.name must be a text"}
	}
	for name := range params.Members() {
		if !slices.Contains([]string{"name", "arguments", "_meta"}, name) {
			return &messageFault{jsonrpc.CodeInvalidParams, "params of tools/call are name, arguments and _meta"}
		}
	}
	return nil
}

// checkMeta holds the token of a progress to the form of an id.
func checkMeta(params strictjson.Value) *messageFault {
	meta, has := params.Get("_meta")
	if !has {
		return nil
	}
	if meta.Kind() != strictjson.Object {
		return &messageFault{jsonrpc.CodeInvalidParams, "params._meta must be an object"}
	}
	token, has := meta.Get("progressToken")
	if !has {
		return nil
	}
	if _, ok := likeID(token); ok {
		return nil
	}
	return &messageFault{jsonrpc.CodeInvalidParams, "a progressToken must be a string of at most 200 bytes or a whole number that a double holds"}
}
