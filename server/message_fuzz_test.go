package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/strictjson"
)

// What readMessage takes, the SDK's reader takes too, and both see the same
// method, id and params; and no reader can fold two of its names into one.
func FuzzMessage(f *testing.F) {
	for _, line := range strings.Split(greeting+ping, "\n") {
		f.Add([]byte(line))
	}
	for _, rows := range [][]badLine{badEnvelopes(), badNames(), badText(), badIDs(), badParams(), badForTheSDK()} {
		for _, row := range rows {
			if len(row.line) < 4000 {
				f.Add([]byte(row.line))
			}
		}
	}
	f.Add([]byte(toolCall(`"\ud83d\ude00\u2028"`, goodParams)))
	f.Add([]byte(toolCall(`-9007199254740992`, ` {"arguments" : { "a" : 1.0e2 },"name":"x","_meta":{"progressToken":0}} `)))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, fault := readMessage(Line{Text: line})
		if fault != nil {
			if fault.why == "" || fault.code == 0 {
				t.Error("a fault says nothing")
			}
			return
		}
		v, err := strictjson.Read(line, strictjson.Limits{Bytes: len(line), Depth: 34, Digits: 64, Exponent: 64})
		if err != nil {
			t.Fatalf("taken, and no strict JSON: %v", err)
		}
		decoded, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			t.Fatalf("the SDK does not take it: %v", err)
		}
		request, ok := decoded.(*jsonrpc.Request)
		if !ok {
			t.Fatalf("the SDK takes it for a %T", decoded)
		}
		method, _ := v.TextAt("method")
		if request.Method != method || m.method != method || request.IsCall() != m.request() || idText(request.ID.Raw()) != m.id {
			t.Errorf("the SDK sees %q %v, we %q %s", request.Method, request.ID.Raw(), m.method, m.id)
		}
		sameParams(t, line, v, request)
		noFoldedNames(t, line)
	})
}

func sameParams(t *testing.T, line []byte, v strictjson.Value, request *jsonrpc.Request) {
	t.Helper()
	params, has := v.Get("params")
	if !has {
		if len(request.Params) > 0 {
			t.Errorf("the SDK sees params %s", request.Params)
		}
		return
	}
	theirs, err := strictjson.Read(request.Params, strictjson.Limits{Bytes: len(line), Depth: 34, Digits: 64, Exponent: 64})
	if err != nil || !bytes.Contains(line, request.Params) || !bytes.Equal(theirs.AppendJSON(nil), params.AppendJSON(nil)) {
		t.Errorf("the SDK sees params %s (%v), we %s", request.Params, err, params.AppendJSON(nil))
	}
	if request.Method == "tools/call" {
		noFoldedNames(t, request.Params)
	}
}

// noFoldedNames reads with Go's own reader, which folds.
func noFoldedNames(t *testing.T, object []byte) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for dec.More() {
		token, err := dec.Token()
		var skipped json.RawMessage
		if err != nil || dec.Decode(&skipped) != nil {
			t.Fatal("taken, and another reader cannot read it")
		}
		for _, name := range names {
			if strings.EqualFold(name, token.(string)) {
				t.Errorf("%q stands beside %q", token, name)
			}
		}
		names = append(names, token.(string))
	}
}
