package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Form is the way in which one provider writes tools, calls and answers.
type Form string

// The forms. MCP has tools alone here: its calls come through ServeMCP.
const (
	FormMCP       Form = "mcp"
	FormOpenAI    Form = "openai"
	FormAnthropic Form = "anthropic"
	FormGemini    Form = "gemini"
)

// ToolForms lists the forms that tools can be written in.
func ToolForms() []Form { return []Form{FormMCP, FormOpenAI, FormAnthropic, FormGemini} }

// CallForms lists the forms that calls can be read from.
func CallForms() []Form { return []Form{FormOpenAI, FormAnthropic, FormGemini} }

// FormTools is what a provider is told of some tools.
type FormTools struct {
	JSON  []byte
	Notes []string // for a person: which tools are not strict, and why
}

// Tools writes tools as the provider takes them. The schemas stand as the
// contracts have them, and only without the $schema that names the dialect: a
// provider that enforces less than it is told loosens nothing, because the
// contract gate holds every call against the whole contract. The error names
// every tool that the provider would reject.
func (f Form) Tools(tools []host.Tool) (FormTools, error) {
	var faults []error
	for _, t := range tools {
		faults = append(faults, f.rejects(t)...)
	}
	if len(faults) > 0 {
		return FormTools{}, errors.Join(faults...)
	}
	switch f {
	case FormMCP:
		return FormTools{JSON: mcpForm(tools)}, nil
	case FormOpenAI:
		return openAITools(tools), nil
	case FormAnthropic:
		return anthropicTools(tools), nil
	case FormGemini:
		return FormTools{JSON: geminiTools(tools)}, nil
	}
	return FormTools{}, fmt.Errorf("no form %q", f)
}

// FormCall is one call of a message, as the model wrote it.
type FormCall struct {
	ID        string // "" only where a message of Gemini has none
	Tool      string
	Arguments []byte // the text that the model wrote, byte for byte
}

// MaxFormMessage is how many bytes a message may have.
const MaxFormMessage = 16 << 20

const maxFormCalls = 128 // of one message

// Calls reads the assistant's message as the provider's API returned it: the
// message alone, a whole response, or a stream of chunks. It gives every call
// or an error, so that nothing runs of a message that was not read whole. What
// a model may write wrongly, the arguments, is no error here: they go to the
// contract gate as they are.
func (f Form) Calls(message []byte) ([]FormCall, error) {
	docs, err := formDocuments(message)
	if err != nil {
		return nil, err
	}
	var calls []FormCall
	switch f {
	case FormOpenAI:
		calls, err = openAICalls(docs)
	case FormAnthropic:
		calls, err = anthropicCalls(docs)
	case FormGemini:
		calls, err = geminiCalls(docs)
	default:
		err = fmt.Errorf("no calls of the form %q; known are %s", f, FormNames(CallForms()))
	}
	if err == nil {
		err = f.check(calls)
	}
	if err != nil {
		return nil, err
	}
	return calls, nil
}

// ErrNoCalls says that a message asks for nothing: it is the model's answer.
var ErrNoCalls = errors.New("no tool call in the message")

// check holds what each answer needs: an id that is the call's alone.
func (f Form) check(calls []FormCall) error {
	switch {
	case len(calls) == 0:
		return ErrNoCalls
	case len(calls) > maxFormCalls:
		return fmt.Errorf("%d calls in one message; at most %d are answered", len(calls), maxFormCalls)
	}
	seen := map[string]bool{}
	for i, c := range calls {
		switch {
		case c.Tool == "":
			return fmt.Errorf("call %d: has no tool's name", i+1)
		case c.ID == "" && f != FormGemini:
			return fmt.Errorf("call %d, of %q: has no id", i+1, c.Tool)
		case c.ID != "" && seen[c.ID]:
			return fmt.Errorf("call %d, of %q: another call has the id %q too", i+1, c.Tool, c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// Answer writes what is to be appended to the conversation, after the
// assistant's message as it was: outcomes[i] is that of calls[i].
func (f Form) Answer(calls []FormCall, outcomes []host.Outcome) []byte {
	switch f {
	case FormOpenAI:
		return openAIAnswer(calls, outcomes)
	case FormAnthropic:
		return anthropicAnswer(calls, outcomes)
	case FormGemini:
		return geminiAnswer(calls, outcomes)
	case FormMCP:
	}
	panic("server: an answer in the form " + string(f)) // Calls would have refused
}

// FormNamed is the form of a name, where it is one of these.
func FormNamed(name string, among []Form) (Form, bool) {
	f := Form(name)
	return f, slices.Contains(among, f)
}

// FormNames lists forms for a person: "openai, anthropic and gemini".
func FormNames(forms []Form) string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = string(f)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// formSchema is a tool's input schema as providers get it.
func formSchema(t host.Tool) strictjson.Value { return t.Input.Without("$schema") }

// appendEach writes a JSON array of n values.
func appendEach(b []byte, n int, one func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, i)
	}
	return append(b, ']')
}

// appendField writes a member; key begins with what opens its name: {" or ,".
func appendField(b []byte, key, text string) []byte {
	return strictjson.AppendString(append(append(b, key...), `":`...), text)
}
