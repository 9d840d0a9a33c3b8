package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host"
)

// OpenAI's Chat Completions API: https://platform.openai.com/docs/api-reference/chat
// (create, the object, and streaming). A stream's tool calls are joined by
// index; id and name stand in the first part, the arguments in all of them.

// openAITools writes the request's "tools". A tool that strict mode does not
// take has "strict": false, which the API reads as guidance to the model.
func openAITools(tools []host.Tool) FormTools {
	var out FormTools
	out.JSON = appendEach(nil, len(tools), func(b []byte, i int) []byte {
		t := tools[i]
		b = appendField(append(b, `{"type":"function","function":`...), `{"name`, t.Name)
		b = appendField(b, `,"description`, t.Description)
		b = formSchema(t).AppendJSON(append(b, `,"parameters":`...))
		why := openAIStrict().breach(formSchema(t))
		if why != "" {
			out.Notes = append(out.Notes, notStrict(t, why))
		}
		return fmt.Appendf(b, `,"strict":%t}}`, why == "")
	})
	return out
}

func notStrict(t host.Tool, why string) string {
	return fmt.Sprintf("%s is not strict: contract.json: /inputSchema%s is not for strict mode", t.Name, why)
}

// An openAIReader gathers the calls of one assistant message.
type openAIReader struct {
	whole   bool // a message was there
	calls   []FormCall
	streams map[int]*FormCall
	ended   bool // a chunk of the stream has said that it is the last
}

func openAICalls(docs []formDocument) ([]FormCall, error) {
	r := &openAIReader{streams: map[int]*FormCall{}}
	if err := eachDocument(docs, r.document); err != nil {
		return nil, err
	}
	if r.whole && len(r.streams) > 0 {
		return nil, errors.New("both a whole message and a stream; give one of them")
	}
	if len(r.streams) > 0 && !r.ended {
		return nil, errors.New("the stream was cut: no chunk has a finish_reason")
	}
	for _, i := range slices.Sorted(maps.Keys(r.streams)) {
		r.calls = append(r.calls, *r.streams[i])
	}
	return r.calls, nil
}

// document reads a message, a response, or one chunk of a stream.
func (r *openAIReader) document(v formValue) error {
	m := v.members()
	choices, ok := m["choices"]
	if !ok {
		if _, failed := m["error"]; failed {
			return errors.New("is an error of the provider and no message")
		}
		if m["role"] == nil && m["tool_calls"] == nil {
			return nil // what some servers put between the chunks
		}
		return r.message(v)
	}
	all, err := choices.elements("choices")
	if err != nil {
		return err
	}
	for _, choice := range all {
		c := choice.members()
		if i, ok := c["index"]; ok && string(i) != "0" || len(all) > 1 {
			return errors.New("choices has more than one; ask for one (n = 1), or give its message alone")
		}
		if message, ok := c["message"]; ok {
			err = r.message(message)
		} else if delta, ok := c["delta"]; ok {
			err = r.delta(delta)
			reason, _ := c["finish_reason"].text("finish_reason")
			r.ended = r.ended || reason != ""
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *openAIReader) message(v formValue) error {
	m := v.members()
	if err := firstMessage(&r.whole, m["role"]); err != nil {
		return err
	}
	all, err := toolCalls(m)
	for i, call := range all {
		c := FormCall{}
		if err := c.addOpenAI(call); err != nil {
			return fmt.Errorf("tool_calls: item %d: %w", i, err)
		}
		r.calls = append(r.calls, c)
	}
	return err
}

func (r *openAIReader) delta(v formValue) error {
	m := v.members()
	if err := m["role"].checkRole("assistant"); err != nil {
		return err
	}
	all, err := toolCalls(m)
	for _, part := range all {
		i, err := part.members()["index"].index()
		if err != nil {
			return fmt.Errorf("tool_calls: %w", err)
		}
		c := r.streams[i]
		if c == nil {
			c = &FormCall{}
			r.streams[i] = c
		}
		if err := c.addOpenAI(part); err != nil {
			return fmt.Errorf("tool_calls: index %d: %w", i, err)
		}
		if c.ID == "" {
			return fmt.Errorf("tool_calls: index %d: begins without an id", i)
		}
	}
	return err
}

func toolCalls(message map[string]formValue) ([]formValue, error) {
	if _, ok := message["function_call"]; ok {
		return nil, errors.New("function_call has no id to answer; use tools")
	}
	v, ok := message["tool_calls"]
	if !ok {
		return nil, nil
	}
	return v.elements("tool_calls")
}

// addOpenAI adds a call, or the next part of it. A part may repeat id and name
// and never change them.
func (c *FormCall) addOpenAI(v formValue) error {
	m := v.members()
	kind, err := m["type"].text("type")
	if err != nil || kind != "" && kind != "function" {
		return errors.New(`type must be "function"; no other call can be answered`)
	}
	if f, ok := m["function"]; !v.isObject() || ok && !f.isObject() {
		return errors.New("a call and its function must be objects")
	}
	f := m["function"].members()
	if err := addOnce(&c.ID, m["id"], "id"); err != nil {
		return err
	}
	if err := addOnce(&c.Tool, f["name"], "name"); err != nil {
		return err
	}
	// What stands for no text is refused by the contract gate, as text: null, or
	// nothing at all.
	if raw := m["function"].all()["arguments"]; string(raw) == "null" {
		if _, streamed := m["index"]; !streamed {
			c.Arguments = []byte("null")
		}
		return nil
	}
	text, err := f["arguments"].text("arguments")
	c.Arguments = append(c.Arguments, text...)
	return err
}

func addOnce(into *string, v formValue, what string) error {
	s, err := v.text(what)
	switch {
	case err != nil:
		return err
	case s != "" && *into != "" && s != *into:
		return fmt.Errorf("%s is first %q, then %q", what, *into, s)
	case s != "":
		*into = s
	}
	return nil
}

func openAIAnswer(calls []FormCall, outcomes []host.Outcome) []byte {
	return appendEach(nil, len(calls), func(b []byte, i int) []byte {
		b = appendField(append(b, `{"role":"tool",`...), `"tool_call_id`, calls[i].ID)
		return append(appendField(b, `,"content`, string(outcomes[i].Result)), '}')
	})
}
