package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/toolhost/toolhost/host/strictjson"
)

// How a message arrives: one JSON text, JSON lines, or server-sent events.
//
//   - Every document is first read by strictjson, whole: a name that stands
//     twice, bad UTF-8 or a second value makes the input unreadable, so that no
//     two readers can take it in two ways. Then it is opened level by level, and
//     what is inside keeps its very bytes.
//   - The limits here are wide. What a model wrote into its arguments is bounded
//     by the contract gate, which records a refusal; an error of the message
//     would leave the model without an answer.

// formLimits bound one document of a message.
func formLimits() strictjson.Limits {
	return strictjson.Limits{Bytes: MaxFormMessage, Depth: 128, Digits: 4096, Exponent: 1 << 20}
}

// A formValue is the bytes of one JSON value that strictjson has accepted; nil
// is an absent one.
type formValue []byte

// UnmarshalJSON keeps the bytes as they stand in the message.
func (v *formValue) UnmarshalJSON(b []byte) error {
	*v = bytes.Clone(b)
	return nil
}

// A formDocument is one object of a message, and how errors call it.
type formDocument struct {
	value formValue
	name  string // "line 3: ", or "" where there is only one
}

// formDocuments splits a message into its objects: one for a message or a
// response, several for a stream.
func formDocuments(message []byte) ([]formDocument, error) {
	if len(message) > MaxFormMessage {
		return nil, fmt.Errorf("the message is longer than %d MiB", MaxFormMessage>>20)
	}
	text := bytes.TrimSpace(message)
	switch {
	case len(text) == 0:
		return nil, errors.New("the message is empty")
	case text[0] != '{' && text[0] != '[':
		return eventDocuments(message)
	}
	_, err := strictjson.Read(text, formLimits())
	var fault *strictjson.Error
	switch {
	case err == nil:
		return wholeDocuments(text)
	case errors.As(err, &fault) && fault.Reason == strictjson.ReasonTrailing:
		return lineDocuments(message)
	}
	return nil, err
}

// wholeDocuments is one object, or an array of the chunks of a stream.
func wholeDocuments(text []byte) ([]formDocument, error) {
	if text[0] == '{' {
		return []formDocument{{value: text}}, nil
	}
	var docs []formDocument
	elements, err := formValue(text).elements("the message")
	if err != nil {
		return nil, err
	}
	for i, v := range elements {
		doc := formDocument{value: v, name: "item " + strconv.Itoa(i) + ": "}
		if !v.isObject() {
			return nil, fmt.Errorf("%smust be an object", doc.name)
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func lineDocuments(message []byte) ([]formDocument, error) {
	var docs []formDocument
	for i, line := range bytes.Split(message, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		doc, err := lineDocument(line, i)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// eventDocuments reads server-sent events (WHATWG HTML, section 9.2). Each data
// line is a document of its own: no provider breaks one over several. OpenAI
// ends with [DONE].
func eventDocuments(message []byte) ([]formDocument, error) {
	var docs []formDocument
	done := false
	for i, line := range bytes.Split(message, []byte("\n")) {
		line = bytes.TrimRight(line, "\r")
		field, rest, _ := bytes.Cut(line, []byte(":"))
		switch string(field) {
		case "data":
		case "", "event", "id", "retry": // a blank line, a comment, or what the data says too
			continue
		default:
			return nil, fmt.Errorf("line %d: is neither JSON nor a server-sent event", i+1)
		}
		data := bytes.TrimSpace(rest)
		switch {
		case done:
			return nil, fmt.Errorf("line %d: stands after [DONE]", i+1)
		case string(data) == "[DONE]":
			done = true
			continue
		}
		doc, err := lineDocument(data, i)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func lineDocument(line []byte, i int) (formDocument, error) {
	doc := formDocument{value: line, name: "line " + strconv.Itoa(i+1) + ": "}
	v, err := strictjson.Read(line, formLimits())
	switch {
	case err != nil:
		return formDocument{}, fmt.Errorf("%s%w", doc.name, err)
	case v.Kind() != strictjson.Object:
		return formDocument{}, fmt.Errorf("%smust be an object", doc.name)
	}
	return doc, nil
}

// all opens an object; of anything else it gives none.
func (v formValue) all() map[string]formValue {
	var members map[string]formValue
	if v.isObject() {
		_ = json.Unmarshal(v, &members) // strictjson has read it
	}
	return members
}

// members is all without those that are null: so do providers' libraries write
// what is not there.
func (v formValue) members() map[string]formValue {
	members := v.all()
	for name, m := range members {
		if string(m) == "null" {
			delete(members, name)
		}
	}
	return members
}

// elements opens an array.
func (v formValue) elements(what string) ([]formValue, error) {
	var elements []formValue
	if len(v) == 0 || v[0] != '[' {
		return nil, fmt.Errorf("%s must be an array", what)
	}
	_ = json.Unmarshal(v, &elements) // strictjson has read it
	return elements, nil
}

func (v formValue) isObject() bool { return len(v) > 0 && v[0] == '{' }

// text gives the characters of a string; an absent one is "".
func (v formValue) text(what string) (string, error) {
	var s string
	if len(v) > 0 && (v[0] != '"' || json.Unmarshal(v, &s) != nil) {
		return "", fmt.Errorf("%s must be a string", what)
	}
	return s, nil
}

// index reads where in the message a part of a stream belongs.
func (v formValue) index() (int, error) {
	n, err := strconv.Atoi(string(v))
	if err != nil || n < 0 || n > maxFormIndex || string(v) != strconv.Itoa(n) {
		return 0, fmt.Errorf("index must be a whole number from 0 to %d", maxFormIndex)
	}
	return n, nil
}

// maxFormIndex counts texts and thoughts too, not calls alone.
const maxFormIndex = 9999

// checkRole refuses a message that somebody else than the model wrote.
func (v formValue) checkRole(want string) error {
	if role, err := v.text("role"); err != nil || role != want && len(v) > 0 {
		return fmt.Errorf("role must be %q: give the model's own message", want)
	}
	return nil
}

// firstMessage refuses a second whole message, and one that is not the model's.
func firstMessage(seen *bool, role formValue) error {
	if *seen {
		return errors.New("is a second message; give one")
	}
	*seen = true
	return role.checkRole("assistant")
}

// eachDocument calls f with each object of a message, and names it in an error.
func eachDocument(docs []formDocument, f func(v formValue) error) error {
	for _, doc := range docs {
		if err := f(doc.value); err != nil {
			return fmt.Errorf("%s%w", doc.name, err)
		}
	}
	return nil
}
