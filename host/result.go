package host

import (
	"fmt"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/strictjson"
)

// Gate 7, result: what the guest gave is strict JSON, fits the closed result
// schema and the limit, and goes out in an envelope that the host writes (I5).
// It is never cut and never passed on unchecked.

func (h *Host) checkResult(a answered) ([]byte, error) {
	if a.result == nil {
		return nil, &Failure{Gate: GateResult, Code: codeInvalidResult, Reason: "the guest gave no result"}
	}
	v, err := strictjson.Read(a.result, strictjson.Default(len(a.result)))
	if err == nil && v.Kind() != strictjson.Object {
		err = fmt.Errorf("it is no object but %s", v.Kind())
	}
	if err == nil {
		err = a.tool.contract.Result(v)
	}
	if err != nil {
		return nil, &Failure{Gate: GateResult, Code: codeInvalidResult, Reason: "the guest's result: " + err.Error()}
	}
	out := envelope(v)
	most := a.tool.Limits.ResultChars
	if n := utf8.RuneCount(out); n > most {
		return nil, tooLarge(n, most)
	}
	a.trail.ok(GateResult, func() string { return fmt.Sprintf("fits the contract, %d of %d characters", utf8.RuneCount(out), most) })
	return out, nil
}

func tooLarge(n, most int) error {
	return &Failure{Gate: GateResult, Code: codeResultTooLarge, Reason: fmt.Sprintf("the result has %d characters, limits.result_chars is %d", n, most)}
}

// envelope puts the host's own member before the plugin's. A contract that
// names one of the envelope's does not load.
func envelope(v strictjson.Value) []byte {
	b := []byte(`{"ok":true`)
	if v.Len() > 0 {
		b = append(b, ',')
	}
	return append(v.AppendMembers(b), '}')
}

// redacted is the result as it may be stored.
func (h *Host) redacted(name string, o Outcome) []byte {
	t, ok := h.tools[name]
	if !ok || o.State != OK || !t.contract.SecretResult() {
		return o.Result
	}
	v, err := strictjson.Read(o.Result, strictjson.Default(len(o.Result)))
	if err != nil {
		return nil
	}
	return t.contract.RedactedResult(v).AppendJSON(nil)
}
