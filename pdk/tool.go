package pdk

import "reflect"

// tool is the plugin's one function, set by Tool before the host calls run, and ready makes all ready
// for it without calling it. An instance serves one call at a time, so nothing here is shared.
var (
	tool  func(Call) (any, error)
	ready func()
)

// Tool names the function of this plugin. Call it once, in init. The arguments are decoded into A by
// Unmarshal; a number that lands in an any is a Number, so that its digits survive, and one that the
// contract calls an integer fits an int of its range: the host lets no 2.0 through. The returned value
// is encoded by Marshal and is the result; where its type R is a struct and not any, how it is written
// is found out while the module is loaded, and not in each call.
func Tool[A, R any](f func(Call, A) (R, error)) {
	if tool != nil {
		panic("pdk.Tool is called twice: a plugin is one tool")
	}
	ready = func() {
		decodeNothing(new(A))
		encodeNothing(new(R))
	}
	tool = func(c Call) (any, error) {
		raw, err := ask("toolhost.arguments", hostArguments, nil)
		if err != nil {
			return nil, err
		}
		var arguments A
		if err := decodeKept(raw, &arguments); err != nil {
			return nil, because("decode the arguments", err)
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
	_, _ = tell("toolhost.log", hostLog, &logRequest{level, message}) // a tool does not fail because its log does
}

type logRequest struct {
	Level   Level  `json:"level"`
	Message string `json:"message"`
}

// Progress says how far the call is: done of total, in any unit.
func (Call) Progress(done, total float64) {
	_, _ = tell("toolhost.progress", hostProgress, &progressRequest{done, total})
}

type progressRequest struct {
	Done  float64 `json:"done"`
	Total float64 `json:"total"`
}

// serve is one call: 0 if the host has the result, 1 if it has the text of an error. A panic is
// reported and is an error; the host throws the instance away either way.
func serve() (code int32) {
	defer func() {
		if r := recover(); r != nil {
			code = fail("panic: " + saying(r))
		}
	}()
	if tool == nil {
		return fail("no tool: call pdk.Tool in init")
	}
	value, err := tool(Call{})
	if err != nil {
		return fail(err.Error())
	}
	if err := give(value); err != nil {
		return fail(err.Error())
	}
	return 0
}

// give encodes the result and hands it to the host.
func give(value any) error {
	w := writer{b: takeSpare()}
	if err := encodeTo(&w, value); err != nil {
		return because("encode the result", err)
	}
	_, err := ask("toolhost.result", hostResult, w.b)
	giveSpare(w.b)
	return err
}

func fail(text string) int32 {
	_, _ = ask("toolhost.error", hostError, []byte(text)) // the code says the rest
	return 1
}

// saying is what a panic says.
func saying(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = "a value that cannot say what it is"
		}
	}()
	switch v := v.(type) {
	case error:
		return v.Error()
	case string:
		return v
	case interface{ String() string }:
		return v.String()
	default:
		body, err := Marshal(v)
		if err != nil {
			return "a value of type " + reflect.TypeOf(v).String()
		}
		return string(body)
	}
}
