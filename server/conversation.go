package server

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/strictjson"
)

// A recorded conversation: what a model wrote, message by message, in the form
// of its provider, with who asked and about what.
//
//   - The whole file is read before anything of it runs. One message that cannot
//     be read makes the conversation unreadable.
//   - What the recording has as answers of tools is kept to be compared with, and
//     for nothing else: whoever wrote the file could have written anything there.

// MaxTicket is how many bytes the text of a ticket may have.
const MaxTicket = 1 << 20

const maxTurns = 1000 // messages of one conversation

// ConversationForms lists the forms that conversations can be read in.
func ConversationForms() []Form { return []Form{FormOpenAI, FormAnthropic} }

// Conversation is a recording that was read whole.
type Conversation struct {
	Form    Form
	Session strictjson.Value // an object of strings; no value where the recording has none
	Ticket  string           // the text that the loop is about
	Turns   []Turn
}

// Turn is one message of a conversation. Calls and Text are the model's where
// Role is RoleAssistant.
type Turn struct {
	Role    string
	Text    string           // "" where the message has none
	Calls   []FormCall       // none: what the model wrote is its answer
	Answers []RecordedAnswer // of tools, as the recording has them: to compare with, never to take
	Tokens  *Tokens          // nil where the recording does not say
	Finish  string           // why the model stopped; "" where the recording does not say
}

// The roles of messages.
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// RecordedAnswer is what a recording has as a tool's answer.
type RecordedAnswer struct {
	ID      string
	Content string
}

// Tokens is what one call of the model used.
type Tokens struct{ In, Out int }

// UnreadableError says why a conversation cannot be read. Session is that of the
// file, where it could be read, and Message the message that could not, if it
// was one.
type UnreadableError struct {
	Session strictjson.Value
	Message []byte
	Why     error
}

func (e *UnreadableError) Error() string { return e.Why.Error() }

func (e *UnreadableError) Unwrap() error { return e.Why }

// ReadConversation reads a file: one JSON object with format, messages, and
// session, ticket and about where it has them. The error is an *UnreadableError.
func ReadConversation(text []byte) (Conversation, error) {
	var c Conversation
	fail := func(message []byte, format string, args ...any) (Conversation, error) {
		return Conversation{}, &UnreadableError{Session: c.Session, Message: message, Why: fmt.Errorf(format, args...)}
	}
	root, err := strictjson.Read(text, formLimits())
	switch {
	case err != nil:
		return fail(nil, "%w", err)
	case root.Kind() != strictjson.Object:
		return fail(nil, "must be one JSON object with format, session, ticket and messages")
	}
	known := []string{"format", "session", "ticket", "messages", "about"}
	for name := range root.Members() {
		if !slices.Contains(known, name) {
			return fail(nil, "unknown member %q; known are %s", name, strings.Join(known, ", "))
		}
	}
	c.Session, _ = root.Get("session")
	format, _ := root.TextAt("format")
	var ok bool
	if c.Form, ok = FormNamed(format, ConversationForms()); !ok {
		return fail(nil, "format %q: a conversation is in the form %s", format, strings.ReplaceAll(FormNames(ConversationForms()), " and ", " or "))
	}
	if ticket, given := root.Get("ticket"); given {
		if c.Ticket, ok = root.TextAt("ticket"); !ok {
			return fail(nil, "ticket is %s, expected a string", ticket.Kind())
		}
	}
	messages, err := formValue(text).all()["messages"].elements("messages")
	switch {
	case err != nil:
		return fail(nil, "%w", err)
	case len(messages) == 0 || len(messages) > maxTurns:
		return fail(nil, "%d messages; a conversation has 1 to %d", len(messages), maxTurns)
	}
	for i, m := range messages {
		turn, err := c.Form.turn(m)
		if err != nil {
			return fail(m, "messages: item %d: %w", i, err)
		}
		c.Turns = append(c.Turns, turn)
	}
	return c, nil
}

// turn reads one message, or the whole response that a message came in.
func (f Form) turn(v formValue) (Turn, error) {
	if !v.isObject() {
		return Turn{}, errors.New("must be an object")
	}
	m := v.members()
	role, err := m["role"].text("role")
	if err != nil {
		return Turn{}, err
	}
	if _, response := m["choices"]; response && f == FormOpenAI {
		role = RoleAssistant
	}
	t := Turn{Role: role}
	kind, err := m["type"].text("type")
	switch {
	case f == FormAnthropic && (err != nil || kind != "" && kind != "message"):
		return Turn{}, errors.New(`type must be "message": a conversation holds whole messages`)
	case role == RoleAssistant:
		if t.Calls, err = f.Calls(v); err != nil && !errors.Is(err, ErrNoCalls) {
			return Turn{}, err
		}
		if f == FormOpenAI {
			err = t.openAIResponse(m)
		} else {
			err = t.anthropicResponse(m)
		}
	case f == FormOpenAI && role == RoleTool:
		err = t.openAITool(m)
	case role == RoleUser && f == FormAnthropic:
		err = t.anthropicUser(m)
	case role == RoleUser, f == FormOpenAI && (role == RoleSystem || role == RoleDeveloper):
		t.Text, err = contentText(m["content"])
	default:
		err = fmt.Errorf("role %q is none of a message of %s", role, f)
	}
	return t, err
}

// contentText joins the texts of a content: a string, or parts of which those
// of type text have some. What is absent has none.
func contentText(content formValue) (string, error) {
	if len(content) == 0 || content[0] == '"' {
		return content.text("content")
	}
	parts, err := content.elements("content")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, part := range parts {
		m := part.members()
		kind, err := m["type"].text("type")
		switch {
		case err != nil || kind == "":
			return "", fmt.Errorf("content: item %d: must be an object with a type", i)
		case kind != "text":
			continue
		}
		text, err := m["text"].text("text")
		if err != nil {
			return "", fmt.Errorf("content: item %d: %w", i, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// openAIResponse reads what a message of the model, or its response, says beside
// the calls. f.Calls has read it before.
func (t *Turn) openAIResponse(m map[string]formValue) error {
	message := m
	if choices, ok := m["choices"]; ok {
		all, err := choices.elements("choices")
		if err != nil || len(all) != 1 {
			return errors.New("choices must have one")
		}
		choice := all[0].members()
		if t.Finish, err = choice["finish_reason"].text("finish_reason"); err != nil {
			return err
		}
		if message = choice["message"].members(); !choice["message"].isObject() {
			return errors.New("a response of a conversation is whole: it has a message")
		}
	}
	var err error
	if t.Text, err = contentText(message["content"]); err != nil {
		return err
	}
	t.Tokens, err = tokensOf(m["usage"], "prompt_tokens", "completion_tokens")
	return err
}

func (t *Turn) anthropicResponse(m map[string]formValue) error {
	var err error
	if t.Text, err = contentText(m["content"]); err != nil {
		return err
	}
	if t.Finish, err = m["stop_reason"].text("stop_reason"); err != nil {
		return err
	}
	t.Tokens, err = tokensOf(m["usage"], "input_tokens", "output_tokens")
	return err
}

// tokensOf reads what a response says that it used; nil where it says nothing.
func tokensOf(usage formValue, in, out string) (*Tokens, error) {
	m := usage.members()
	if m[in] == nil || m[out] == nil {
		return nil, nil //nolint:nilnil // the recording does not say
	}
	const most = 1 << 40
	tokens := &Tokens{}
	for _, field := range []struct {
		name string
		into *int
	}{{in, &tokens.In}, {out, &tokens.Out}} {
		n, err := strconv.Atoi(string(m[field.name]))
		if err != nil || n < 0 || n > most {
			return nil, fmt.Errorf("usage: %s must be a whole number", field.name)
		}
		*field.into = n
	}
	return tokens, nil
}

// openAITool reads a message that the recording has as a tool's.
func (t *Turn) openAITool(m map[string]formValue) error {
	id, err := m["tool_call_id"].text("tool_call_id")
	if err != nil || id == "" {
		return errors.New("tool_call_id must be a string")
	}
	content, err := contentText(m["content"])
	t.Answers = []RecordedAnswer{{ID: id, Content: content}}
	return err
}

// anthropicUser reads a user's message, in which the answers of tools stand.
func (t *Turn) anthropicUser(m map[string]formValue) error {
	var err error
	if t.Text, err = contentText(m["content"]); err != nil {
		return err
	}
	blocks, _ := m["content"].elements("content") // a string has none
	for i, block := range blocks {
		b := block.members()
		if kind, _ := b["type"].text("type"); kind != "tool_result" {
			continue
		}
		id, err := b["tool_use_id"].text("tool_use_id")
		if err != nil || id == "" {
			return fmt.Errorf("content: item %d: tool_use_id must be a string", i)
		}
		content, err := contentText(b["content"])
		if err != nil {
			return fmt.Errorf("content: item %d: %w", i, err)
		}
		t.Answers = append(t.Answers, RecordedAnswer{ID: id, Content: content})
	}
	return nil
}
