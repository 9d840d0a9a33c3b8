package pdk

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// tool is the plugin's one function, set by Tool before the host calls run. An instance serves one
// call at a time, so nothing here is shared.
var tool func(Call) (any, error)

// Tool names the function of this plugin. Call it once, in init. The arguments are decoded into A by
// encoding/json; a number that lands in an any is a json.Number, so that its digits survive, and one
// that the contract calls an integer fits an int of its range: the host lets no 2.0 through. The
// returned value is encoded by encoding/json and is the result.
func Tool[A any](f func(Call, A) (any, error)) {
	if tool != nil {
		panic("pdk.Tool is called twice: a plugin is one tool")
	}
	tool = func(c Call) (any, error) {
		raw, err := ask("toolhost.arguments", hostArguments, nil)
		if err != nil {
			return nil, err
		}
		var arguments A
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&arguments); err != nil {
			return nil, fmt.Errorf("decode the arguments: %w", err)
		}
		return f(c, arguments)
	}
}

// Call is one call of the tool. Its methods ask the host.
type Call struct{}

// Level is how much a log line matters.
type Level string

// The levels of Log.
const (
	Debug Level = "debug"
	Info  Level = "info"
	Warn  Level = "warn"
	Error Level = "error"
)

// Log writes a line for the operator. What a call may log is bounded; the excess is dropped.
func (Call) Log(level Level, message string) {
	request, err := encode(struct {
		Level   Level  `json:"level"`
		Message string `json:"message"`
	}{level, message})
	if err == nil {
		_, _ = ask("toolhost.log", hostLog, request) // a tool does not fail because its log does
	}
}

// Progress says how far the call is: done of total, in any unit.
func (Call) Progress(done, total float64) {
	request, err := encode(struct {
		Done  float64 `json:"done"`
		Total float64 `json:"total"`
	}{done, total})
	if err == nil {
		_, _ = ask("toolhost.progress", hostProgress, request)
	}
}

// serve is one call: 0 if the host has the result, 1 if it has the text of an error. A panic is
// reported and is an error; the host throws the instance away either way.
func serve() (code int32) {
	defer func() {
		if r := recover(); r != nil {
			code = fail(fmt.Sprintf("panic: %v", r))
		}
	}()
	if tool == nil {
		return fail("no tool: call pdk.Tool in init")
	}
	value, err := tool(Call{})
	if err != nil {
		return fail(err.Error())
	}
	body, err := encode(value)
	if err != nil {
		return fail("encode the result: " + err.Error())
	}
	if _, err := ask("toolhost.result", hostResult, body); err != nil {
		return fail(err.Error())
	}
	return 0
}

func fail(text string) int32 {
	_, _ = ask("toolhost.error", hostError, []byte(text)) // the code says the rest
	return 1
}

// encode is json.Marshal without its escapes of <, > and &, which are for web pages.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
