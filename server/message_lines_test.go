package server

import (
	"slices"
	"strings"
)

// The codes of JSON-RPC 2.0, section 5.1, and their names here.
const (
	noJSON, noRequest, noMethod, noParams = -32700, -32600, -32601, -32602
)

func toolCall(id, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + params + `}`
}

const goodParams = `{"name":"echoes_arguments","arguments":{"text":"marker"}}`

func badEnvelopes() []badLine {
	whole := toolCall("7", goodParams)
	return []badLine{
		{"a batch of none", `[]`, noRequest, "null"},
		{"a batch of one", `[` + whole + `]`, noRequest, "null"},
		{"a batch of two", `[` + whole + `,` + toolCall("8", goodParams) + `]`, noRequest, "null"},
		{"a text", `"marker"`, noRequest, "null"},
		{"null", `null`, noRequest, "null"},
		{"no JSON", `marker`, noJSON, "null"},
		{"a call that is a notification", `{"jsonrpc":"2.0","method":"tools/call","params":` + goodParams + `}`, 0, ""},
		{"a notification that is a request", `{"jsonrpc":"2.0","id":7,"method":"notifications/cancelled","params":{"requestId":1}}`, noRequest, "7"},
		{"two objects", whole + whole, noJSON, "null"},
		{"text behind it", whole + ` marker`, noJSON, "null"},
		{"text before it", `marker ` + whole, noJSON, "null"},
		{"byte order mark", "\ufeff" + whole, noJSON, "null"},
		{"a carriage return alone", strings.Replace(whole, `,"method"`, ",\r\"marker\":1,\"method\"", 1), noRequest, "7"},
		{"white space alone", " \t ", noJSON, "null"},
		{"jsonrpc 1.0", strings.Replace(whole, "2.0", "1.0", 1), noRequest, "7"},
		{"jsonrpc as a number", strings.Replace(whole, `"2.0"`, "2.0", 1), noRequest, "7"},
		{"no jsonrpc", strings.Replace(whole, `"jsonrpc":"2.0",`, "", 1), noRequest, "7"},
		{"no method", `{"jsonrpc":"2.0","id":7,"params":` + goodParams + `}`, noRequest, "7"},
		{"method as a number", `{"jsonrpc":"2.0","id":7,"method":5}`, noRequest, "7"},
		{"method without a name", `{"jsonrpc":"2.0","id":7,"method":""}`, noRequest, "7"},
		{"unknown method", `{"jsonrpc":"2.0","id":7,"method":"marker"}`, noMethod, "7"},
		{"method in capitals", strings.Replace(whole, "tools/call", "tools/Call", 1), noMethod, "7"},
		{"method with a space", strings.Replace(whole, "tools/call", "tools/call ", 1), noMethod, "7"},
		{"method of the SDK that is not offered", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"marker"}}`, noMethod, "7"},
		{"unknown notification", `{"jsonrpc":"2.0","method":"notifications/marker"}`, 0, ""},
		{"a result", `{"jsonrpc":"2.0","id":7,"result":{"marker":1}}`, 0, ""},
		{"an error", `{"jsonrpc":"2.0","id":7,"error":{"code":5,"message":"marker"}}`, 0, ""},
		{"a call with a result", strings.Replace(whole, `"method"`, `"result":{},"method"`, 1), noRequest, "7"},
		{"an unknown member", strings.Replace(whole, `"method"`, `"marker":{},"method"`, 1), noRequest, "7"},
	}
}

// badNames are what another reader would fold into a name, or take twice.
func badNames() []badLine {
	whole := toolCall("7", goodParams)
	beside := func(member string) string { return whole[:len(whole)-1] + "," + member + "}" }
	return []badLine{
		{"Method beside method", beside(`"Method":"ping"`), noRequest, "7"},
		{"Method alone", strings.Replace(whole, "method", "Method", 1), noRequest, "7"},
		{"ID beside id", beside(`"ID":8`), noRequest, "7"},
		{"Id alone", strings.Replace(whole, `"id"`, `"Id"`, 1), 0, ""},
		{"Jsonrpc beside jsonrpc", beside(`"Jsonrpc":"2.0"`), noRequest, "7"},
		{"PARAMS beside params", beside(`"PARAMS":{}`), noRequest, "7"},
		{"params with a long s", beside(`"param` + "\u017f" + `":{}`), noRequest, "7"},
		{"Kelvin", beside(`"` + "\u212a" + `":{}`), noRequest, "7"},
		{"a name with a space", beside(`"method ":"ping"`), noRequest, "7"},
		{"method twice", beside(`"method":"ping"`), noJSON, "7"},
		{"method twice, escaped", beside(`"meth\u006fd":"ping"`), noJSON, "7"},
		{"id twice", beside(`"id":8`), noJSON, "null"},
		{"id twice, escaped", beside(`"\u0069d":8`), noJSON, "null"},
		{"params twice", beside(`"params":{"name":"other"}`), noJSON, "7"},
		{"name twice", toolCall("7", `{"name":"other","name":"echoes_arguments"}`), noJSON, "7"},
		{"arguments twice, escaped", toolCall("7", `{"name":"echoes_arguments","arguments":{},"argument\u0073":{}}`), noJSON, "7"},
		{"an argument twice", toolCall("7", `{"name":"echoes_arguments","arguments":{"text":"a","text":"b"}}`), noJSON, "7"},
		{"twice far inside", toolCall("7", `{"name":"echoes_arguments","arguments":{"text":[[{"a":{"b":1,"\u0062":2}}]]}}`), noJSON, "7"},
		{"twice in _meta", toolCall("7", `{"name":"echoes_arguments","_meta":{"progressToken":1,"progressToken":2}}`), noJSON, "7"},
		{"Name beside name", toolCall("7", `{"name":"echoes_arguments","Name":"marker"}`), noParams, "7"},
		{"Name alone", toolCall("7", `{"Name":"echoes_arguments"}`), noParams, "7"},
		{"Arguments beside arguments", toolCall("7", `{"name":"echoes_arguments","arguments":{},"Arguments":{"text":"marker"}}`), noParams, "7"},
		{"arguments with a long s", toolCall("7", `{"name":"echoes_arguments","argument`+"\u017f"+`":{"text":"marker"}}`), noParams, "7"},
		{"NUL in a name", beside(`"method\u0000":"ping"`), noJSON, "7"},
		{"NUL in an argument's name", toolCall("7", `{"name":"echoes_arguments","arguments":{"text\u0000":"a"}}`), noJSON, "7"},
	}
}

func badText() []badLine {
	deep := strings.Repeat("[", 10000) + strings.Repeat("]", 10000)
	return []badLine{
		{"broken UTF-8", toolCall("7", "{\"name\":\"echoes_arguments\",\"arguments\":{\"text\":\"\xff\"}}"), noJSON, "7"},
		{"broken UTF-8 in the id", toolCall("\"\xff\"", goodParams), noJSON, "null"},
		{"UTF-8 longer than need be", toolCall("7", "{\"name\":\"echoes_arguments\",\"arguments\":{\"text\":\"\xc0\xaf\"}}"), noJSON, "7"},
		{"a lone surrogate", toolCall("7", `{"name":"echoes_arguments","arguments":{"text":"\ud800"}}`), noJSON, "7"},
		{"a lone surrogate in the name", toolCall("7", `{"name":"\udc00echoes_arguments"}`), noJSON, "7"},
		{"a control character in a text", toolCall("7", "{\"name\":\"echoes_arguments\",\"arguments\":{\"text\":\"\x01\"}}"), noJSON, "null"},
		{"NUL in the line", "\x00" + toolCall("7", goodParams), noJSON, "null"},
		{"a number too long", toolCall("7", `{"name":"echoes_arguments","arguments":{"number":1`+strings.Repeat("0", 64)+`}}`), noJSON, "7"},
		{"an exponent too great", toolCall("7", `{"name":"echoes_arguments","arguments":{"number":1e10000000}}`), noJSON, "7"},
		{"10000 deep", toolCall("7", `{"name":"echoes_arguments","arguments":{"text":`+deep+`}}`), noJSON, "null"},
		{"33 deep in the arguments", toolCall("7", `{"name":"echoes_arguments","arguments":{"text":`+strings.Repeat("[", 32)+strings.Repeat("]", 32)+`}}`), noJSON, "7"},
		{"64 KiB of nothing", strings.Repeat("marker ", 10000), noJSON, "null"},
		{"17 MiB", toolCall("7", `{"name":"echoes_arguments","arguments":{"text":"`+strings.Repeat("x", 17<<20)+`"}}`), noJSON, "null"},
	}
}

func badIDs() (rows []badLine) {
	for _, id := range []string{
		`null`, `true`, `1.5`, `1e2`, `1.0`, `-0`, `9007199254740993`, `-9007199254740993`, `99999999999999999999`,
		`{"marker":1}`, `[7]`, `"` + strings.Repeat("marker", 40) + `"`,
	} {
		rows = append(rows, badLine{"id " + id, toolCall(id, goodParams), noRequest, "null"})
	}
	return rows
}

func badParams() []badLine {
	meta := func(meta string) string { return toolCall("7", `{"name":"echoes_arguments","_meta":`+meta+`}`) }
	rows := []badLine{
		{"no params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, noParams, "7"},
		{"no name", toolCall("7", `{"arguments":{}}`), noParams, "7"},
		{"name as a number", toolCall("7", `{"name":5}`), noParams, "7"},
		{"name null", toolCall("7", `{"name":null}`), noParams, "7"},
		{"name as a list", toolCall("7", `{"name":["echoes_arguments"]}`), noParams, "7"},
		{"answers of another round", toolCall("7", `{"name":"echoes_arguments","inputResponses":{}}`), noParams, "7"},
		{"state of another round", toolCall("7", `{"name":"echoes_arguments","requestState":"marker"}`), noParams, "7"},
		{"task", toolCall("7", `{"name":"echoes_arguments","task":{}}`), noParams, "7"},
		{"_meta null", meta(`null`), noParams, "7"},
		{"_meta a list", meta(`["marker"]`), noParams, "7"},
		{"_meta a text", meta(`"marker"`), noParams, "7"},
	}
	for _, token := range []string{`null`, `true`, `1.5`, `1e2`, `{}`, `[]`, `9007199254740993`, `"` + strings.Repeat("marker", 40) + `"`} {
		rows = append(rows, badLine{"progressToken " + token, meta(`{"progressToken":` + token + `}`), noParams, "7"})
	}
	for _, which := range []string{`{}`, `{"requestId":null}`, `{"requestId":1.9}`, `{"requestId":{}}`, `{"requestid":7}`} {
		rows = append(rows, badLine{"cancelled " + which, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + which + `}`, 0, ""})
	}
	return rows
}

func badParamsOfEachMethod() (rows []badLine) {
	var names []string
	for name := range methods {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, params := range []string{`["marker"]`, `"marker"`, `5`, `null`, `true`} {
			row := badLine{name + " " + params, `{"jsonrpc":"2.0","method":"` + name + `","params":` + params + `}`, 0, ""}
			if methods[name] {
				row = badLine{row.rule, `{"id":7,` + row.line[1:], noParams, "7"}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// badForTheSDK are messages that only the SDK refuses, and in words of its own.
func badForTheSDK() []badLine {
	const modern = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`
	}
	return []badLine{
		{"initialize twice", request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"marker","version":"0"}}`), noRequest, "7"},
		{"initialize with a number", request("initialize", `{"protocolVersion":5,"capabilities":{"marker":1}}`), noRequest, "7"},
		{"cursor as a number", request("tools/list", `{"cursor":5,"marker":1}`), noParams, "7"},
		{"cursor of nobody", request("tools/list", `{"cursor":"marker"}`), noParams, "7"},
		{"discover without a revision", request("server/discover", `{"marker":1}`), noMethod, "7"},
		{"listen to nothing", request("subscriptions/listen", `{"marker":1}`), noParams, "7"},
		{"ping of a revision that has none", request("ping", `{"_meta":{`+modern+`}}`), noMethod, "7"},
		{"call without capabilities", request("tools/call", `{"name":"echoes_arguments","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), noParams, "7"},
		{"call with odd capabilities", request("tools/call", `{"name":"echoes_arguments","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":"marker"}}`), noParams, "7"},
		{"call of an unknown revision", request("tools/call", `{"name":"echoes_arguments","_meta":{`+strings.Replace(modern, "2026-07-28", "2099-01-01", 1)+`}}`), -32022, "7"},
	}
}

func badBeforeInitialize() []badLine {
	return []badLine{
		{"tools/call", toolCall("7", goodParams), noRequest, "7"},
		{"tools/list", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, noRequest, "7"},
		{"initialize without params", `{"jsonrpc":"2.0","id":7,"method":"initialize"}`, noRequest, "7"},
	}
}
