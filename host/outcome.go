package host

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/strictjson"
)

// Gate is one place on the path of a call.
type Gate uint8

// The gates in the order of the path; Audit stands beside it.
const (
	NoGate Gate = iota
	GateSession
	GateContract
	GateCaller
	GateRules
	GateCapability
	GateApproval
	GatePlugin
	GateResult
	GateAudit
	GateReply // of a final answer, which is no call
)

// Gates gives the path, as explain and the demo show it.
func Gates() []Gate {
	return []Gate{GateSession, GateContract, GateCaller, GateRules, GateCapability, GateApproval, GatePlugin, GateResult}
}

func (g Gate) String() string {
	return [...]string{"", "session", "contract", "caller", "rules", "capability", "approval", "plugin", "result", "audit", "reply"}[g]
}

// GateNamed is the gate of a word; NoGate where no gate has it.
func GateNamed(word string) Gate {
	for g := GateSession; g <= GateReply; g++ {
		if g.String() == word {
			return g
		}
	}
	return NoGate
}

// State is how a call ended. The zero State is a refusal (I2).
type State uint8

// The four states of an outcome.
const (
	Refused State = iota
	OK
	Pending
	Failed
)

func (s State) String() string {
	return [...]string{"refused", "ok", "pending", "failed"}[s]
}

// Outcome is the end of a call. Result goes to the model, and CallID with it;
// everything else is for operators.
type Outcome struct {
	State  State
	Gate   Gate   // NoGate where State is OK
	Code   string // a row of Codes, or a code that the config names; "" where State is OK
	Tool   string // as the proposal named it, cut after 64 bytes
	Result []byte // one line of JSON, exactly what the model gets
	CallID string
	Usage  Usage

	Reason string       // why, in full, for operators; "" where State is OK
	Field  string       // the argument that was refused
	Place  config.Place // the line of the config that decided

	Approval string // the id of what waits, where State is Pending

	details []Detail
}

// Usage is what the guest used; zero when none ran.
type Usage struct {
	Time        time.Duration
	Fuel        uint64 // units of docs/sandbox.md
	MemoryBytes int64
	HostCalls   int
}

// Line is the outcome in one line for a person: "refused: other_customer (caller)".
func (o Outcome) Line() string {
	if o.State == OK {
		return "ok"
	}
	return fmt.Sprintf("%s: %s (%s)", o.State, o.Code, o.Gate)
}

// NoSuchTool tells whether the model hears that there is no such tool: because
// there is none, or because the session's role may not use it (I7).
func (o Outcome) NoSuchTool() bool { return bytes.Equal(o.Result, refusalResult(WordsUnknownTool)) }

// AppendJSON appends the whole outcome as one JSON object; every key is always
// there, and result holds the very bytes of Result.
func (o Outcome) AppendJSON(b []byte) []byte {
	text := func(key, s string) {
		b = append(strictjson.AppendString(b, key), ':')
		b = append(strictjson.AppendString(b, s), ',')
	}
	b = append(b, '{')
	text("outcome", o.State.String())
	text("gate", o.Gate.String())
	text("code", o.Code)
	text("tool", o.Tool)
	b = append(b, `"result":`...)
	if len(o.Result) == 0 { // an explanation gives none
		b = append(b, "null"...)
	}
	b = append(append(b, o.Result...), ',')
	text("call_id", o.CallID)
	ms := strconv.FormatFloat(float64(o.Usage.Time.Microseconds())/1000, 'f', -1, 64)
	return fmt.Appendf(b, `"usage":{"ms":%s,"fuel":%d,"memory_bytes":%d,"host_calls":%d}}`,
		ms, o.Usage.Fuel, o.Usage.MemoryBytes, o.Usage.HostCalls)
}

// Refusal says that a gate said no. No guest code ran.
type Refusal struct {
	Gate    Gate
	Code    string
	Reason  string // for operators and the record
	Field   string
	Place   config.Place
	words   string // for the model; "" takes those of the code
	details []Detail

	withheld bool // words could hold a secret: they go out and are not kept
}

func (e *Refusal) Error() string {
	return fmt.Sprintf("refused: %s (%s): %s", e.Code, e.Gate, e.Reason)
}

// Failure says that the guest ran and did not end well.
type Failure struct {
	Gate   Gate
	Code   string
	Reason string // may hold the guest's own text; never for the model (I5)
}

func (e *Failure) Error() string {
	return fmt.Sprintf("failed: %s (%s): %s", e.Code, e.Gate, e.Reason)
}

// pendingResult is what the model gets of a write that waits.
func pendingResult(id, words string) []byte {
	b := strictjson.AppendString([]byte(`{"ok":false,"pending":`), id)
	return append(strictjson.AppendString(append(b, `,"note":`...), words), '}')
}

// refusalResult is what the model gets of a refusal or failure.
func refusalResult(words string) []byte {
	return append(strictjson.AppendString([]byte(`{"ok":false,"error":`), words), '}')
}
