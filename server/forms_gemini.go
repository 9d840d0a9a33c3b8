package server

import (
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host"
)

// Google's Gemini API: https://ai.google.dev/api/caching (FunctionDeclaration,
// FunctionCall, FunctionResponse) and https://ai.google.dev/api/generate-content.

// geminiTools writes one entry of the request's "tools". parametersJsonSchema is
// JSON Schema as a value and is sent whole; parameters is a subset of OpenAPI
// 3.0 as a protobuf message, whose parser rejects a request with the first
// keyword that it does not know, additionalProperties and const among them
// (https://hexdocs.pm/geminix/Geminix.V1beta.FunctionDeclaration.html has the
// reference's words: "mutually exclusive with parameters"). There is no strict
// mode: "While the full JSON Schema may be sent, not all features are supported.
// [...] If $ref is set on a sub-schema, no other properties, except for than those
// starting as a $, may be set" (GenerationConfig, of the twin responseJsonSchema).
func geminiTools(tools []host.Tool) []byte {
	b := appendEach([]byte(`{"functionDeclarations":`), len(tools), func(b []byte, i int) []byte {
		t := tools[i]
		b = appendField(b, `{"name`, t.Name)
		b = appendField(b, `,"description`, t.Description)
		return append(formSchema(t).AppendJSON(append(b, `,"parametersJsonSchema":`...)), '}')
	})
	return append(b, '}')
}

// geminiCalls reads responses, or content objects: a stream has one call whole
// in one part, so that nothing is to be joined.
func geminiCalls(docs []formDocument) ([]FormCall, error) {
	var calls []FormCall
	err := eachDocument(docs, func(v formValue) error {
		m := v.members()
		candidates, ok := m["candidates"]
		if !ok {
			if _, failed := m["error"]; failed {
				return errors.New("is an error of the provider and no message")
			}
			return geminiContent(m, &calls)
		}
		all, err := candidates.elements("candidates")
		for _, c := range all {
			candidate := c.members()
			if i, ok := candidate["index"]; ok && string(i) != "0" || len(all) > 1 {
				return errors.New("candidates has more than one; ask for one (candidateCount = 1), or give its content alone")
			}
			if err := geminiContent(candidate["content"].members(), &calls); err != nil {
				return err
			}
		}
		return err
	})
	return calls, err
}

func geminiContent(content map[string]formValue, calls *[]FormCall) error {
	if err := content["role"].checkRole("model"); err != nil {
		return err
	}
	parts, ok := content["parts"]
	if !ok {
		return nil
	}
	all, err := parts.elements("parts")
	for i, v := range all {
		part := v.members()
		if _, other := part["function_call"]; other {
			return fmt.Errorf("parts: item %d: function_call is a library's name; give functionCall, as the API has it", i)
		}
		call, ok := part["functionCall"]
		if !ok {
			continue
		}
		c, err := geminiCall(call)
		if err != nil {
			return fmt.Errorf("parts: item %d: functionCall: %w", i, err)
		}
		*calls = append(*calls, c)
	}
	return err
}

// geminiCall reads one call. Arguments that are absent are no text, and go on
// as that.
func geminiCall(v formValue) (FormCall, error) {
	if !v.isObject() {
		return FormCall{}, errors.New("must be an object")
	}
	m := v.members()
	_, partial := m["partialArgs"]
	if more := m["willContinue"]; partial || string(more) == "true" {
		return FormCall{}, errors.New("has its arguments in parts; ask for them whole (streamFunctionCallArguments)")
	}
	id, err := m["id"].text("id")
	if err != nil {
		return FormCall{}, err
	}
	name, err := m["name"].text("name")
	return FormCall{ID: id, Tool: name, Arguments: v.all()["args"]}, err
}

// geminiAnswer is the user's turn with a response for each call, in their
// order: where calls have no ids that is all that matches them.
func geminiAnswer(calls []FormCall, outcomes []host.Outcome) []byte {
	b := appendEach([]byte(`{"role":"user","parts":`), len(calls), func(b []byte, i int) []byte {
		b = append(b, `{"functionResponse":{`...)
		if calls[i].ID != "" {
			b = append(appendField(b, `"id`, calls[i].ID), ',')
		}
		b = appendField(b, `"name`, calls[i].Tool)
		b = append(append(b, `,"response":`...), outcomes[i].Result...)
		return append(b, `}}`...)
	})
	return append(b, '}')
}
