package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// talk is a conversation of these messages.
func talk(format, messages string) string {
	return fmt.Sprintf(`{"format":%q,"messages":[%s]}`, format, messages)
}

const (
	openAICall    = `{"role":"assistant","content":"I look.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_order","arguments":"{\"order_id\": 1}"}}]}`
	anthropicCall = `{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"get_order","input":{"order_id": 1}}]}`
)

func TestConversationsAreRead(t *testing.T) {
	for _, c := range []struct{ rule, format, message, want string }{
		{"openai-call", "openai", openAICall, `assistant "I look." get_order:{"order_id": 1}`},
		{"openai-response", "openai", `{"choices":[{"index":0,"message":` + openAICall + `,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":20,"completion_tokens":3}}`, `assistant "I look." get_order:{"order_id": 1} 20/3 tool_calls`},
		{"openai-answer", "openai", `{"role":"assistant","content":"{}"}`, `assistant "{}"`},
		{"openai-parts", "openai", `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"x"},{"type":"text","text":"b"}]}`, `assistant "ab"`},
		{"openai-refusal-is-no-text", "openai", `{"role":"assistant","content":null,"refusal":"no"}`, `assistant ""`},
		{"openai-system", "openai", `{"role":"system","content":"s"}`, `system "s"`},
		{"openai-developer", "openai", `{"role":"developer","content":"s"}`, `developer "s"`},
		{"openai-tool", "openai", `{"role":"tool","tool_call_id":"call_1","content":"{\"ok\":true}"}`, `tool "" call_1={"ok":true}`},
		{"openai-half-a-usage-says-nothing", "openai", `{"role":"assistant","content":"x","usage":{"prompt_tokens":1}}`, `assistant "x"`},
		{"anthropic-call", "anthropic", anthropicCall, `assistant "I look." get_order:{"order_id": 1}`},
		{"anthropic-response", "anthropic", `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"{}"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}`, `assistant "{}" 7/2 end_turn`},
		{"anthropic-user", "anthropic", `{"role":"user","content":"u"}`, `user "u"`},
		{"anthropic-results", "anthropic", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"y"}]},{"type":"text","text":"u"}]}`, `user "u" a=x b=y`},
		{"a-result-in-the-models-own-message-is-none", "anthropic", `{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`, `assistant ""`},
	} {
		read, err := ReadConversation([]byte(talk(c.format, c.message)))
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if got := written(read.Turns[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
	}
}

func written(t Turn) string {
	out := fmt.Sprintf("%s %q", t.Role, t.Text)
	for _, c := range t.Calls {
		out += fmt.Sprintf(" %s:%s", c.Tool, c.Arguments)
	}
	for _, a := range t.Answers {
		out += fmt.Sprintf(" %s=%s", a.ID, a.Content)
	}
	if t.Tokens != nil {
		out += fmt.Sprintf(" %d/%d", t.Tokens.In, t.Tokens.Out)
	}
	return strings.TrimSpace(out + " " + t.Finish)
}

func TestConversationsThatAreRefusedWhole(t *testing.T) {
	for _, c := range []struct{ rule, text, want string }{
		{"empty", ``, "no JSON value"},
		{"a-list", `[]`, "must be one JSON object"},
		{"two", talk("openai", openAICall) + talk("openai", openAICall), "more than one JSON value"},
		{"name-twice-deep-inside", talk("openai", `{"role":"user","content":[{"type":"text","text":"a","te\u0078t":"b"}]}`), "a name stands twice"},
		{"bad-utf-8", talk("openai", "{\"role\":\"user\",\"content\":\"\xff\"}"), "not valid UTF-8"},
		{"unknown-member", `{"format":"openai","mesages":[]}`, `unknown member "mesages"`},
		{"no-format", `{"messages":[]}`, `format ""`},
		{"no-messages", `{"format":"openai"}`, "messages must be an array"},
		{"none", talk("openai", ""), "0 messages"},
		{"too-many", talk("openai", strings.Repeat(`{"role":"user","content":""},`, 1000)+`{"role":"user","content":""}`), "1001 messages"},
		{"ticket-that-is-no-text", `{"format":"openai","ticket":7,"messages":[{"role":"user","content":""}]}`, "ticket is number, expected a string"},
		{"no-object", talk("openai", `"hello"`), "item 0: must be an object"},
		{"no-role", talk("openai", `{"content":"x"}`), `item 0: role "" is none`},
		{"anthropic-has-no-tool", talk("anthropic", `{"role":"tool","content":"x"}`), `role "tool" is none of a message of anthropic`},
		{"anthropic-has-no-system", talk("anthropic", `{"role":"system","content":"x"}`), `role "system" is none`},
		{"a-call-without-an-id", talk("openai", strings.Replace(openAICall, `"id":"call_1",`, "", 1)), `item 0: call 1, of "get_order": has no id`},
		{"the-second-message", talk("openai", openAICall+`,`+strings.Replace(openAICall, `"id":"call_1"`, `"id":7`, 1)), "item 1: tool_calls: item 0: id must be a string"},
		{"two-choices", talk("openai", `{"choices":[{"message":{"role":"assistant","content":"a"}},{"message":{"role":"assistant","content":"b"}}]}`), "choices has more than one"},
		{"no-choice", talk("openai", `{"choices":[]}`), "choices must have one"},
		{"a-chunk", talk("openai", `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`), "it has a message"},
		{"an-event", talk("anthropic", `{"type":"message_start","role":"assistant","message":`+anthropicCall+`}`), `type must be "message"`},
		{"usage-that-is-no-number", talk("openai", `{"role":"assistant","content":"x","usage":{"prompt_tokens":"many","completion_tokens":1}}`), "prompt_tokens must be a whole number"},
		{"usage-without-end", talk("openai", `{"role":"assistant","content":"x","usage":{"prompt_tokens":1e3,"completion_tokens":1}}`), "prompt_tokens must be a whole number"},
		{"usage-below-nothing", talk("openai", `{"role":"assistant","content":"x","usage":{"prompt_tokens":-1,"completion_tokens":1}}`), "prompt_tokens must be a whole number"},
		{"a-result-without-an-id", talk("anthropic", `{"role":"user","content":[{"type":"tool_result","content":"x"}]}`), "tool_use_id must be a string"},
		{"content-that-is-no-text", talk("openai", `{"role":"user","content":7}`), "content must be an array"},
	} {
		_, err := ReadConversation([]byte(c.text))
		var unread *UnreadableError
		if !errors.As(err, &unread) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.rule, err, c.want)
		}
	}
}

func TestCompare(t *testing.T) {
	calls := []FormCall{{ID: "a"}, {ID: "b"}}
	outcomes := []host.Outcome{{Result: []byte(`{"ok":true,"n":899.00,"s":[{"x":"1"},2],"big":12345678901234567890}`)}, {Result: []byte(`{"ok":false,"error":"no"}`)}}
	b := RecordedAnswer{ID: "b", Content: `{"error": "no", "ok": false}`}
	for _, c := range []struct {
		rule, a string
		more    []RecordedAnswer
		want    []string
	}{
		{"as-it-is", `{"ok":true,"n":899.00,"s":[{"x":"1"},2],"big":12345678901234567890}`, []RecordedAnswer{b}, nil},
		{"order-blanks-and-how-a-number-is-written", `{ "s": [{"x":"1"}, 2.0], "n": 8.99e2, "ok": true, "big": 12345678901234567890 }`, []RecordedAnswer{b}, nil},
		{"a-digit-beyond-2-to-the-53", `{"ok":true,"n":899,"s":[{"x":"1"},2],"big":12345678901234567891}`, []RecordedAnswer{b}, []string{"a: big is 12345678901234567891 in the recording, and 12345678901234567890 now"}},
		{"one-value", `{"ok":true,"n":899,"s":[{"x":"2"},2],"big":12345678901234567890}`, []RecordedAnswer{b}, []string{`a: s.0.x is "2" in the recording, and "1" now`}},
		{"a-text-is-no-number", `{"ok":true,"n":"899","s":[{"x":"1"},2],"big":12345678901234567890}`, []RecordedAnswer{b}, []string{`a: n is "899" in the recording, and 899.00 now`}},
		{"a-longer-list", `{"ok":true,"n":899,"s":[{"x":"1"},2,3],"big":12345678901234567890}`, []RecordedAnswer{b}, []string{`a: s is [{"x":"1"},2,3] in the recording, and [{"x":"1"},2] now`}},
		{"absent", `{"ok":true,"s":[{"x":"1"},2],"big":12345678901234567890,"more":null}`, []RecordedAnswer{b}, []string{"a: more is null in the recording, and absent now", "a: n is absent in the recording, and 899.00 now"}},
		{"no-json", `{"ok":true`, []RecordedAnswer{b}, []string{"a: the recorded answer cannot be read: not JSON (byte 10)"}},
		{"none", `{"ok":true,"n":899,"s":[{"x":"1"},2],"big":12345678901234567890}`, nil, []string{"b: the recording has no answer to the call"}},
		{"to-no-call", `{"ok":true,"n":899,"s":[{"x":"1"},2],"big":12345678901234567890}`, []RecordedAnswer{b, {ID: "c", Content: "{}"}}, []string{"c: the recording answers a call that the model has not made here"}},
		{"twice", `{"ok":true,"n":899,"s":[{"x":"1"},2],"big":12345678901234567890}`, []RecordedAnswer{b, b}, []string{"b: the recording answers the call twice"}},
		{"everything", `{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1}`, []RecordedAnswer{b}, []string{
			"a: 1 is 1 in the recording, and absent now", "a: 2 is 1 in the recording, and absent now", "a: 3 is 1 in the recording, and absent now",
			"a: 4 is 1 in the recording, and absent now", "a: 5 is 1 in the recording, and absent now", "a: and 5 more",
		}},
	} {
		got := Compare(calls, outcomes, append([]RecordedAnswer{{ID: "a", Content: c.a}}, c.more...))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q\nwant %q", c.rule, got, c.want)
		}
	}
}

// A recording of a million members is compared in the time that reading it takes.
func TestCompareWide(t *testing.T) {
	var wide strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&wide, `,"m%d":1`, i)
	}
	start := time.Now()
	got := Compare([]FormCall{{ID: "a"}}, []host.Outcome{{Result: []byte(`{"ok":true}`)}}, []RecordedAnswer{{ID: "a", Content: `{"ok":true` + wide.String() + `}`}})
	if took := time.Since(start); took > 10*time.Second || len(got) != maxDifferences+1 {
		t.Errorf("%d differences in %s", len(got), took)
	}
}

// FuzzReadConversation: whatever the bytes, a conversation is read whole or is
// an error, and the calls of each of its messages are those that Form.Calls
// reads from that message by itself.
func FuzzReadConversation(f *testing.F) {
	for _, seed := range []string{
		talk("openai", openAICall), talk("anthropic", anthropicCall), talk("openai", `{"role":"tool","tool_call_id":"x","content":"{}"},`+openAICall),
		talk("anthropic", `{"type":"content_block_start","role":"assistant"}`), talk("openai", `{"choices":[{"message":`+openAICall+`}]}`), "{", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ReadConversation(text)
		if err != nil {
			var unread *UnreadableError
			if !errors.As(err, &unread) || len(c.Turns) > 0 {
				t.Fatalf("%v with %d turns", err, len(c.Turns))
			}
			return
		}
		messages, err := formValue(text).all()["messages"].elements("messages")
		if err != nil || len(messages) != len(c.Turns) {
			t.Fatalf("%d of %d messages: %v", len(c.Turns), len(messages), err)
		}
		for i, turn := range c.Turns {
			if turn.Role != RoleAssistant {
				if len(turn.Calls) > 0 {
					t.Errorf("a message of %q calls", turn.Role)
				}
				continue
			}
			calls, err := c.Form.Calls(messages[i])
			if err != nil && !errors.Is(err, ErrNoCalls) || len(calls) != len(turn.Calls) {
				t.Errorf("message %d: %d calls, read %d: %v", i, len(turn.Calls), len(calls), err)
			}
		}
	})
}
