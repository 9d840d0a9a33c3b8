package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
)

func openAIWhole(arguments string) string {
	return `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":` + arguments + `}}]}`
}

func openAIDelta(calls string) string {
	return `{"choices":[{"delta":{"tool_calls":[` + calls + `]},"finish_reason":"tool_calls"}]}`
}

func anthropicWhole(input string) string {
	return `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":` + input + `}]}`
}

func anthropicStream(input string, parts ...string) string {
	lines := []string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"t","input":` + input + `}}`}
	for _, p := range parts {
		lines = append(lines, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+p+`}}`)
	}
	return strings.Join(append(lines, `{"type":"content_block_stop","index":0}`, `{"type":"message_stop"}`), "\n")
}

func geminiWhole(call string) string {
	return `{"role":"model","parts":[{"text":"x"},{"functionCall":` + call + `}]}`
}

func TestCallsAreAsTheModelWroteThem(t *testing.T) {
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	for _, c := range []struct {
		name    string
		form    Form
		message string
		want    string // id, tool and arguments of each call
	}{
		{"openai-text-byte-for-byte", FormOpenAI, openAIWhole(`"{ \"n\": 1.50e1,\u00e9 \n}"`), "a t { \"n\": 1.50e1,é \n}"},
		{"openai-empty-text-stays-empty", FormOpenAI, openAIWhole(`""`), "a t "},
		{"openai-null-is-the-text-null", FormOpenAI, openAIWhole(`null`), "a t null"},
		{"openai-two-objects-stay-two", FormOpenAI, openAIWhole(`"{}{}"`), "a t {}{}"},
		{"openai-absent-is-no-text", FormOpenAI, `{"tool_calls":[{"id":"a","function":{"name":"t"}}]}`, "a t "},
		{"openai-joined-by-index", FormOpenAI, openAIDelta(`{"index":1,"id":"b","function":{"name":"u","arguments":"2"}}`) + "\n" +
			openAIDelta(`{"index":0,"id":"a","function":{"name":"t","arguments":"{"}},{"index":0,"id":"a","function":{"name":"t","arguments":"}"}}`), "a t {}\nb u 2"},
		{"openai-null-in-a-part-adds-nothing", FormOpenAI, openAIDelta(`{"index":0,"id":"a","type":null,"function":{"name":"t","arguments":null}}`) + "\n" +
			openAIDelta(`{"index":0,"id":null,"function":{"name":null,"arguments":"{}"}}`), "a t {}"},
		{"openai-chunk-without-choices", FormOpenAI, `{"usage":{}}` + "\n" + openAIDelta(`{"index":0,"id":"a","function":{"name":"t","arguments":"1"}}`), "a t 1"},
		{"sse-with-comments-and-crlf", FormOpenAI, ": x\r\nid: 1\r\ndata:" + openAIDelta(`{"index":0,"id":"a","function":{"name":"t","arguments":"1"}}`) + "\r\n\r\ndata: [DONE]\r\n", "a t 1"},
		{"anthropic-very-bytes", FormAnthropic, anthropicWhole(`{ "n" : 1.50E+1, "s":"\u0041" }`), `a t { "n" : 1.50E+1, "s":"\u0041" }`},
		{"anthropic-null-and-text-stay", FormAnthropic, anthropicWhole(`"{}"`), `a t "{}"`},
		{"anthropic-long-numbers-reach-the-gate", FormAnthropic, anthropicWhole(strings.Repeat("9", 100)), "a t " + strings.Repeat("9", 100)},
		{"anthropic-deep-input-reaches-the-gate", FormAnthropic, anthropicWhole(deep), "a t " + deep},
		{"anthropic-other-blocks-are-left-alone", FormAnthropic, `{"content":[{"type":"thinking"},{"type":"server_tool_use","id":"s","name":"web"},{"type":"tool_use","id":"a","name":"t","input":{}}]}`, "a t {}"},
		{"anthropic-parts-are-joined", FormAnthropic, anthropicStream("{}", `""`, `"{\"n\""`, `":1}"`), `a t {"n":1}`},
		{"anthropic-no-parts-is-the-input-it-began-with", FormAnthropic, anthropicStream("{ }", `""`), "a t { }"},
		{"anthropic-unknown-event", FormAnthropic, `{"type":"news"}` + "\n" + anthropicStream("{}"), "a t {}"},
		{"gemini-very-bytes-and-no-id", FormGemini, geminiWhole(`{"name":"t","args":{ "n":1.0}}`), ` t { "n":1.0}`},
		{"gemini-absent-is-no-text", FormGemini, geminiWhole(`{"id":"a","name":"t"}`), "a t "},
		{"gemini-same-call-twice-without-ids", FormGemini, `[` + geminiWhole(`{"name":"t","args":{}}`) + `,` + geminiWhole(`{"name":"t","args":{}}`) + `]`, " t {}\n t {}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, err := c.form.Calls([]byte(c.message))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, call := range calls {
				got = append(got, call.ID+" "+call.Tool+" "+string(call.Arguments))
			}
			if all := strings.Join(got, "\n"); all != c.want {
				t.Errorf("got  %q\nwant %q", all, c.want)
			}
		})
	}
}

func TestMessagesThatAreRefusedWhole(t *testing.T) {
	call := `{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}}`
	for _, c := range []struct {
		name    string
		form    Form
		message string
		want    string
	}{
		{"empty", FormOpenAI, " \n", "the message is empty"},
		{"too-long", FormOpenAI, strings.Repeat(" ", MaxFormMessage+1), "longer than 16 MiB"},
		{"scalar", FormOpenAI, `[1]`, "item 0: must be an object"},
		{"not-whole", FormOpenAI, `{"tool_calls":[` + call, "not JSON"},
		{"bad-line", FormOpenAI, openAIDelta(call) + "\n{", "line 2: "},
		{"after-done", FormOpenAI, "data: [DONE]\ndata: {}", "line 2: stands after [DONE]"},
		{"provider-error", FormOpenAI, `{"error":{"message":"x"}}`, "error of the provider"},
		{"other-role", FormOpenAI, `{"role":"tool","tool_calls":[` + call + `]}`, `role must be "assistant"`},
		{"other-type", FormOpenAI, `{"tool_calls":[{"id":"a","type":"custom","custom":{}}]}`, `item 0: type must be "function"`},
		{"legacy", FormOpenAI, `{"role":"assistant","function_call":{"name":"t","arguments":"{}"}}`, "no id to answer"},
		{"two-choices", FormOpenAI, `{"choices":[{"index":0,"message":{}},{"index":1,"message":{}}]}`, "more than one"},
		{"choice-of-another-index", FormOpenAI, `{"choices":[{"index":1,"delta":{}}]}`, "more than one"},
		{"two-messages", FormOpenAI, `{"tool_calls":[` + call + `]}` + "\n" + `{"tool_calls":[` + call + `]}`, "line 2: is a second message"},
		{"message-and-stream", FormOpenAI, `{"tool_calls":[` + call + `]}` + "\n" + openAIDelta(`{"index":0,"id":"b","function":{"name":"t"}}`), "both a whole message and a stream"},
		{"id-changes", FormOpenAI, openAIDelta(`{"index":0,"id":"a","function":{"name":"t"}},{"index":0,"id":"b"}`), `index 0: id is first "a", then "b"`},
		{"name-changes", FormOpenAI, openAIDelta(`{"index":0,"id":"a","function":{"name":"t"}},{"index":0,"function":{"name":"u"}}`), `name is first "t", then "u"`},
		{"openai-cut", FormOpenAI, strings.Replace(openAIDelta(`{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}`), `"tool_calls"}]}`, `null}]}`, 1), "the stream was cut: no chunk has a finish_reason"},
		{"anthropic-cut", FormAnthropic, strings.Replace(anthropicStream("{}"), "message_stop", "ping", 1), "the stream was cut: it has no message_stop"},
		{"no-index", FormOpenAI, openAIDelta(call), "index must be a whole number"},
		{"index-as-a-fraction", FormOpenAI, openAIDelta(`{"index":0.0,"id":"a"}`), "index must be a whole number"},
		{"no-name", FormOpenAI, openAIDelta(`{"index":0,"id":"a"}`), "call 1: has no tool's name"},
		{"id-as-a-number", FormOpenAI, `{"tool_calls":[{"id":1,"function":{"name":"t","arguments":"{}"}}]}`, "item 0: id must be a string"},
		{"calls-as-an-object", FormOpenAI, `{"tool_calls":{}}`, "tool_calls must be an array"},
		{"two-indexes-one-id", FormOpenAI, openAIDelta(`{"index":0,"id":"a","function":{"name":"t"}},{"index":1,"id":"a","function":{"name":"t"}}`), `another call has the id "a" too`},
		{"too-many", FormGemini, `{"parts":[` + strings.TrimSuffix(strings.Repeat(`{"functionCall":{"name":"t"}},`, 129), ",") + `]}`, "129 calls in one message"},
		{"anthropic-name-twice-in-input", FormAnthropic, anthropicWhole(`{"n":1,"n":2}`), "a name stands twice"},
		{"anthropic-no-id", FormAnthropic, `{"content":[{"type":"tool_use","name":"t","input":{}}]}`, "has no id"},
		{"anthropic-untyped-block", FormAnthropic, `{"content":[{"id":"a"}]}`, "item 0: must be an object with a type"},
		{"anthropic-error", FormAnthropic, `{"type":"error","error":{}}`, "error of the provider"},
		{"anthropic-two-inputs", FormAnthropic, anthropicStream(`{"n":1}`, `"{}"`), "has an input where it begins and another"},
		{"anthropic-part-of-nothing", FormAnthropic, `{"type":"content_block_stop","index":0}`, "block 0 is not open"},
		{"anthropic-begins-twice", FormAnthropic, anthropicStream("{}") + "\n" + anthropicStream("{}"), "block 0 begins twice"},
		{"anthropic-other-delta", FormAnthropic, strings.ReplaceAll(anthropicStream("{}", `"x"`), "input_json_delta", "text_delta"), "takes only input_json_delta"},
		{"anthropic-text-alone", FormAnthropic, `{"role":"assistant","content":"hello"}`, "no tool call in the message"},
		{"gemini-id-twice", FormGemini, `{"parts":[{"functionCall":{"id":"a","name":"t"}},{"functionCall":{"id":"a","name":"t"}}]}`, `another call has the id "a" too`},
		{"gemini-arguments-in-parts", FormGemini, geminiWhole(`{"name":"t","willContinue":true}`), "ask for them whole"},
		{"gemini-library-name", FormGemini, `{"parts":[{"function_call":{"name":"t"}}]}`, "give functionCall"},
		{"gemini-error", FormGemini, `{"error":{"code":400}}`, "error of the provider"},
		{"mcp-has-a-door-of-its-own", FormMCP, `{}`, `no calls of the form "mcp"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, err := c.form.Calls([]byte(c.message))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v and %v, want %q", calls, err, c.want)
			}
		})
	}
}

func schemaTool(t *testing.T, properties string) host.Tool {
	t.Helper()
	text := `{"$schema":"x","type":"object","additionalProperties":false,"required":["p"],"properties":{"p":` + properties + `}}`
	v, err := strictjson.Read([]byte(text), strictjson.Default(5000))
	if err != nil {
		t.Fatal(err)
	}
	return host.Tool{Name: "t", Description: "d", Input: v}
}

func TestStrictMode(t *testing.T) {
	const text = `"type":"string","maxLength":9`
	for _, c := range []struct {
		name, property    string
		openai, anthropic string // what the note names; "" is strict
	}{
		{"bounded-text", `{` + text + `}`, "", "/p/maxLength"},
		{"values", `{"type":"string","enum":["a","b"]}`, "", ""},
		{"values-without-type", `{"enum":["a","b"]}`, "/p: a schema without type", "/p: a schema without type"},
		{"a-list-as-a-value", `{"type":"array","enum":[[1]]}`, "/p/enum", "/p/enum"},
		{"day", `{"type":"string","format":"date"}`, "", ""},
		{"address", `{"type":"string","format":"uri"}`, "/p/format", ""},
		{"day-or-null", `{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}`, "", "/p/anyOf"},
		{"two-types", `{"type":["boolean","null"]}`, "", "/p/type"},
		{"one-of", `{"oneOf":[{"type":"null"}]}`, "/p/oneOf", "/p/oneOf"},
		{"plain-pattern", `{"type":"string","enum":["1"],"pattern":"^\\d{1,3}[^\\x00\\-]$"}`, "", ""},
		{"flags-in-a-pattern", `{` + text + `,"pattern":"(?i)a"}`, "/p/pattern", "/p/maxLength"},
		{"class-names-in-a-pattern", `{"type":"string","enum":["1"],"pattern":"\\p{L}"}`, "/p/pattern", "/p/pattern"},
		{"optional-inside", `{"type":"object","additionalProperties":false,"properties":{"q":{"type":"null"}}}`, "/p/properties/q: an optional property", "/p/properties/q: an optional property"},
		{"unique-items", `{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"null"}}`, "/p/uniqueItems", "/p/maxItems"},
		{"tuple", `{"type":"array","prefixItems":[{"type":"null"}],"items":false}`, "/p/prefixItems", "/p/prefixItems"},
		{"annotation", `{"type":"null","$comment":"c"}`, "/p/$comment", "/p/$comment"},
		{"a-name-to-be-escaped", `{"type":"object","additionalProperties":false,"properties":{"a/b":{"type":"null"}}}`, "/p/properties/a~1b", "/p/properties/a~1b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for form, want := range map[Form]string{FormOpenAI: c.openai, FormAnthropic: c.anthropic} {
				out, err := form.Tools([]host.Tool{schemaTool(t, c.property)})
				if err != nil {
					t.Fatal(err)
				}
				notes := strings.Join(out.Notes, "\n")
				if strict := bytes.Contains(out.JSON, []byte(`"strict":true`)); strict != (want == "") || !strings.Contains(notes, want) {
					t.Errorf("%s: strict is %t, %q; want %q", form, strict, notes, want)
				}
				if bytes.Contains(out.JSON, []byte("$schema")) {
					t.Errorf("%s: %s", form, out.JSON)
				}
			}
		})
	}
}

// A request takes 20 strict tools; one more must not spoil it.
func TestStrictToolsOfOneRequest(t *testing.T) {
	tools := make([]host.Tool, maxStrictAnthropic+1)
	for i := range tools {
		tools[i] = schemaTool(t, `{"type":"boolean"}`)
		tools[i].Name = fmt.Sprint("t", i)
	}
	out, err := FormAnthropic.Tools(tools)
	if n := bytes.Count(out.JSON, []byte(`"strict":true`)); err != nil || n != maxStrictAnthropic || len(out.Notes) != 1 || !strings.HasPrefix(out.Notes[0], "t20 is not strict") {
		t.Errorf("%d strict tools, %q, %v", n, out.Notes, err)
	}
}

// Every tool that a provider would reject is named, and no tool is written.
func TestToolsThatAreRejected(t *testing.T) {
	one, two := schemaTool(t, `{"$ref":"#/$defs/d","title":"x"}`), schemaTool(t, `{"$ref":"#/$defs/d","description":"x"}`)
	out, err := FormGemini.Tools([]host.Tool{one, two})
	want := "t: contract.json: /inputSchema/properties/p/title: gemini does not take title beside $ref; say it in the definition\n" +
		"t: contract.json: /inputSchema/properties/p/description: gemini does not take description beside $ref; say it in the definition"
	if err == nil || err.Error() != want || out.JSON != nil {
		t.Errorf("%s %v", out.JSON, err)
	}
	if _, err := FormOpenAI.Tools([]host.Tool{one}); err != nil {
		t.Error(err)
	}
}
